"""One training at a time in a folder. The system itself gives a lock back when its process ends, however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vitrail.errors import TrainingError
from vitrail.storage import explained, take_lock

LOCK = ".lock"


@contextmanager
def sole_writer(run: Path) -> Iterator[None]:
    """Keep every other training out of a folder as long as the block lasts. It is made where it is not there yet."""
    is_new = not run.exists()
    with explained(run):
        run.mkdir(parents=True, exist_ok=True)
        lock = run / LOCK
        descriptor = take_lock(lock, lambda: os.open(lock, os.O_RDWR | os.O_CREAT, 0o666))
    if descriptor is None:
        fix = "wait for it, or choose another --out"
        raise TrainingError("another training is writing here", where=str(run), fix=fix)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)
        if is_new:
            with suppress(OSError):  # something was written: then the folder stays
                run.rmdir()
