"""What holds for every sentence of the phrasebook: spelling, agreement, one translation each."""

from __future__ import annotations

import re

import pytest

from vitrail.data.phrasebook import LONGEST, Example, training_pairs, vocabulary
from vitrail.data.phrasebook.adjectives import ADJECTIVES
from vitrail.data.phrasebook.nouns import LIVING, NOUNS, Kind, Noun
from vitrail.text.words import join_words, split_words

VOWEL = "[aeiouhyàâéèêîôû]"
NOUN_OF = {form: noun for noun in NOUNS for form in (noun.english, noun.english_plural)}
ADJECTIVE_OF = {adjective.english: adjective for adjective in ADJECTIVES}


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(training_pairs(205_000, seed=5))


@pytest.fixture(scope="module")
def french(examples: list[Example]) -> set[str]:
    return {example.source if example.source_language == "fr" else example.target for example in examples[:60_000]}


@pytest.fixture(scope="module")
def english(examples: list[Example]) -> set[str]:
    return {example.source if example.source_language == "en" else example.target for example in examples[:60_000]}


def offending(pattern: str, sentences: set[str]) -> list[str]:
    found = re.compile(pattern)
    return [sentence for sentence in sentences if found.search(sentence)][:5]


def test_there_are_more_than_200_000_distinct_pairs(examples: list[Example]) -> None:
    assert len({(example.source, example.target) for example in examples}) == len(examples) > 200_000


def test_a_sentence_has_one_translation(examples: list[Example]) -> None:
    translation: dict[tuple[str, str], str] = {}
    for example in examples:
        assert translation.setdefault((example.target_language, example.source), example.target) == example.target


def test_what_english_becomes_comes_back(examples: list[Example]) -> None:
    """French never carries less information than English, so translating back is a function too."""
    back: dict[str, str] = {e.source: e.target for e in examples if e.source_language == "fr"}
    for example in examples:
        if example.source_language == "en":
            assert back.setdefault(example.target, example.source) == example.source


def test_the_vocabulary_is_exactly_the_words_that_occur(french: set[str], english: set[str]) -> None:
    words = vocabulary()
    assert {word for sentence in french for word in split_words(sentence)} == words["fr"]
    assert {word for sentence in english for word in split_words(sentence)} == words["en"]


def test_there_are_at_least_300_words_a_side() -> None:
    for words in vocabulary().values():
        assert len([word for word in words if word[0].isalpha()]) >= 300


def test_joining_undoes_splitting(french: set[str], english: set[str]) -> None:
    for sentence in french | english:
        assert join_words(split_words(sentence)) == sentence


def test_everything_is_lower_case_and_single_spaced(french: set[str], english: set[str]) -> None:
    for sentence in french | english:
        assert sentence == " ".join(sentence.lower().split())


def test_no_training_sentence_is_longer_than_said(french: set[str], english: set[str]) -> None:
    assert max(len(split_words(sentence)) for sentence in french | english) == LONGEST


@pytest.mark.parametrize(
    "wrong",
    [
        rf"\b(je|ne|que|de|le|la|ce|ma) {VOWEL}",  # a missing elision, or missing cet or mon
        r"\b(j|n|qu|d|l)'(?![aeiouhyàâéèêîôû])",  # an elision before a consonant
        rf"\b(un|le|ce|mon|votre|notre|leur) (beau|nouveau|vieux) {VOWEL}",
        r"\b(bel|nouvel|vieil|cet) (?![aeiouhyàâéèêîôû])",
        r"\b(à|de) (le|les)\b",  # contractions
        r"\b(du|au) (la\b|l')",
        r"\b(pas|jamais) (?!et )(\w+ )?(un|une|des|du)\b",  # de after a negation
        r"\b(que|parce) (il|elle)",
        r"\b(des|de la|du) (bon|petit|grand|beau|vieux|nouveau|jeune|mauvais)",  # de before an adjective
        r"\b(les|des|ces|mes|vos|nos|leurs|deux|trois) \w+[^sx ,?!]( |$)",  # a plural without its s or x
        r"\b(le|la|un|une|ce|cet|cette|mon|ma) \w+(eaux|aux)\b",  # a plural after a singular
    ],
)
def test_french_spelling(french: set[str], wrong: str) -> None:
    # The du and des of "près de" are not articles, and "tous les jours" is a plural without a noun.
    articles = {sentence for sentence in french if "près d" not in sentence and "tous les jours" not in sentence}
    assert offending(wrong, articles) == []


@pytest.mark.parametrize(
    "wrong",
    [
        r"\ba [aeiou]",
        r"\ban [^aeiou]",
        r"\b(i) (is|are|were|has|doesn't)\b",
        r"\b(he|she|it) (am|are|were|don't|aren't|weren't)\b",
        r"\b(we|they|you) (am|is|was|has|doesn't|isn't|wasn't)\b",
        r"\b(these|some|two|three) \w+( \w+)? (is|isn't|was|wasn't|doesn't|has)\b",
        r"\b(does|did|doesn't|didn't|don't|to) \w+(ed)\b",
        r"n't \w+ (any|some) (?!\w+s\b|\w+ \w+|men\b|women\b)",
    ],
)
def test_english_spelling(english: set[str], wrong: str) -> None:
    assert offending(wrong, english) == []


def test_after_and_no_pronoun_refers_back(french: set[str], english: set[str]) -> None:
    """In "le chien dort et il mange" il would be it, but without an antecedent il is he."""
    assert offending(r"\bet (il|elle|ils|elles)\b", french) == []
    assert offending(r"\band (he|she|it|they)\b", english) == []


def test_a_negation_has_its_two_parts(french: set[str]) -> None:
    for sentence in french:
        words = split_words(sentence)
        assert sum(word in ("ne", "n'") for word in words) == sum(word in ("pas", "jamais") for word in words), sentence


def two_nouns(example: Example) -> tuple[Noun, Noun] | None:
    """The subject and the object of an English puzzle, if both are nouns."""
    nouns = [NOUN_OF[word] for word in split_words(example.source) if word in NOUN_OF]
    return (nouns[0], nouns[1]) if len(nouns) == 2 else None


def may_be_either(example: Example) -> bool:
    """Whether, by grammar alone, "it" or "they" could be either noun."""
    words = [word for word in split_words(example.source) if word in NOUN_OF]
    many = [word == NOUN_OF[word].english_plural for word in words]
    a_person = any(NOUN_OF[word].kind is Kind.PERSON for word in words)
    return many == [True, True] or (many == [False, False] and not a_person)


def test_the_adjective_fits_exactly_one_of_the_two_nouns(examples: list[Example]) -> None:
    checked = 0
    for example in examples:
        nouns = two_nouns(example)
        if example.kind != "reference" or example.target_language != "fr" or nouns is None:
            continue
        adjective = ADJECTIVE_OF[split_words(example.source)[-1]]
        (fitting,) = [noun for noun in nouns if adjective.fits(noun)]
        assert sum(noun.kind in LIVING for noun in nouns) == 1
        if example.pronoun is not None:
            assert example.pronoun.startswith("elle") == fitting.feminine
            checked += 1
    assert checked > 10_000


def test_position_gives_nothing_away(examples: list[Example]) -> None:
    """Guessing the gender of the subject, or of the nearest noun, is right half of the time."""
    puzzles = [
        (nouns, example.pronoun.startswith("elle"))
        for example in examples
        if example.pronoun is not None and example.target_language == "fr" and may_be_either(example)
        for nouns in [two_nouns(example)]
        if nouns is not None and nouns[0].feminine != nouns[1].feminine
    ]
    for alive in (None, True, False):  # even if it is known which of them is alive
        some = [each for each in puzzles if alive is None or (each[0][0].kind in LIVING) == alive]
        assert len(some) > 1000
        subject = sum(nouns[0].feminine == feminine for nouns, feminine in some) / len(some)
        assert 0.47 < subject < 0.53  # the nearest noun is the other one: 1 - subject
    assert 0.45 < sum(feminine for _, feminine in puzzles) / len(puzzles) < 0.55


def test_the_posts_phrases_are_trained_on(examples: list[Example]) -> None:
    seen = {(example.source, example.target) for example in examples}
    assert {("je suis étudiant", "i am a student"), ("merci", "thanks"), ("thanks", "merci")} <= seen


def test_the_shares_are_as_planned(examples: list[Example]) -> None:
    assert 0.35 <= sum(example.kind == "reference" for example in examples) / len(examples) <= 0.5
    assert 0.5 <= sum(example.target_language == "fr" for example in examples) / len(examples) <= 0.65
