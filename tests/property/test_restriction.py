"""Words that may not appear, or the only ones that may: against every translation, and for any cut into subwords."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.config import DecodeConfig, ModelConfig
from vitrail.decode import score
from vitrail.errors import TextError
from vitrail.model import Transformer
from vitrail.runtime import Job, Runtime
from vitrail.text import EOS, Subwords, Tokenizers, WordVocabulary
from vitrail.text.restriction import Restriction
from vitrail.text.spelling import Spelling
from vitrail.translator import Translator

WORDS = WordVocabulary(["a", "b", "c"], [])
CORPUS = ["the cat sleeps on the table, and the dog isn't there", "The catalogue is on a table in the theatre of cats"]
VOCABULARY = sorted({word.lower() for line in CORPUS for word in re.findall(r"\w+", line)})


def model(seed: int, vocabulary: int) -> Transformer:
    torch.manual_seed(seed)
    config = ModelConfig(d_model=16, heads=2, d_ff=24, encoder_layers=1, decoder_layers=1, tie_embeddings="none")
    made = Transformer(config, vocabulary, vocabulary).eval().double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


@cache
def tiny(seed: int) -> Runtime:
    return Runtime.of_model(model(seed, WORDS.size), threads=1)


@cache
def translator(seed: int) -> Translator:
    subwords = Subwords.train(CORPUS * 5, "bpe", 330, [])
    return Translator(
        Runtime.of_model(model(seed, subwords.size), threads=1), Tokenizers(subwords, subwords), DecodeConfig()
    )


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


restrictions = st.one_of(
    st.lists(st.sampled_from(["a", "b", "a b", "c c", "b a c"]), max_size=2).map(
        lambda never: Restriction(never=never)
    ),
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2).map(lambda only: Restriction(only=only)),
    st.builds(Restriction, never_tokens=st.just(["b"]), only=st.just(["a", "b"])),
    st.builds(Restriction, only_tokens=st.just(["c"])),
)


def may_be(ids: tuple[int, ...], restriction: Restriction) -> bool:
    """The definition, on the text of whole words."""
    words = [WORDS.token(number) for number in ids]
    text = f" {' '.join(words)} "
    return (
        not any(f" {phrase} " in text for phrase in restriction.never)
        and (restriction.only is None or set(words) <= set(restriction.only))
        and not set(words).intersection(restriction.never_tokens)
        and (restriction.only_tokens is None or set(words) <= set(restriction.only_tokens))
    )


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 5),
    source=st.lists(st.integers(4, 6), max_size=1).map(lambda ids: [*ids, EOS]),
    restriction=restrictions,
)
def test_a_beam_as_wide_as_the_space_finds_the_best_translation_that_may_be(seed, source, restriction):
    runtime, limit = tiny(seed), len(source) + 2
    config = DecodeConfig(beam_size=150, max_extra=2)
    rows = [(*ids, EOS) for length in range(limit) for ids in product((4, 5, 6), repeat=length)]
    rows = [
        row
        for row in [*rows, *product((4, 5, 6), repeat=limit)]
        if may_be(row[:-1] if row[-1] == EOS else row, restriction)
    ]
    scored = score(runtime.model, [source] * len(rows), rows, config)
    best = max(scored, key=lambda one: one.score)
    rule = restriction.rule(Spelling(WORDS, 4))
    ((found,),) = runtime.search(Job([source], config, (0, 1, 2), rule=rule))
    assert found.row == best.row
    assert found.score == pytest.approx(best.score)


searches = st.sampled_from(
    [
        DecodeConfig(beam_size=1, max_extra=8),
        DecodeConfig(beam_size=3, top_beams=3, max_extra=8),
        DecodeConfig(sample=True, top_beams=2, max_extra=8),
    ]
)
phrases = st.lists(st.sampled_from([*VOCABULARY, "the cat", "isn't", "on the", "is on a"]), min_size=1, max_size=6)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 3), never=phrases, config=searches)
def test_words_that_never_appear_do_not_however_they_are_cut(seed, never, config):
    found = translator(seed).translate("the cat sleeps", decode=config, restrict=Restriction(never=never))
    for one in found.alternatives:
        for phrase in never:
            assert not re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", one.text)
            assert not re.search(rf"(?<!\w){re.escape(phrase[0].upper() + phrase[1:])}(?!\w)", one.text)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 3), only=phrases, config=searches)
def test_nothing_but_the_only_words_appears(seed, only, config):
    found = translator(seed).translate("the cat sleeps", decode=config, restrict=Restriction(only=only))
    allowed = {word for phrase in only for word in words_of(phrase)}
    limit = len(translator(seed).tokenizers.encode_source("the cat sleeps")) + 8
    for one in found.alternatives:
        *whole, last = ["", *words_of(one.text)]
        assert set(whole) <= allowed | {""}
        assert last in allowed | {""} or (
            len(one.tokens) == limit and any(word.startswith(last) for word in allowed)
        ), "only a translation that was cut may end within a word"


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 3), never=phrases, config=searches)
def test_a_restricted_translation_does_not_depend_on_its_neighbours(seed, never, config):
    texts, restrict = ["the cat sleeps", "table", "a dog is on the table there"], Restriction(never=never)
    together = translator(seed).translate(texts, decode=config, restrict=restrict)
    alone = [translator(seed).translate(text, decode=config, restrict=restrict) for text in texts]
    assert [one.text for one in together] == [one.text for one in alone]


@pytest.mark.parametrize("seed", range(3))
def test_without_restrictions_nothing_changes(seed):
    text = "the cat sleeps on a table"
    assert translator(seed).translate(text, restrict=Restriction()) == translator(seed).translate(text)


def test_a_word_ends_at_every_mark():
    spelling = Spelling(translator(0).tokenizers.target, 4)
    number = {text: place for place, text in enumerate(spelling.of_ids)}
    rule = Restriction(never=["t", "s"]).rule(spelling)
    assert not rule.allowed([number["'"]])[number["t"]]
    assert rule.allowed([number["n"]])[number["t"]]
    assert not rule.allowed([number["n"], number["'"]])[[number["s"], number["t"]]].any()


def test_tokens_are_named_as_they_are_shown():
    text, one = "the cat sleeps on a table", translator(1)
    first = one.translate(text).tokens[0]
    assert first not in one.translate(text, restrict=Restriction(never_tokens=[first])).tokens
    assert set(one.translate(text, restrict=Restriction(only_tokens=[first])).tokens) <= {first}
    with pytest.raises(TextError, match="no token '▁nowhere'"):
        one.translate(text, restrict=Restriction(never_tokens=["▁nowhere"]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"never": "word"}, "one string"),
        ({"only": ["a", " "]}, "without text"),
        ({"only": ["a"], "only_tokens": ["b"]}, "cannot be combined"),
    ],
)
def test_odd_restrictions_are_refused(given, message):
    with pytest.raises(TextError, match=message):
        Restriction(**given)
