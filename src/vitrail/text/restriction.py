"""Which words and tokens translations may contain: only these, or never these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitrail.errors import TextError, did_you_mean
from vitrail.text.special import EOS
from vitrail.text.spelling import STRANGE, Spelling, forms, is_in_word

_WORD = re.compile(r"\w+")
Allowed = NDArray[np.bool_]


@dataclass(frozen=True)
class Restriction:
    """What translations may contain. Words may be phrases; tokens are written as `Translation.tokens` shows them.

    A word in small letters also stands for the one that begins with a capital.
    """

    never: Sequence[str] = ()
    only: Sequence[str] | None = None
    never_tokens: Sequence[str] = ()
    only_tokens: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name in ("never", "only", "never_tokens", "only_tokens"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise TextError(
                    f"{name} is one string", where="the restriction", fix=f"give a list: {name}=[{given!r}]"
                )
            if given is not None and not all(isinstance(one, str) and one.strip() for one in given):
                raise TextError(f"{name} has an entry without text", where="the restriction", fix="remove it")
        if self.only is not None and self.only_tokens is not None:
            raise TextError(
                "only words and only tokens cannot be combined", where="the restriction", fix="give one of them"
            )

    def rule(self, spelling: Spelling) -> RestrictionRule:
        """The rule that a search keeps to."""
        return RestrictionRule(self, spelling)


class RestrictionRule:
    """Tells which ids may come next, from the text so far."""

    def __init__(self, restriction: Restriction, spelling: Spelling) -> None:
        self._spelling = spelling
        self._never = _Never(restriction.never, spelling)
        self._only = None if restriction.only is None else _Only(restriction.only, spelling)
        self._always = np.ones(len(spelling.of_ids), dtype=bool)
        if restriction.only_tokens is not None:
            self._always[:] = False
            self._always[[EOS, *_ids(restriction.only_tokens, spelling)]] = True
        self._always[_ids(restriction.never_tokens, spelling)] = False
        self._always[self._never.everywhere] = False

    def allowed(self, ids: Sequence[int]) -> Allowed:
        """True for every id that may follow these."""
        text = self._spelling.text(tuple(ids))
        found = self._always
        if excluded := self._never.after(text):
            found = found.copy()
            found[excluded] = False
        return found if self._only is None else found & self._only.after(text)


class _Never:
    """Words and phrases that are never completed, however they are cut into tokens."""

    def __init__(self, phrases: Sequence[str], spelling: Spelling) -> None:
        written = {form for phrase in phrases for form in forms(spelling.phrase(phrase))}
        self._longest = max(map(len, written), default=0)
        ids_of: dict[str, list[int]] = {}
        for number, text in enumerate(spelling.of_ids):
            for end in range(1, len(text) + 1):  # the whole piece, or as much of it as ends with a word
                if end == len(text) or (is_in_word(text[end - 1]) and not is_in_word(text[end])):
                    ids_of.setdefault(text[:end], []).append(number)
        self._after: dict[str, list[int]] = {}  # the beginning of a phrase: the ids that would complete it
        for phrase in written:
            for cut in range(len(phrase)):
                if ids := ids_of.get(phrase[cut:]):
                    self._after.setdefault(phrase[:cut], []).extend(ids)
        inside = re.compile(rf"(?:\W)(?:{'|'.join(map(re.escape, written))})(?!\w)") if written else None
        self.everywhere = [n for n, text in enumerate(spelling.of_ids) if inside is not None and inside.search(text)]

    def after(self, text: str) -> list[int]:
        """The ids that would complete a phrase."""
        found: list[int] = []
        if self._after:
            for begin in range(max(0, len(text) - self._longest), len(text) + 1):
                # Bytes may turn out to be no letter: then a word begins after them.
                if begin == 0 or text[begin - 1] == STRANGE or not is_in_word(text[begin - 1]):
                    found += self._after.get(text[begin:], ())
        return found


class _Only:
    """The only words that there are; what is not a word, such as a comma, is free."""

    def __init__(self, phrases: Sequence[str], spelling: Spelling) -> None:
        self._words = {
            word for phrase in phrases for form in forms(spelling.phrase(phrase)) for word in _WORD.findall(form)
        }
        self._begun = {word[:end] for word in self._words for end in range(len(word) + 1)}
        self._pieces = [self._parts(text) for text in spelling.of_ids]
        self._known: dict[str, Allowed] = {}

    def _parts(self, text: str) -> tuple[str, bool, bool]:
        """What continues the word before a piece; whether the piece ends that word; whether its rest may stand."""
        head = re.match(r"\w*", text)
        assert head is not None
        rest = text[head.end() :]
        *whole, last = re.split(r"\W+", rest)
        return head[0], bool(rest), all(word in self._words for word in whole if word) and last in self._begun

    def after(self, text: str) -> Allowed:
        """True for every id that may follow a text."""
        word = re.search(r"\w*\Z", text)
        assert word is not None
        begun = word[0]
        if begun not in self._known:
            self._known[begun] = np.array([self._may_follow(begun, *parts) for parts in self._pieces])
            self._known[begun][EOS] = not begun or begun in self._words
        return self._known[begun]

    def _may_follow(self, begun: str, head: str, ends: bool, rest_is_fine: bool) -> bool:
        longer = begun + head
        return rest_is_fine and ((longer in self._words or not longer) if ends else longer in self._begun)


def _ids(tokens: Sequence[str], spelling: Spelling) -> list[int]:
    """The ids of tokens that a user names."""
    known = {spelling.tokenizer.token(number): number for number in range(spelling.tokenizer.size)}
    for token in tokens:
        if token not in known:
            raise TextError(
                f"this model has no token '{token}'",
                where="the restriction",
                fix=did_you_mean(token, known) or "tokens are written as --format json shows them: '▁the'",
            )
    return [known[token] for token in tokens]
