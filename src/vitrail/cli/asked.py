"""What the options of a command ask of every translation, besides the search settings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from vitrail.glossary import Glossary
    from vitrail.text.restriction import Restriction
    from vitrail.translator import Demands

GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", help="File of terms: one, a tab, and the translation that must appear if it does, on each line."
    ),
]
Never = Annotated[
    list[str] | None,
    typer.Option(metavar="WORDS", help="Word or phrase that never appears; @FILE: one on each line. Repeatable."),
]
Only = Annotated[list[str] | None, typer.Option(metavar="WORDS", help="The only words that may appear, likewise.")]
NeverTokens = Annotated[
    list[str] | None,
    typer.Option("--never-token", metavar="TOKEN", help="Token that never appears, as --format json shows it: ▁the."),
]
OnlyTokens = Annotated[
    list[str] | None, typer.Option("--only-token", metavar="TOKEN", help="The only tokens that may appear, likewise.")
]


@dataclass(frozen=True)
class Asked:
    """The target language, and what each translation must have."""

    to: str | None = None
    prefix: str = ""
    align: bool = False
    glossary: Glossary | None = None
    restrict: Restriction | None = None

    @classmethod
    def of_options(
        cls,
        *,
        to: str | None = None,
        prefix: str = "",
        align: bool = False,
        glossary: Path | None = None,
        never: Sequence[str] | None = None,
        only: Sequence[str] | None = None,
        never_tokens: Sequence[str] | None = None,
        only_tokens: Sequence[str] | None = None,
    ) -> Asked:
        """What the options of a command say; the files that they name are read."""
        from vitrail.glossary import Glossary
        from vitrail.text.restriction import Restriction

        words = [
            _with_files(given, option)
            for given, option in (
                (never, "--never"),
                (only, "--only"),
                (never_tokens, "--never-token"),
                (only_tokens, "--only-token"),
            )
        ]
        restrict = None
        if any(given is not None for given in words):
            restrict = Restriction(
                never=words[0] or (), only=words[1], never_tokens=words[2] or (), only_tokens=words[3]
            )
        return cls(to, prefix, align, None if glossary is None else Glossary.read(glossary), restrict)

    def demands(self) -> Demands:
        """The same as a translator takes it."""
        return {
            "to": self.to,
            "prefix": self.prefix,
            "align": self.align,
            "glossary": self.glossary,
            "restrict": self.restrict,
        }

    def to_record(self) -> dict[str, str | bool | None]:
        """What a resumed job must have in common with the one that was interrupted; None for what is not asked."""
        return {
            "prefix": self.prefix,
            "align": self.align or None,
            "glossary": _checksum(self.glossary),
            "words": _checksum(self.restrict),
        }


def _with_files(given: Sequence[str] | None, option: str) -> list[str] | None:
    """Words, and those in the files that are given as @FILE."""
    from vitrail.data import read_sentences
    from vitrail.errors import DataError

    if given is None:
        return None
    lines = (read_sentences(Path(one[1:])) if one.startswith("@") and len(one) > 1 else [one] for one in given)
    found = [line for many in lines for line in many if line.strip()]
    if not found:  # with --only, every translation would be empty
        raise DataError("there is no word here", where=option, fix=f"give one, or leave {option} out")
    return found


def _checksum(asked: Glossary | Restriction | None) -> str | None:
    return None if asked is None else hashlib.sha256(repr(asked).encode()).hexdigest()[:16]
