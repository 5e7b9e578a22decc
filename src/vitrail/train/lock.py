"""One training at a time per folder. The system releases the lock when the process ends, however it ends."""

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
    """Lock a folder against other trainings for the duration of the block. It is created if it does not exist."""
    is_new = not run.exists()
    with explained(run):
        run.mkdir(parents=True, exist_ok=True)
        lock = run / LOCK
        descriptor = take_lock(lock, lambda: os.open(lock, os.O_RDWR | os.O_CREAT, 0o666))
    if descriptor is None:
        fix = "wait for it to finish, or choose another --out"
        raise TrainingError("another training is writing to this folder", where=str(run), fix=fix)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)
        if is_new:
            with suppress(OSError):  # keep the folder if something was written
                run.rmdir()
