"""A file of lines that outlives an interrupted command: a later one continues where it ended.

Lines go to NAME.partial, which becomes NAME when all are there. NAME.partial.json records, after every chunk, how many
of them are safely on the disk, what they were made from, and by which job. A resumed job must be the same one, and its
input must begin with the same lines. What follows the last record is cut off and done again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vitrail.documents import Count, Document
from vitrail.errors import DataError, StorageError
from vitrail.storage import FULL, PARTIAL, explained, flush, read_text, take_lock, write_text

Job = Mapping[str, str | int | float | bool | None]


class Record(Document):
    """What is complete: so many lines, of so many bytes, made from input lines with this SHA-256."""

    job: dict[str, Any]
    lines: Count = 0
    size: Count = 0
    source: str = hashlib.sha256().hexdigest()


class ResumableFile:
    """Writes the file in a `with` block. Whatever ends the block early, the complete chunks stay."""

    def __init__(
        self, path: Path, job: Job, *, resume: bool, again: str = "run the same command with --resume"
    ) -> None:
        self.path = path.resolve()  # replace the target of a link, not the link
        self.partial = self.path.with_name(f"{self.path.name}{PARTIAL}")
        self.record_file = self.partial.with_name(f"{self.partial.name}.json")
        self.resume = resume
        self.again = again  # how to continue
        self.saved = Record(job=dict(job))  # what is on the disk
        self.lines = self.size = 0
        self.source = hashlib.sha256()

    def is_complete(self) -> bool:
        """Whether an earlier job has finished the file: there is no partial one."""
        return self.path.is_file() and not self.partial.exists()

    def __enter__(self) -> Self:
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            # Locked until it is closed, so that two commands cannot write it at once.
            opened = take_lock(self.partial, lambda: os.open(self.partial, os.O_RDWR | os.O_CREAT, 0o666))
        if opened is None:
            fix = "wait for it to finish, or write to another file"
            raise StorageError("another process is writing this file", where=str(self.path), fix=fix)
        self.descriptor = opened
        size = os.fstat(opened).st_size
        try:
            self.saved = self._earlier(size)
            self.lines, self.size = self.saved.lines, self.saved.size
            with explained(self.partial):
                os.ftruncate(opened, self.size)
                os.lseek(opened, self.size, os.SEEK_SET)
            self._save(self.saved)
        except BaseException:
            self._close(remove=size == 0)
            raise
        return self

    def skip(self, lines: Iterator[str], name: str) -> None:
        """Skip the input lines that are done. They must be the lines that were translated."""
        for _ in range(self.saved.lines):
            line = next(lines, None)
            if line is None:
                break
            self._add_source(line)
        if self.source.hexdigest() != self.saved.source:
            raise DataError(
                f"this is not the input of the interrupted job: its first {self.saved.lines:,} lines differ",
                where=name,
                fix=f"give the same input, or delete {self.partial} to start over",
            )

    def write(self, source: str, line: str) -> None:
        """Add a line, made from the input line `source`."""
        left = memoryview(f"{line}\n".encode())
        self.size += len(left)
        try:
            while left:
                left = left[os.write(self.descriptor, left) :]
        except OSError as error:
            raise self._unwritable(error) from error
        self._add_source(source)
        self.lines += 1

    def end_chunk(self) -> None:
        """Record what is written. A resumed job begins with a new chunk, as this one does now."""
        self._save(Record(job=self.saved.job, lines=self.lines, size=self.size, source=self.source.hexdigest()))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            with explained(self.path):
                os.fsync(self.descriptor)
                self.partial.replace(self.path)
                flush(self.path.parent)
                self.record_file.unlink(missing_ok=True)
            os.close(self.descriptor)
            return
        kept = self._recorded()  # on the disk: this may have ended between writing a record and knowing it
        self._close(remove=kept == 0)
        if kept:
            what = f"{kept:,} {'line is' if kept == 1 else 'lines are'} complete in {self.partial}"
            print(f"{what}; to continue, {self.again}", file=sys.stderr)

    def _earlier(self, size: int) -> Record:
        """What an interrupted job left, or an empty record. Nothing that anyone may still need is overwritten."""
        if size == 0:
            return self.saved
        try:
            earlier = Record.parse(read_text(self.record_file))
        except (OSError, ValueError):
            raise StorageError(
                f"this file is in the way: without a valid {self.record_file.name}, it cannot be continued",
                where=str(self.partial),
                fix="move it or delete it",
            ) from None
        if earlier.lines == 0:
            return self.saved
        if not self.resume:
            raise StorageError(
                f"a translation into this file was interrupted after {earlier.lines:,} lines",
                where=str(self.partial),
                fix="add --resume to continue it, or delete this file to start over",
            )
        then, now = earlier.job, self.saved.job
        for name in {**then, **now}:
            if then.get(name) != now.get(name):
                raise StorageError(
                    f"this is not the job that was interrupted: {name} was {then.get(name)!r}, now {now.get(name)!r}",
                    where=str(self.partial),
                    fix="repeat the first command with --resume, or delete this file to start over",
                )
        if earlier.size > size:
            raise StorageError(
                f"some of its {earlier.lines:,} complete lines are missing",
                where=str(self.partial),
                fix="delete it to start over",
            )
        return earlier

    def _recorded(self) -> int:
        try:
            return Record.parse(read_text(self.record_file)).lines
        except (OSError, ValueError):
            return 0

    def _save(self, record: Record) -> None:
        """Lines first: a record never promises what may be lost."""
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            raise self._unwritable(error) from error
        write_text(self.record_file, json.dumps(record.model_dump(), ensure_ascii=False) + "\n")
        self.saved = record

    def _close(self, *, remove: bool) -> None:
        if remove:
            self.record_file.unlink(missing_ok=True)
            self.partial.unlink(missing_ok=True)
        os.close(self.descriptor)

    def _add_source(self, line: str) -> None:
        self.source.update(f"{line}\n".encode())

    def _unwritable(self, error: OSError) -> StorageError:
        return StorageError(
            FULL.get(error.errno or 0) or f"cannot write: {error.strerror or error}",
            where=str(self.partial),
            fix=f"free some space, then {self.again}",
        )
