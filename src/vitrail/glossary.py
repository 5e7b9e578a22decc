"""A glossary: how terms of the source must be translated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from vitrail.data.reading import read_lines
from vitrail.decode.terms import Form, Term, Terms
from vitrail.errors import DataError
from vitrail.sentences import refuse_unknown
from vitrail.text import Tokenizers, tidy
from vitrail.text.places import word_places
from vitrail.text.spelling import Spelling, forms


class Found(NamedTuple):
    """A term in a text."""

    source: str
    targets: tuple[str, ...]
    words: set[int]  # the numbers of its words, and of those that it touches


_MARKS = ("'", "’", '"', "(", "-")  # what a word may follow without a space; not every vocabulary has all of them
Entry = tuple[str, tuple[str, ...]]  # a term of the source, and its translations: one of them is enough


@dataclass(frozen=True)
class Glossary:
    """Terms of the source with their translations.

    A term in small letters is found, and may be written, with capitals too; one with a capital only as it is.
    """

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, given: Mapping[str, str | Sequence[str]]) -> Glossary:
        """A glossary from a mapping: each term with its translation, or with several to choose from."""
        pairs = (
            (source, target)
            for source, targets in given.items()
            for target in ([targets] if isinstance(targets, str) else targets)
        )
        return cls._of_pairs((pair, f"the entry {pair!r}") for pair in pairs)

    @classmethod
    def read(cls, path: Path) -> Glossary:
        """A glossary from a file: a term, a tab and its translation on each line; empty lines are skipped."""

        def pairs() -> Iterable[tuple[tuple[str, str], str]]:
            for number, line in enumerate(read_lines(path), start=1):
                where = f"{path}, line {number}"
                if line is None:
                    raise DataError("this line is not UTF-8", where=where, fix="save the file as UTF-8")
                if not line.strip():
                    continue
                source, tab, target = line.rstrip("\r\n").partition("\t")
                if not tab or "\t" in target:
                    what = "more than one tab" if tab else "no tab"
                    raise DataError(
                        f"this line of a glossary has {what}",
                        where=where,
                        fix="write a term, a tab, and its translation",
                    )
                yield (source, target), where

        return cls._of_pairs(pairs())

    @classmethod
    def _of_pairs(cls, pairs: Iterable[tuple[tuple[str, str], str]]) -> Glossary:
        held: dict[str, list[str]] = {}
        for (source, target), where in pairs:
            if not tidy(source) or not tidy(target):
                side = "translation" if tidy(source) else "term"
                raise DataError(f"the {side} is empty", where=where, fix="complete the entry, or remove it")
            held.setdefault(tidy(source), []).append(tidy(target))
        return cls(tuple((source, tuple(dict.fromkeys(targets))) for source, targets in held.items()))

    def found(self, text: str) -> list[Found]:
        """The entries whose terms stand in a text, each once. Of terms that overlap, the longest counts."""
        held: dict[str, set[int]] = {}
        text = tidy(text)
        for match in self._any_term.finditer(text) if self.entries else ():
            source = match[0] if match[0] in self._targets else match[0].lower()
            words = range(text.count(" ", 0, match.start()), text.count(" ", 0, match.end()) + 1)
            held.setdefault(source, set()).update(words)
        return [
            Found(source, self._targets[source], words) for source, words in held.items() if source in self._targets
        ]

    @cached_property
    def _targets(self) -> dict[str, tuple[str, ...]]:
        return dict(self.entries)

    @cached_property
    def _any_term(self) -> re.Pattern[str]:
        ordered = sorted(self._targets, key=len, reverse=True)
        return re.compile("|".join(_pattern(source) for source in ordered))


@dataclass(frozen=True)
class Compiled:
    """A glossary for one model."""

    glossary: Glossary
    tokenizers: Tokenizers
    spelling: Spelling

    def terms(self, text: str, row: Sequence[int]) -> Terms | None:
        """What the translation of a text must contain; None if none of the terms is there."""
        found = self.glossary.found(text)
        if not found:
            return None
        first = 1 if self.tokenizers.languages else 0
        words = word_places(self.tokenizers.source, row[first:-1], text)
        terms = tuple(
            Term(
                tuple(form for target in one.targets for form in self._forms(target)),
                frozenset(place for place, word in enumerate(words, start=first) if word in one.words),
            )
            for one in found
        )
        text_places = tuple(range(first, len(row) - 1))
        return Terms(terms, self.spelling.continuing, self.spelling.closing, text_places)

    def missing(self, text: str, translation: str) -> tuple[str, ...]:
        """The terms of a text that its translation does not render as it should."""
        return tuple(
            one.source
            for one in self.glossary.found(text)
            if not any(re.search(_pattern(self.spelling.phrase(target)), tidy(translation)) for target in one.targets)
        )

    def _forms(self, target: str) -> list[Form]:
        """The ways to write a translation: with a small or a capital letter, after a space or right after a mark."""
        tokenizer = self.tokenizers.target
        refuse_unknown(tokenizer, target, where="the glossary")
        made: dict[Form, None] = {}
        for written in forms(target):
            made[Form(tuple(tokenizer.encode(written)))] = None
            for mark in () if self.spelling.has_whole_words else _MARKS:
                behind = tuple(tokenizer.encode(mark + written))
                for cut in range(1, len(behind)):
                    if self.spelling.text(behind[:cut]) == f" {mark}":
                        made[Form(behind[cut:], follows=True)] = None
        return list(made)


def _pattern(term: str) -> str:
    """Matches a term as whole words; if it is in small letters, also with capitals."""
    before = r"(?<!\w)" if re.match(r"\w", term) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", term) else ""
    exact = re.escape(term)
    return f"{before}(?i:{exact}){after}" if term == term.lower() else f"{before}{exact}{after}"
