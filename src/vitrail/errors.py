"""Errors that a user can fix: what is wrong, where, and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class VitrailError(Exception):
    """A mistake that the user can fix. The command line prints it without a traceback and exits with `exit_code`."""

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
    """A setting that is unknown, has the wrong type, or cannot go with another."""


class DataError(VitrailError):
    """A corpus or an input file that cannot be used."""


class TextError(VitrailError):
    """A vocabulary that cannot be used, or text that it cannot encode."""


class FolderError(VitrailError):
    """A model folder that is missing, incomplete, damaged, or newer than this program."""


class StorageError(VitrailError):
    """A disk that is full, or a path that cannot be written."""


class DecodeError(VitrailError):
    """A request that the search cannot fulfil."""


class TraceError(VitrailError):
    """A trace that is damaged or newer than this program, or a request for something it does not contain."""


class TrainingError(VitrailError):
    """A run that cannot continue, for example because its loss is not finite or its settings changed."""


def is_shortage(error: BaseException) -> bool:
    """Whether memory ran out. Python and torch raise different errors for it."""
    signs = ("not enough memory", "can't allocate memory")
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


LONGEST_WORD = 64  # letters; to compare longer ones takes time, and nobody meant a key by them


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like the given one, as the text of a fix; None if nothing is similar."""
    if len(word) > LONGEST_WORD:
        return None

    def likeness(candidate: str) -> float:
        # `num_head` is meant to be `heads`, but their letters differ too much: compare the parts of a word too.
        return max(difflib.SequenceMatcher(None, part, candidate).ratio() for part in (word, *word.split("_")))

    nearest = max(known, key=likeness, default="")
    return f"did you mean '{nearest}'?" if nearest and likeness(nearest) >= 0.6 else None
