"""Find duplicate pairs in little memory: hashes are partitioned into files, and one file at a time is loaded."""

from __future__ import annotations

from array import array
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

_RECORD = np.dtype([("hash", "<u8"), ("number", "<u8")])
_PARTITIONS = 64
_BLOCK = 1 << 16


class DuplicateFinder:
    """Collects pair hashes. With 64 bits, about one in 10⁶ corpora of five million pairs has a chance collision."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._open = ExitStack()
        self._files = [self._open.enter_context((folder / f"{part:02}").open("w+b")) for part in range(_PARTITIONS)]
        self._hashes = bytearray()
        self._numbers = array("Q")

    def add(self, number: int, text: str) -> None:
        """Record a pair; numbers must increase."""
        self._hashes += blake2b(text.encode("utf-8"), digest_size=8).digest()
        self._numbers.append(number)
        if len(self._numbers) == _BLOCK:
            self._write()

    def find(self, total: int) -> NDArray[np.bool_]:
        """For each number below `total`, whether an earlier pair has the same text."""
        self._write()
        seen_before = np.zeros(total, dtype=np.bool_)
        for file in self._files:
            file.seek(0)
            records = np.frombuffer(file.read(), dtype=_RECORD)
            order = np.argsort(records["hash"], kind="stable")  # stable: the earliest of equal hashes comes first
            hashes, numbers = records["hash"][order], records["number"][order]
            seen_before[numbers[1:][hashes[1:] == hashes[:-1]]] = True
        return seen_before

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _write(self) -> None:
        records = np.empty(len(self._numbers), dtype=_RECORD)
        records["hash"] = np.frombuffer(bytes(self._hashes), dtype="<u8")
        records["number"] = np.frombuffer(self._numbers.tobytes(), dtype=np.uint64)
        parts = records["hash"] % _PARTITIONS
        order = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[order], np.arange(_PARTITIONS), side="right")
        for file, chunk in zip(self._files, np.split(records[order], ends[:-1]), strict=True):
            file.write(chunk.tobytes())
        self._hashes, self._numbers = bytearray(), array("Q")
