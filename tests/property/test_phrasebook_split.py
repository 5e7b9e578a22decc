"""What is trained on and what is held out, whatever the seed."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.data.phrasebook import (
    LONGEST,
    STREET_SENTENCES,
    Example,
    held_out,
    longer,
    pronoun_is_right,
    split,
    training_pairs,
    vocabulary,
)
from vitrail.data.phrasebook.adjectives import ADJECTIVES
from vitrail.data.phrasebook.nouns import NOUNS
from vitrail.data.phrasebook.phrases import noun_phrase, pronoun_for
from vitrail.data.phrasebook.sentence import Manner, Mood, Pair, Said, predicate, quality
from vitrail.data.phrasebook.verbs import BE, DONE_BY_THE_LIVING, Polarity, Tense
from vitrail.errors import DataError
from vitrail.text.words import join_words, split_words

SEEDS = st.integers(0, 2**31)
KINDS = {
    "action", "answer", "compound", "description", "existence", "greeting", "identity", "journey", "location", "meal",
    "movement", "possession", "reference", "request", "who", "whereabouts",
}  # fmt: skip


@pytest.fixture(scope="module")
def training() -> list[Example]:
    return list(training_pairs(40_000, seed=1))


@pytest.fixture(scope="module")
def kept_back() -> list[Example]:
    return list(held_out(2_500, seed=2))


def both_ways(examples: list[Example]) -> set[tuple[str, str]]:
    return {(example.source_language, example.source) for example in examples} | {
        (example.target_language, example.target) for example in examples
    }


@given(seed=SEEDS, count=st.integers(0, 60))
@settings(deadline=None, max_examples=25)
def test_a_seed_fixes_the_pairs_and_fewer_are_a_beginning_of_more(seed: int, count: int) -> None:
    for stream in (training_pairs, held_out, longer):
        assert list(stream(count, seed)) == list(islice(stream(100, seed), count))


@given(seed=SEEDS)
@settings(deadline=None, max_examples=10)
def test_pairs_are_distinct(seed: int) -> None:
    for stream in (training_pairs, held_out, longer):
        examples = list(stream(200, seed))
        assert len({(e.source_language, e.source) for e in examples}) == 200


def test_seeds_differ() -> None:
    assert list(training_pairs(50, 1)) != list(training_pairs(50, 2))


def test_nothing_held_out_is_trained_on_in_either_language(training: list[Example], kept_back: list[Example]) -> None:
    assert not both_ways(training) & both_ways(kept_back)


def test_held_out_words_are_all_trained_on(training: list[Example]) -> None:
    seen = {(e.source_language, word) for e in training for word in split_words(e.source)} | {
        (e.target_language, word) for e in training for word in split_words(e.target)
    }
    assert seen == {(language, word) for language, words in vocabulary().items() for word in words}


def test_every_kind_is_on_both_sides(training: list[Example], kept_back: list[Example]) -> None:
    assert {example.kind for example in training} == {example.kind for example in kept_back} == KINDS


def test_the_street_sentences_are_held_out_in_every_form(training: list[Example]) -> None:
    for example in training:
        words = set(split_words(example.source)) | set(split_words(example.target))
        crossing = {"cross", "crosses", "crossed"} & words
        about = crossing and {"animal", "animals"} & words and {"street", "streets"} & words
        assert not (example.kind == "reference" and about and {"tired", "wide"} & words), example


def test_the_street_sentences_are_the_grammars_own() -> None:
    """The phrasebook itself generates them, so the model is tested only on what it could have learnt."""
    nouns = {noun.english: noun for noun in NOUNS}
    adjectives = {adjective.english: adjective for adjective in ADJECTIVES}
    cross = next(verb for verb in DONE_BY_THE_LIVING if verb.english == "cross")
    animal, street = (noun_phrase(nouns[name], "the", False) for name in ("animal", "street"))
    manner = Manner(Tense.PAST, Polarity.NOT, Mood.STATEMENT)
    first = predicate(animal, cross, manner, Pair(street.french, street.english))
    for example, meant, adjective in zip(STREET_SENTENCES, ("animal", "street"), ("tired", "wide"), strict=True):
        it = pronoun_for(nouns[meant], False)
        was = predicate(it, BE, manner._replace(polarity=Polarity.YES), quality(adjectives[adjective], it, "too"))
        assert example.source == f"{first.english} because {was.english}"
        assert example.target == f"{first.french} parce qu'{was.french}"
        assert example.pronoun == it.french
        assert split.content_is_held_out(("animal", "cross", "street", adjective))


@given(content=st.lists(st.sampled_from(["dog", "cross", "road", "wide", "eat", "apple"]), max_size=5).map(tuple))
def test_one_content_word_alone_is_always_trained_on(content: tuple[str, ...]) -> None:
    assert len(content) > 1 or not split.content_is_held_out(content)


@given(seed=SEEDS)
@settings(deadline=None, max_examples=10)
def test_longer_sentences_are_longer_and_of_known_words(seed: int) -> None:
    words = vocabulary()
    for example in longer(50, seed):
        source, target = split_words(example.source), split_words(example.target)
        assert min(len(source), len(target)) > LONGEST
        assert set(source) <= words[example.source_language]
        assert set(target) <= words[example.target_language]
        assert source.count("and") + source.count("et") in (2, 3, 4)


@given(seed=SEEDS)
@settings(deadline=None, max_examples=10)
def test_the_right_translation_has_the_right_pronoun(seed: int) -> None:
    other = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils"}
    for example in training_pairs(300, seed):
        if example.pronoun is None:
            continue
        assert pronoun_is_right(example, example.target)
        assert not pronoun_is_right(example, "")
        if example.target_language == "fr":
            assert {"it", "they"} & set(split_words(example.source))
            words = [other.get(word, word) for word in split_words(example.target)]
            assert not pronoun_is_right(example, join_words(words))


def test_a_stream_that_has_no_more_says_so() -> None:
    def same(_: object) -> tuple[str, Said]:
        return "greeting", Said(Pair("merci", "thanks"), ())

    with pytest.raises(DataError, match="ran out of new sentences after 2 of 3"):
        list(split._stream(same, lambda _: True, 3, 1))
