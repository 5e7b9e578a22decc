"""A shard: the ids of one corpus on disk, memory-mapped, so that a corpus of any size takes no memory.

`<name>.tokens` holds the source row and the target row of every pair, one after the other. `<name>.index` says for
every pair where its rows start, how long they are, and which line of the corpus they came from.

A shard may come from a stranger. Ids have one of two fixed types, whatever the manifest says. A record is checked
against the real size of the tokens file before it is used, and ids are checked against the vocabulary.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

import numpy as np
from numpy.typing import NDArray

from vitrail.errors import FolderError
from vitrail.storage import regular

RECORD = np.dtype([("start", "<u8"), ("source", "<u4"), ("target", "<u4"), ("line", "<u8")])
_WORTH_A_LOOK = 1 << 26  # bytes
BLOCK = 1 << 20  # records to read at a time when reading all of them

TokenType = Literal["<u2", "<u4"]
# Never pass numpy a dtype that a file names: with "O" it would treat the file's bytes as pointers.
_TOKENS: dict[TokenType, np.dtype[Any]] = {"<u2": np.dtype("<u2"), "<u4": np.dtype("<u4")}


def token_type(vocabulary: int) -> TokenType:
    """The smallest number type that holds every id of a vocabulary."""
    return "<u2" if vocabulary <= 1 << 16 else "<u4"


@dataclass(frozen=True)
class Shard:
    """The pairs of one corpus as ids."""

    folder: Path
    name: str
    corpus: str  # the corpus's name in messages
    pairs: int
    dtype: TokenType
    vocabulary: tuple[int, int]  # number of source ids and of target ids

    def __len__(self) -> int:
        return self.pairs

    @cached_property
    def index(self) -> NDArray[Any]:
        """One record for each pair, as stored: start, source and target (lengths), line."""
        return self._mapped(f"{self.name}.index", RECORD, self.pairs)

    @cached_property
    def tokens(self) -> NDArray[Any]:
        """Every row of the shard, without padding."""
        return self._mapped(f"{self.name}.tokens", _TOKENS[self.dtype])

    def _mapped(self, name: str, kind: np.dtype[Any], count: int | None = None) -> NDArray[Any]:
        """Map a file of the shard, which may have been removed since the folder was opened."""
        path = self.folder / name
        try:
            found = regular(path, most=None).stat()
            size = found.st_size
            if _is_hollow(found):
                raise damaged(path, f"most of its {size:,} bytes are not on the disk")
            if size == 0 or size % kind.itemsize or count not in (None, size // kind.itemsize):
                expected = "a whole number of entries" if count is None else f"{count:,} entries"
                raise damaged(path, f"{size:,} bytes are not {expected}")
            return np.memmap(path, dtype=kind, mode="r", shape=(size // kind.itemsize,))
        except (OSError, ValueError) as error:
            raise _gone(path, getattr(error, "strerror", None) or str(error)) from error

    def check_end(self) -> None:
        """Raise an error if the last record does not end where the tokens do: one of the files is not whole."""
        last = self.records(slice(self.pairs - 1, self.pairs))[0]
        end = int(last["start"]) + int(last["source"]) + int(last["target"])
        if end != len(self.tokens):
            raise damaged(
                self.folder / f"{self.name}.index",
                f"its last pair ends at {end:,}, but {self.name}.tokens has {len(self.tokens):,} tokens",
            )

    def check_size(self) -> None:
        """Raise an error if a file was removed or truncated: reading beyond a mapping's end would kill the process."""
        for mapped, name in ((self.index, f"{self.name}.index"), (self.tokens, f"{self.name}.tokens")):
            path = self.folder / name
            try:
                size = path.stat().st_size
            except OSError as error:
                raise _gone(path, error.strerror or str(error)) from error
            if size < mapped.nbytes:
                raise _gone(path, f"it had {mapped.nbytes:,} bytes, now it has {size:,}")

    def records(self, pairs: NDArray[np.int64] | slice) -> NDArray[Any]:
        """The records of some pairs, checked: no row is empty, and all lie within the tokens file."""
        found: NDArray[Any] = self.index[pairs]
        lengths = found["source"].astype(np.int64) + found["target"]
        room = len(self.tokens) - lengths  # the last possible start; nothing here can overflow
        wrong = (room < 0) | (found["start"] > np.maximum(room, 0).astype(np.uint64))
        wrong |= (found["source"] == 0) | (found["target"] == 0)
        if wrong.any():
            record = found[wrong][0]
            raise damaged(
                self.folder / f"{self.name}.index",
                f"a pair of {record['source']:,} and {record['target']:,} tokens at {record['start']:,} does not fit "
                f"into the {len(self.tokens):,} of {self.name}.tokens",
            )
        return found

    def blocks(self) -> Iterator[NDArray[Any]]:
        """All records in order, a block at a time."""
        self.check_size()
        for start in range(0, self.pairs, BLOCK):
            yield self.records(slice(start, start + BLOCK))

    def refuse_strange_ids(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Raise an error for ids beyond the vocabulary: the embedding tables have no rows for them."""
        for side, ids, size in zip(("source", "target"), (source, target), self.vocabulary, strict=True):
            if ids.size and int(ids.max()) >= size:
                raise damaged(
                    self.folder / f"{self.name}.tokens",
                    f"it has the id {int(ids.max()):,}, but the {side} vocabulary has {size:,} entries",
                )

    def rows(self, pair: int) -> tuple[list[int], list[int]]:
        """The source and the target row of one pair."""
        record = self.records(slice(pair, pair + 1))[0]
        start, middle = int(record["start"]), int(record["start"]) + int(record["source"])
        source, target = self.tokens[start:middle], self.tokens[middle : middle + int(record["target"])]
        self.refuse_strange_ids(source, target)
        return source.tolist(), target.tolist()


def _is_hollow(found: os.stat_result) -> bool:
    """Whether a large file is mostly holes, which read as zeros and take no space on the disk."""
    held = getattr(found, "st_blocks", 0)  # of 512 bytes; some file systems do not count them
    return held > 0 and found.st_size > _WORTH_A_LOOK and held * 512 * 100 < found.st_size


def damaged(path: Path, what: str) -> FolderError:
    """The error for a file of prepared data that is not as `vitrail prepare` wrote it."""
    return FolderError(f"{path.name} is damaged: {what}", where=str(path), fix=AGAIN)


AGAIN = "run `vitrail prepare` again, or copy the whole folder"


def _gone(path: Path, reason: str) -> FolderError:
    return FolderError(
        f"the prepared data can no longer be read: {reason}",
        where=str(path),
        fix="restore the file, then run the same command again",
    )


class ShardWriter:
    """Writes a shard from its first pair to its last, and computes the checksums on the way."""

    def __init__(self, folder: Path, name: str, vocabulary: int) -> None:
        self.pairs = 0
        self.dtype = token_type(vocabulary)
        self._tokens = HashedFile(folder / f"{name}.tokens")
        self._index = HashedFile(folder / f"{name}.index")
        self._start = 0

    def write(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], lines: Sequence[int]) -> None:
        """Append pairs of rows and the lines they came from."""
        if not lines:
            return
        records = np.empty(len(lines), dtype=RECORD)
        records["source"] = [len(row) for row in sources]
        records["target"] = [len(row) for row in targets]
        records["line"] = lines
        ends = np.cumsum(records["source"].astype(np.uint64) + records["target"]) + np.uint64(self._start)
        records["start"][0], records["start"][1:] = self._start, ends[:-1]
        flat = [token for pair in zip(sources, targets, strict=True) for row in pair for token in row]
        self._tokens.write(np.array(flat, dtype=self.dtype).tobytes())
        self._index.write(records.tobytes())
        self._start = int(ends[-1])
        self.pairs += len(lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as both:
            both.callback(self._tokens.close)
            both.callback(self._index.close)

    def files(self) -> dict[str, dict[str, str | int]]:
        """Each file's size and checksum, by name."""
        return {file.path.name: file.described() for file in (self._tokens, self._index)}


class HashedFile:
    """A file that is hashed while it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO = path.open("wb", buffering=1 << 20)
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._file.write(data)
        self._hash.update(data)
        self._size += len(data)

    def described(self) -> dict[str, str | int]:
        """The size and checksum of everything written."""
        return {"size": self._size, "sha256": self._hash.hexdigest()}

    def close(self) -> None:
        """Flush the buffer and close the file."""
        self._file.close()
