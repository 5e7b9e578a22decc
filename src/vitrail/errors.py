"""What a user is told when something is wrong: what, where, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class VitrailError(Exception):
    """Something the user can fix. The command line prints it without a traceback and exits with `exit_code`."""

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        lines = [self.what]
        if self.where is not None:
            lines.append(f"  at {self.where}")
        if self.fix is not None:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class ConfigError(VitrailError):
    """A setting that is unknown, of the wrong type, or that cannot go with another."""


class DataError(VitrailError):
    """A corpus or an input file that cannot be used as it is."""


class TextError(VitrailError):
    """Text or a vocabulary that cannot be turned into ids, or back."""


class FolderError(VitrailError):
    """A model folder that is missing, incomplete, damaged, or newer than this program."""


class StorageError(VitrailError):
    """The disk is full, or a place cannot be written to."""


class DecodeError(VitrailError):
    """A search that was asked for something it cannot give."""


class TraceError(VitrailError):
    """A trace that is damaged or newer than this program, or that is asked for what it does not hold."""


class TrainingError(VitrailError):
    """A run that cannot go on: a loss that is not finite, settings that changed on resume."""


def is_shortage(error: BaseException) -> bool:
    """Whether there was not enough memory, in any of the ways in which Python and torch say so."""
    says_so = ("not enough memory", "can't allocate memory")
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in says_so)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to what was typed, as the text of a fix; None where nothing is near."""

    def likeness(candidate: str) -> float:
        # `num_head` is nearer to `heads` than letters alone say: compare its parts too.
        return max(difflib.SequenceMatcher(None, part, candidate).ratio() for part in (word, *word.split("_")))

    nearest = max(known, key=likeness, default="")
    return f"did you mean '{nearest}'?" if nearest and likeness(nearest) >= 0.6 else None
