"""On Ctrl-C or SIGTERM, finish the step, write a checkpoint and stop. A second Ctrl-C stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class StopRequest:
    """Whether the run was asked to stop."""

    requested: bool = False


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Handle signals for the duration of the block, then restore the previous handlers."""
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread can handle signals; other threads are stopped by their owner
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.requested = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
