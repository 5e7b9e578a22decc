"""Standard error that may break: whoever reads it can leave, and the work goes on without a word."""

from __future__ import annotations

import os
from typing import Any, TextIO


class Patient:
    """A stream like the one it is given. When that can no longer be written to, what is written is forgotten."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, if anybody still listens."""
        try:
            return self._stream.write(text)
        except OSError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """See that it is on its way, if anybody still listens."""
        try:
            self._stream.flush()
        except OSError:
            self._give_up()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _give_up(self) -> None:
        """From now on nothing can fail: what is left in the stream goes nowhere, and so does what follows."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
