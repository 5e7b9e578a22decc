"""Warnings about lines: the first of each kind is printed when it occurs, the others are counted."""

from __future__ import annotations

import sys
from collections import Counter
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from vitrail.translation import Translation


class Kind(Enum):
    """The kinds of warnings, each with what is said of further lines."""

    ROW = "with several fields, translated whole"
    SEVERAL = "with several sentences"
    UNCHANGED = "left unchanged"
    UNKNOWN = "left empty"
    MISSING = "without a term of the glossary"
    CUT = "cut"
    LANGUAGE = "in the language that they are translated into"


class Warned:
    """Prints warnings; at the end of a `with` block, how many more there were."""

    def __init__(self, *, below: float | None = None, direction: tuple[str, str] | None = None) -> None:
        self.counts: Counter[Kind] = Counter()
        self.direction = direction  # the languages that are translated from and into, if they are known
        self.below = below  # warn about a lower confidence, line by line: --warn-below

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for one, count in self.counts.items():
            if count > 1:
                more = "1 more line" if count == 2 else f"{count - 1:,} more lines"
                print(f"warning: … and {more} {one.value}", file=sys.stderr)

    def of(self, kind: Kind, message: str) -> None:
        """Print the first warning of a kind, count the others."""
        self.counts[kind] += 1
        if self.counts[kind] == 1:
            print(f"warning: {message}", file=sys.stderr)

    def of_row(self, line: str, where: str) -> bool:
        """Warn if a line that is translated as one text is a row of several fields; return whether it is."""
        from vitrail.data import field_to_suggest

        field = field_to_suggest(line)
        if field is not None:
            what = "is a JSON object" if line.startswith("{") else "has columns separated by tabs"
            fix = f"to translate one field and keep the rest, add --field {field}"
            self.of(Kind.ROW, f"{where} {what} and is translated as one sentence; {fix}")
        return field is not None

    def of_translation(self, translation: Translation, where: str) -> None:
        """Warn about a translation that may not be what the user expects."""
        from vitrail.text import holds_several_sentences

        if self.direction is not None and self._is_translated_already(translation.source):
            said = f"{where} is plainly in the language that it is translated into ('{self.direction[1]}')"
            self.of(Kind.LANGUAGE, f"{said}, not in '{self.direction[0]}': check --to")
        if translation.unchanged:
            why = "contains a NUL byte" if "\0" in translation.source else "has no letters"
            self.of(Kind.UNCHANGED, f"{where} {why} and is left unchanged")
        elif translation.unknown:
            words = ", ".join(f"'{word}'" for word in translation.unknown)
            self.of(Kind.UNKNOWN, f"{where} has no translation: the model does not know {words}")
        elif translation.missing:
            terms = ", ".join(f"'{term}'" for term in translation.missing)
            self.of(Kind.MISSING, f"{where} is translated without the glossary's terms for {terms}: they did not fit")
        elif self.below is not None and translation.confidence is not None and translation.confidence < self.below:
            print(f"warning: {where} has a confidence of {translation.confidence:.2f}", file=sys.stderr)
        elif holds_several_sentences(translation.source):
            why = "the model translates one sentence at a time and may drop the others"
            self.of(Kind.SEVERAL, f"{where} holds several sentences; {why}: add --document to translate a text")

    def _is_translated_already(self, text: str) -> bool:
        from vitrail.text.language import is_plainly

        assert self.direction is not None
        source, target = self.direction
        return is_plainly(text, target, instead_of=source)
