"""Standard streams that may be closed, and standard error that may break: the work goes on without a word."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any, TextIO

_GONE = (errno.EPIPE, errno.EIO)  # a pipe or a terminal that nobody is at any more


def open_closed_streams() -> None:
    """Give every standard stream that was closed before we began one that leads nowhere.

    Without one Python would print what is for standard error on standard output; and the next file that is opened would
    have the stream's number, so that a library that writes to it writes into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their numbers
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (to stay open)


class Patient:
    """A stream like the one it is given; what cannot be written is not, and nobody is told."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write, if anybody still listens."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self._let_be(error)
            return len(text)

    def flush(self) -> None:
        """See that it is on its way, if anybody still listens."""
        try:
            self.stream.flush()
        except OSError as error:
            self._let_be(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def _let_be(self, error: OSError) -> None:
        if error.errno in _GONE:  # a full disk may have room again
            give_up(self.stream)


def give_up(stream: TextIO) -> None:
    """Let what is left in a stream, and all that follows, go nowhere: from now on nothing can fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
