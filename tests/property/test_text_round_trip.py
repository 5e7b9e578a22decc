"""Text round-trips, and never turns into a special symbol."""

from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vitrail.text import FIRST_LANGUAGE, SPECIAL_TOKENS, Subwords, language_token, tidy

LANGUAGES = ("en", "fr")
KINDS = ("bpe", "unigram")
HOSTILE = [
    *SPECIAL_TOKENS,
    *map(language_token, LANGUAGES),
    "</s>",
    "<s>",
    "<0x41>",
    "<0x0A>",
    "▁",
    "<2",
    "fr>",
    "\x00",
]
CORPUS = [
    "je suis étudiant et je lis <2fr> des livres",
    "i am a student and i read <eos> books",
    "<pad> <0x41> ▁ l'animal n'a pas traversé la rue parce qu'il était trop fatigué",
    "the animal didn't cross the street because it was too tired",
] * 5


@cache
def trained(kind):
    return Subwords.train(CORPUS, kind, 400, LANGUAGES)


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
hostile_text = st.lists(st.one_of(st.sampled_from(HOSTILE), any_text)).map("".join)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=150)
@given(text=hostile_text)
def test_no_text_turns_into_a_symbol(kind, text):
    assert all(token_id >= FIRST_LANGUAGE + len(LANGUAGES) for token_id in trained(kind).encode(text))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=150)
@given(text=hostile_text)
def test_text_comes_back_but_for_blanks(kind, text):
    subwords = trained(kind)
    assert subwords.decode(subwords.encode(text)) == tidy(text)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=50)
@given(texts=st.lists(hostile_text))
def test_many_texts_are_encoded_like_each(kind, texts):
    subwords = trained(kind)
    assert subwords.encode_all(texts) == [subwords.encode(text) for text in texts]


@settings(deadline=None, max_examples=100)
@given(ids=st.lists(st.integers(0, 399)))
@example(ids=[200, 0, 134])  # two bytes of one character, and <pad> between them
def test_any_ids_decode_to_one_line_without_symbols(ids):
    subwords = trained("bpe")
    ids = [token_id % subwords.size for token_id in ids]
    text = subwords.decode(ids)
    assert "\n" not in text
    ordinary = [token_id for token_id in ids if token_id == 1 or token_id >= FIRST_LANGUAGE + len(LANGUAGES)]
    assert text == subwords.decode(ordinary)


@given(text=hostile_text)
def test_tidying_touches_blanks_only_and_once(text):
    assert tidy(tidy(text)) == tidy(text)
    blanks = " \t\n\v\f\r▁"
    assert [c for c in tidy(text) if c not in blanks] == [c for c in text if c not in blanks]
