"""What a line looks like: several sentences are noticed, abbreviations are not mistaken for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrail.text import holds_several_sentences, is_translatable

SENTENCES = ["Il dort.", "Tu viens ?", "Nein!", "«Oui», dit-elle.", "Ça va…", "Was ist das?", "(It rained.)", "Где он?"]
ONE = [
    "",
    "il dort. elle part",  # no capital: perhaps a list, perhaps an abbreviation
    "M. Dupont est arrivé.",
    "Mme. Dupont et le Dr. Martin",
    "Prof. Dr. Müller kommt z. B. Montag, d. h. bald.",
    "z.B. Hunde",
    "Am 3. Oktober kam er.",
    "the U.S. Army, i.e. Americans",
    "J. R. R. Tolkien",
    "Well... I think so",
    "St. Louis vs. Chicago",
    "Version 2.0 ist da.",
    "www.Example.com",
    "Il dort.   ",
    "今日は。",
    "? Oui",
]
SEVERAL = [
    "Il dort. Elle part.",
    "Bonjour ! Comment ça va ?",
    'He said "Stop." Then he left.',
    "Dr. Smith came. He sat down.",
    "Er kam (spät). Sie ging.",
    "Il dort. « Moi aussi », dit-elle.",
    "今日は。元気ですか。",
    "Es ist 5! Komm.",
]


@pytest.mark.parametrize("line", ONE)
def test_one_sentence_is_not_taken_for_several(line):
    assert not holds_several_sentences(line)


@pytest.mark.parametrize("line", SEVERAL)
def test_several_sentences_are_noticed(line):
    assert holds_several_sentences(line)


@given(st.text(max_size=60))
def test_a_line_without_any_mark_is_never_several(text):
    assert not holds_several_sentences(text.translate(dict.fromkeys(map(ord, ".!?।؟。！？"))))


@given(st.text())
def test_what_has_a_letter_and_no_nul_can_be_translated(text):
    assert is_translatable(f"{text}é") == ("\0" not in text)
    assert not is_translatable(f"{text}\0")


@pytest.mark.parametrize("text", ["", " ", "12 345,6 %", "!?", "😀", "▁", "a\0b"])
def test_what_has_nothing_to_translate(text):
    assert not is_translatable(text)
