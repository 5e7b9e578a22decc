"""Restrictions for vocabularies of any pieces, against their definition on the text: no search, no model."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vitrail.errors import TextError
from vitrail.text.restriction import Restriction
from vitrail.text.special import EOS
from vitrail.text.spelling import STRANGE

SPECIAL = ("", "", "", "")


class Pieces:
    """A tokenizer that only names its pieces."""

    def __init__(self, pieces: tuple[str, ...]) -> None:
        self.size = len(pieces)
        self.token = [f"<{number}>{piece}" for number, piece in enumerate(pieces)].__getitem__


@dataclass
class Spelled:
    """A spelling of any pieces, as `Spelling` is one of a tokenizer's."""

    of_ids: tuple[str, ...]

    @property
    def tokenizer(self) -> Pieces:
        return Pieces(self.of_ids)

    def phrase(self, text: str) -> str:
        return text

    def text(self, ids: tuple[int, ...]) -> str:
        return "".join(self.of_ids[number] for number in ids if number != EOS)


def is_in_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and re.match(r"\w", text[place]) is not None


def written(phrase: str) -> set[str]:
    return {phrase, phrase[0].upper() + phrase[1:]} if phrase[0].islower() else {phrase}


def completes(before: str, piece: str, phrases: list[str]) -> bool:
    """The definition: a piece ends with a phrase, or has one, that stands between borders as far as one can see."""
    text = before + piece
    for form in {form for phrase in phrases for form in written(phrase)}:
        for end in range(len(before) + 1, len(text) + 1):
            begin = end - len(form)
            if begin < 0 or text[begin:end] != form or is_in_word(text, end):
                continue
            if not is_in_word(text, begin - 1) or (text[begin - 1] == STRANGE and begin <= len(before)):
                return True
    return False


letters = st.sampled_from([*"abAB_1", STRANGE])
pieces = st.lists(st.text(st.sampled_from("abAB_1 ,'"), min_size=1, max_size=5) | letters, min_size=1, max_size=12).map(
    lambda texts: (*SPECIAL, *texts)
)
phrases = st.lists(st.from_regex(r"\A[ab1]{1,2}([ ',][abA]{1,2}){0,2}\Z"), min_size=1, max_size=3)


@settings(deadline=None, max_examples=60)
@given(pieces=pieces, never=phrases, data=st.data())
@example(pieces=(*SPECIAL, " ba", "a", " b a, b"), never=["a", "b a"], data=None)
@example(pieces=(*SPECIAL, "a b", " b", "'a b", "A b ", "b'"), never=["a b"], data=None)
@example(pieces=(*SPECIAL, "b", "a", STRANGE), never=["a"], data=None)
@example(pieces=(*SPECIAL, "a ", "b"), never=["a b"], data=None)
def test_no_piece_completes_what_never_appears(pieces, never, data):
    spelling = Spelled(pieces)
    rule = Restriction(never=never).rule(spelling)
    number = st.integers(4, len(pieces) - 1)
    ids = data.draw(st.lists(number, max_size=6)) if data is not None else [4, len(pieces) - 1]
    for length in range(len(ids) + 1):
        before = spelling.text(tuple(ids[:length]))
        wanted = [not piece or not completes(before, piece, never) for piece in pieces]
        assert rule.allowed(ids[:length]).tolist() == wanted, before


@settings(deadline=None, max_examples=60)
@given(pieces=pieces, only=phrases, data=st.data())
@example(pieces=(*SPECIAL, "a", "b a", ",", " ab", "a, b"), only=["ab", "b"], data=None)
def test_pieces_make_nothing_but_the_only_words(pieces, only, data):
    """What stands there are whole words of the list, and at the end perhaps the beginning of one."""
    words = {word for phrase in only for form in written(phrase) for word in re.findall(r"\w+", form)}
    begun = {word[:end] for word in words for end in range(len(word) + 1)}

    def may_be(text: str) -> bool:
        *whole, last = re.split(r"\W+", text)
        return set(whole) <= words | {""} and last in begun

    spelling, ids = Spelled(pieces), list[int]()
    rule = Restriction(only=only).rule(spelling)
    for _ in range(6):
        text = spelling.text(tuple(ids))
        found = rule.allowed(ids)
        wanted = [may_be(text + piece) for piece in pieces]
        wanted[EOS] = re.split(r"\W+", text)[-1] in words | {""}
        assert found.tolist() == wanted, text
        free = [number for number in range(4, len(pieces)) if found[number]]
        if not free:
            break
        ids.append(data.draw(st.sampled_from(free)) if data is not None else free[0])


@given(pieces=pieces, data=st.data())
def test_tokens_are_excluded_or_the_only_ones(pieces, data):
    spelling = Spelled(pieces)
    chosen = data.draw(st.sets(st.integers(4, len(pieces) - 1)))
    tokens = [spelling.tokenizer.token(number) for number in sorted(chosen)]
    every = set(range(len(pieces)))
    never = Restriction(never_tokens=tokens).rule(spelling).allowed([])
    assert set(never.nonzero()[0].tolist()) == every - chosen
    only = Restriction(only_tokens=tokens).rule(spelling).allowed([])
    assert set(only.nonzero()[0].tolist()) == {EOS, *chosen}
    assert Restriction().rule(spelling).allowed([]).all()
    both = Restriction(only_tokens=tokens, never_tokens=tokens).rule(spelling).allowed([])
    assert both.nonzero()[0].tolist() == [EOS]


def test_what_is_excluded_in_one_place_is_allowed_in_the_next():
    rule = Restriction(never=["a b"]).rule(Spelled((*SPECIAL, "a", " b", "c")))
    assert rule.allowed([4]).tolist() == [True] * 5 + [False, True]
    assert rule.allowed([4, 6]).all() and rule.allowed([]).all()


@pytest.mark.parametrize("name", ["never", "only", "never_tokens", "only_tokens"])
def test_every_list_is_checked(name):
    for entries, what in (("word", f"{name} is one string"), ([" "], f"{name} has an entry"), ([1], f"{name} has an")):
        with pytest.raises(TextError, match=what) as raised:
            Restriction(**{name: entries})
        assert raised.value.where == "the restriction"
    assert getattr(Restriction(**{name: ["word"]}), name) == ["word"]
    with pytest.raises(TextError, match="cannot be combined"):
        Restriction(only=[], only_tokens=[])
    assert Restriction(never=["a"], only=["b"], never_tokens=["c"]).only == ["b"]


def test_a_token_that_is_nearly_right_is_suggested():
    spelling = Spelled((*SPECIAL, "theatre", "cats"))
    for tokens in (["<4>theater"], ["<5>cats", "<4>theater"]):
        with pytest.raises(TextError, match="no token '<4>theater'") as raised:
            Restriction(never_tokens=tokens).rule(spelling)
        assert raised.value.fix is not None and "<4>theatre" in raised.value.fix
    with pytest.raises(TextError, match="no token 'xyz'") as raised:
        Restriction(only_tokens=["xyz"]).rule(spelling)
    assert raised.value.fix is not None and "--format json" in raised.value.fix
