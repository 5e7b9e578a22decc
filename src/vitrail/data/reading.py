"""Read the lines of a text file: plain, .gz or .xz."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from vitrail.errors import DataError

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BUFFER = 1 << 18


def read_lines(path: Path) -> Iterator[str | None]:
    """The lines without their endings, split at line feeds only; None for a line that is not UTF-8."""
    with _open(path) as stream, _explained(path):
        for number, line in enumerate(stream):
            yield decode_line(after_mark(line, str(path)) if number == 0 else line)


def read_whole(path: Path) -> str:
    """The text of a file, with its line endings as they are."""
    with _open(path) as stream, _explained(path):
        return decode_whole(stream.read(), str(path))


def decode_whole(content: bytes, name: str) -> str:
    """The text of all bytes of a file."""
    try:
        return after_mark(content, name).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError("this is not UTF-8", where=f"{name}, line {line}", fix="save it as UTF-8") from None


def count_lines(path: Path) -> int:
    """How many lines `read_lines` will give: a fast pass over the file, which also finds a damaged one."""
    with _open(path) as stream, _explained(path):
        return count_lines_of(stream)


def count_lines_of(stream: BinaryIO) -> int:
    """How many lines follow in a stream; it is read to its end."""
    count, last = 0, b"\n"
    while block := stream.read(_BUFFER):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


def bare_suffix(path: Path) -> str:
    """The file extension without compression: ".tsv" for pairs.tsv.gz."""
    return (path.with_suffix("") if path.suffix.lower() in (".gz", ".xz") else path).suffix.lower()


def decode_line(line: bytes) -> str | None:
    """A line of bytes as text, without its ending; None if it is not UTF-8."""
    try:
        return line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError:
        return None


def after_mark(line: bytes, name: str) -> bytes:
    """The first line without a byte order mark."""
    if line.startswith(_UTF16_MARKS):
        raise DataError("this is UTF-16, not UTF-8", where=name, fix="save it as UTF-8")
    return line.removeprefix(_UTF8_MARK)


def _open(path: Path) -> io.BufferedReader:
    """Open a file, decompressing it if needed. Its first bytes decide, not its name."""
    try:
        file: io.BufferedReader = io.BufferedReader(path.open("rb", buffering=0), _BUFFER)
        head = file.peek(8)
    except FileNotFoundError:
        raise DataError("there is no such file", where=str(path), fix="check the path") from None
    except IsADirectoryError:
        raise DataError("this is a folder, not a file", where=str(path), fix="give a file inside it") from None
    except OSError as error:
        raise DataError(f"cannot read it: {error.strerror}", where=str(path), fix="check its permissions") from None
    for ending, magic in ((".gz", _GZIP), (".xz", _XZ)):
        if path.suffix.lower() == ending and head and not head.startswith(magic):
            file.close()
            raise DataError(
                f"the name ends in {ending}, but the file is not compressed that way",
                where=str(path),
                fix=f"compress it, or rename it without {ending}",
            )
    if head.startswith(_GZIP):
        return _Unpacked(gzip.GzipFile(fileobj=file), file)
    if head.startswith(_XZ):
        return _Unpacked(lzma.LZMAFile(file), file)
    return file


class _Unpacked(io.BufferedReader):
    """A buffered decompressor that also closes the underlying file."""

    def __init__(self, unpacked: gzip.GzipFile | lzma.LZMAFile, file: io.BufferedReader) -> None:
        super().__init__(cast(io.RawIOBase, unpacked), _BUFFER)
        self._file = file

    def close(self) -> None:
        super().close()
        self._file.close()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error while reading `path` into a DataError."""
    try:
        yield
    except EOFError:
        raise _damaged(path, "it ends too early, as if it had been cut off") from None
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise _damaged(path, str(error)) from None
    except OSError as error:
        raise DataError(f"cannot read it: {error.strerror or error}", where=str(path)) from None


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"the compressed file is damaged: {why}", where=str(path), fix="copy or download it again")
