"""What is wrong with a translation, as far as its text can tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrail.evaluate.mistakes import mistakes, shared, words_of


def kinds(source, translation, reference, unknown=()):
    return {each.kind: each.words for each in mistakes(source, translation, reference, unknown)}


def test_a_translation_that_is_much_shorter_dropped_something():
    found = kinds("le chat noir dort sur le lit", "The cat.", "The black cat sleeps on the bed.")
    assert found.keys() == {"dropped"}
    assert sorted(found["dropped"]) == ["bed", "black", "on", "sleeps", "the"]


def test_a_translation_that_is_much_longer_added_something():
    found = kinds("il dort", "He sleeps very well at home.", "He sleeps.")
    assert found == {"added": ("very", "well", "at", "home")}


def test_other_words_are_no_mistake():
    assert kinds("le chat dort", "A cat is asleep.", "The cat sleeps.") == {}
    assert kinds("le chat dort", "The cat sleeps.", "the cat sleeps.") == {}


@pytest.mark.parametrize(
    ("translation", "again"),
    [
        ("I I know.", ("i",)),
        ("I know I know.", ("i", "know")),
        ("He is in the house in the house.", ("in", "the", "house")),
    ],
)
def test_words_said_twice_in_a_row_are_repeated(translation, again):
    assert kinds("je sais", translation, "He is in the house, I know it.")["repeated"] == again


def test_what_the_source_or_the_reference_repeats_may_be_repeated():
    assert "repeated" not in kinds("très très bien", "Very very good.", "Very, very good. Very very.")
    assert "repeated" not in kinds("non non", "non non", "no, no")


def test_words_left_in_the_sources_language_are_copied():
    assert kinds("Ma bicyclette est rouge", "My bicyclette is red.", "My bike is red.") == {"copied": ("bicyclette",)}
    assert kinds("Paris est belle", "Paris is pretty.", "Paris is beautiful.") == {}, "the reference has it too"


def test_what_could_not_be_translated():
    assert kinds("le zèbre", "", "the zebra", ["zèbre"]) == {"untranslated": ("zèbre",)}
    assert kinds("le chat", " ", "the cat") == {"untranslated": ()}


TEXTS = st.text(st.sampled_from("aAbç ß'’.,!İ\n\t日"), max_size=30)


@given(text=TEXTS, other=TEXTS)
def test_shared_parts_make_up_the_text(text, other):
    parts = shared(text, other)
    assert "".join(part for part, _ in parts) == text
    own = [word for part, agrees in parts if agrees for word in words_of(part)]
    remaining = iter(words_of(other))
    assert all(word in remaining for word in own), "in the other's order"


@given(text=TEXTS)
def test_a_text_shares_everything_with_itself(text):
    assert all(agrees for _, agrees in shared(text, text))
    assert not {"dropped", "added", "repeated", "copied"} & set(kinds(text, text, text))
