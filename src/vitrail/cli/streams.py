"""Keep working, silently, if a standard stream is closed or standard error breaks."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any, TextIO

_GONE = (errno.EPIPE, errno.EIO)  # the pipe's reader or the terminal is gone


def open_closed_streams() -> None:
    """Replace every standard stream that was closed before we began with /dev/null.

    Otherwise Python would print errors on standard output. And the next file to be opened would get the stream's
    descriptor, so that a library that writes to the stream would write into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their descriptors
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (to stay open)


class Patient:
    """Wraps a stream and silently drops what cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write, if the stream still works."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self._ignore(error)
            return len(text)

    def flush(self) -> None:
        """Flush, if the stream still works."""
        try:
            self.stream.flush()
        except OSError as error:
            self._ignore(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def _ignore(self, error: OSError) -> None:
        if error.errno in _GONE:  # unlike a full disk, which may have room again
            give_up(self.stream)


def give_up(stream: TextIO) -> None:
    """Redirect a stream to /dev/null, including what is still buffered, so that writing can no longer fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
