"""Terms that a translation must contain: how much of them a text has, and which ids bring it further."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

Ids = tuple[int, ...]
NOWHERE = -1  # a place that no source has


class Form(NamedTuple):
    """One way to write a term."""

    ids: Ids
    follows: bool = False  # it has no space before it, so it must follow a closing id, such as an apostrophe


class Term(NamedTuple):
    """Something to mention: one of its forms is enough."""

    forms: tuple[Form, ...]
    places: frozenset[int] = frozenset()  # where the source has it: positions of the row

    @property
    def weight(self) -> int:
        """How much a complete term counts: more than any part of it."""
        return max(len(form.ids) for form in self.forms)


@dataclass(frozen=True)
class Progress:
    """How far a text is with its terms."""

    met: int  # ids of terms, complete or begun
    is_complete: bool
    continuing: frozenset[int]  # the ids that continue a term
    beginning: dict[int, frozenset[int]]  # the ids that begin one, each with the places of its term in the source

    def wanted(self, looks_at: int | None) -> frozenset[int]:
        """The ids that bring a term further, if the next id looks at this place of the source; None: wherever."""
        begin = {number for number, places in self.beginning.items() if looks_at is None or looks_at in places}
        return self.continuing | begin


@dataclass(frozen=True)
class Terms:
    """The terms of one sentence, and where words begin and end."""

    terms: tuple[Term, ...]
    continuing: Collection[int]  # ids that make a word before them longer: a term before one is not complete
    closing: Collection[int]  # ids after which a word may begin without a space
    text: tuple[int, ...] = ()  # the positions of the source row that stand for text

    def progress(self, ids: Ids) -> Progress:
        """How far a text of ids is; a term at its end counts, as the next id may begin a new word."""
        done, begun = 0, 0
        continuing: set[int] = set()
        beginning: dict[int, frozenset[int]] = {}
        for term in self.terms:
            if any(self._holds(ids, form) for form in term.forms):
                done += term.weight
                continue
            for form in term.forms:
                for length in self._begun(ids, form):
                    begun = max(begun, length)
                    if length:
                        continuing.add(form.ids[length])
                    else:
                        beginning[form.ids[0]] = beginning.get(form.ids[0], frozenset()) | term.places
        return Progress(done + begun, done == self.weight, frozenset(continuing), beginning)

    @cached_property
    def weight(self) -> int:
        """What a text that has all terms has met."""
        return sum(term.weight for term in self.terms)

    @property
    def shortest(self) -> int:
        """With fewer ids than these no text holds all terms, even if they overlap."""
        return max(min(len(form.ids) for form in term.forms) for term in self.terms)

    @property
    def ids(self) -> frozenset[int]:
        """Every id of every form."""
        return frozenset(number for term in self.terms for form in term.forms for number in form.ids)

    def _holds(self, ids: Ids, form: Form) -> bool:
        size = len(form.ids)
        for begin in range(len(ids) - size + 1):
            if ids[begin : begin + size] == form.ids and self._may_begin(ids, begin, form):
                end = begin + size
                if end == len(ids) or ids[end] not in self.continuing:
                    return True
        return False

    def _begun(self, ids: Ids, form: Form) -> Iterator[int]:
        """How many ids of a form the text ends with: each number that is possible, 0 if it may begin here."""
        for length in range(min(len(form.ids), len(ids) + 1)):
            begin = len(ids) - length
            if ids[begin:] == form.ids[:length] and self._may_begin(ids, begin, form):
                yield length

    def _may_begin(self, ids: Ids, begin: int, form: Form) -> bool:
        return not form.follows or (begin > 0 and ids[begin - 1] in self.closing)


def are_asked(terms: Sequence[Terms | None] | None) -> bool:
    """Whether any sentence has terms."""
    return terms is not None and any(one is not None for one in terms)
