"""Sentences as a model reads them: rows of ids that fit it. What cannot be read is refused by name, or left out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vitrail.errors import DataError, TextError, did_you_mean
from vitrail.text import Tokenizer, Tokenizers, is_translatable

MAX_SOURCE = 1024  # tokens; a longer line is cut, with a warning

OnUnknown = Literal["error", "skip"]


@dataclass(frozen=True)
class Sentence:
    """A line to translate. One without a row is not translated."""

    text: str
    row: list[int] | None = None
    unknown: tuple[str, ...] = ()
    was_cut: bool = False
    unchanged: bool = False
    to: str | None = None  # the language that was asked for, if there are several


@dataclass(frozen=True)
class Reader:
    """Reads text for one model."""

    tokenizers: Tokenizers
    target_language: str | None  # set if there is just one and it has a name
    position_limit: int | None  # how many positions the model has; None if there is no limit

    def asked_language(self, to: str | None) -> str | None:
        """The language to mark a source with, if any. Unknown languages are refused before any work."""
        if to is not None and to == self.target_language and not self.tokenizers.languages:
            return None  # the only one: no mark needed
        if to is not None and self.target_language is not None and not self.tokenizers.languages:
            raise TextError(
                f"this model does not translate into '{to}', only into '{self.target_language}'",
                where="the target language (--to, in Python to=)",
                fix=f"ask for '{self.target_language}', or leave the language out",
            )
        self.tokenizers.encode_source("", to)
        return to

    def read(self, number: int | None, text: str, to: str | None, on_unknown: OnUnknown) -> Sentence:
        """A line, encoded."""
        if not text.strip():
            return Sentence(text)
        if not is_translatable(text):
            return Sentence(text, unchanged=True)
        if on_unknown == "error":
            refuse_unknown(self.tokenizers.source, text, where=f"sentence {number}")
        unknown = tuple(self.tokenizers.source.unknown(text))
        if unknown:
            return Sentence(text, unknown=unknown)
        row, was_cut = self.row(number, text, to)
        return Sentence(text, row, was_cut=was_cut, to=to)

    def must_read(self, number: int, text: str, to: str | None) -> list[int]:
        """The row of a line that must have one."""
        row = self.read(number, text, to, "error").row
        if row is None:
            raise TextError("there is nothing to translate", where=f"sentence {number}", fix="give at least one word")
        return row

    def row(self, number: int | None, text: str, to: str | None) -> tuple[list[int], bool]:
        """A source row, and whether it had to be cut. There is no warning without a number: a stream has no end."""
        row = self.tokenizers.encode_source(text, to)
        cut = cut_row(row, self.position_limit)
        if len(cut) < len(row) and number is not None:
            warnings.warn(f"line {number} has {len(row)} tokens; only the first {len(cut)} are used", stacklevel=4)
        return cut, len(cut) < len(row)

    def pairs(
        self, sources: Sequence[str], targets: Sequence[str], to: str | None
    ) -> tuple[list[list[int]], list[list[int]]]:
        """The rows of sentences and of their given translations."""
        if len(sources) != len(targets):
            raise DataError(
                f"there are {len(sources):,} sources and {len(targets):,} targets",
                fix="give as many sources as targets",
            )
        to = self.asked_language(to)
        for tokenizer, texts in ((self.tokenizers.source, sources), (self.tokenizers.target, targets)):
            for number, line in enumerate(texts, start=1):
                refuse_unknown(tokenizer, line, where=f"sentence {number}")
        rows = [self.row(number, line, to)[0] for number, line in enumerate(sources, start=1)]
        return rows, [self.tokenizers.encode_target(line) for line in targets]

    def start(self, prefix: str) -> list[int]:
        """The ids that every translation begins with."""
        refuse_unknown(self.tokenizers.target, prefix, where="the prefix")
        return self.tokenizers.target.encode(prefix)

    def target_row(self, text: str) -> list[int]:
        """A given translation as ids, cut to what the model takes. Unknown words are refused."""
        refuse_unknown(self.tokenizers.target, text, where="the reference")
        return cut_row(self.tokenizers.encode_target(text), self.position_limit)


def cut_row(row: list[int], position_limit: int | None) -> list[int]:
    """A row cut to the length a model takes, with its `<eos>`."""
    limit = min(MAX_SOURCE, position_limit or MAX_SOURCE)
    return row if len(row) <= limit else [*row[: limit - 1], row[-1]]


def refuse_unknown(tokenizer: Tokenizer, text: str, *, where: str) -> None:
    """Raise an error that names the words without an id, instead of guessing."""
    unknown = tokenizer.unknown(text)
    if unknown:
        near = did_you_mean(unknown[0], (tokenizer.token(number) for number in range(tokenizer.size)))
        names = ", ".join(f"'{word}'" for word in unknown)
        raise TextError(
            f"this model does not know {names}",
            where=where,
            fix=near or "use words from its vocabulary: `vitrail info MODEL --words` lists them",
        )
