"""How ids are spelled, which word each belongs to, and the forms of a phrase."""

from __future__ import annotations

from functools import cache

import pytest

from vitrail.text import EOS, Subwords, WordVocabulary
from vitrail.text.places import word_places, words_of
from vitrail.text.spelling import STRANGE, Spelling, forms, is_in_word

WORDS = WordVocabulary(["l'", "animal", "dort", ",", "«", "isn't"], ["en"])
CORPUS = ["l'animal ne dort pas, dit-il", "the animal isn't here, (it sleeps)"] * 3


@cache
def subwords() -> Subwords:
    return Subwords.train(CORPUS, "bpe", 330, ["en"])


def test_every_word_is_spelled_with_the_space_before_it():
    spelling = Spelling(WORDS, 5)
    assert spelling.has_whole_words
    assert spelling.of_ids == ("",) * 5 + (" l'", " animal", " dort", " ,", " «", " isn't")
    assert spelling.text((5, 6, EOS, 7)) == " l' animal dort"
    assert spelling.continuing == frozenset(), "every word begins with a space"
    assert spelling.closing == {5, 8, 9}
    assert spelling.phrase("L’animal  DORT,") == "l' animal dort ,"


@pytest.mark.parametrize("text", [*CORPUS, "A_1 x", "it is (here)"])
def test_subwords_are_spelled_as_they_are_decoded(text):
    spelling = Spelling(subwords(), 5)
    assert not spelling.has_whole_words
    assert spelling.text((*subwords().encode(text), EOS)) == f" {text}"
    assert spelling.phrase(f"  {text} ") == text


def test_subwords_have_the_texts_of_their_tokens():
    spelling = Spelling(subwords(), 5)
    assert spelling.of_ids[:5] == ("",) * 5
    for number in range(5, subwords().size):
        token, text = subwords().token(number), spelling.of_ids[number]
        if token.startswith("<0x"):
            code = int(token[3:5], 16)
            assert text == (STRANGE if code > 127 else chr(code)), "above 127 a byte is a part of a letter"
        else:
            assert text == token.replace("▁", " ")
        assert (number in spelling.continuing) == (text[0].isalnum() or text[0] == "_")
        is_closing = bool(text.strip()) and not (text[-1].isalnum() or text[-1] == "_")
        assert (number in spelling.closing) == is_closing
    assert {subwords().token(n) for n in spelling.closing} >= {",", "'", "<0x2C>"}
    assert all(subwords().token(n) not in ("▁", "<0x20>", "<0x0A>") for n in spelling.closing)


def test_what_is_in_words():
    assert all(map(is_in_word, ["a", "É", "9", "_", "的", STRANGE]))
    assert not any(map(is_in_word, ["", " ", "'", "-", ",", "\u0301"]))


def test_a_word_in_small_letters_also_stands_for_the_one_with_a_capital():
    assert forms("été x") == ["été x", "Été x"]
    assert forms("l'eau") == ["l'eau", "L'eau"]
    for phrase in ("Paris", "9a", "«a", ""):
        assert forms(phrase) == [phrase]


@pytest.mark.parametrize("text", ["L'animal dort, isn't «animal", "dort", "", "  dort  l'animal "])
def test_every_id_of_a_word_vocabulary_belongs_to_the_word_that_it_is_in(text):
    places = word_places(WORDS, WORDS.encode(text), text)
    assert len(places) == len(WORDS.encode(text))
    for number, place in zip(WORDS.encode(text), places, strict=True):
        assert number == 1 or WORDS.token(number) in words_of(text)[place].lower()
    assert places == sorted(places)


def test_a_final_mark_without_an_id_has_no_place():
    vocabulary = WordVocabulary(["il", "dort"], [])
    assert word_places(vocabulary, vocabulary.encode("il dort."), "il dort.") == [0, 1]


def test_subwords_belong_to_words_as_spaces_have_it():
    class Pieces:
        kind = "bpe"

        def token(self, token_id: int) -> str:
            return ["▁", "▁a", "b", "▁▁"][token_id]

    pieces = Pieces()
    assert word_places(pieces, [1, 2, 1, 1, 2, 2], "ab a abb") == [0, 0, 1, 2, 2, 2]
    assert word_places(pieces, [0, 2, 2, 0, 2], "bb b") == [0, 0, 0, 1, 1]
    assert word_places(pieces, [2, 2, 1], "bb a") == [0, 0, 1], "the first word may have no space"
    assert word_places(pieces, [1, 0, 1, 2], "a ▁ab") == [0, 1, 1, 1], "a word that begins with the mark itself"
    assert word_places(pieces, [], "") == []
