"""Write files atomically: under a temporary name, flushed, then renamed. A reader never sees half a file."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vitrail.errors import StorageError

if TYPE_CHECKING:
    from torch import Tensor

PARTIAL = ".partial"  # suffix of everything that is not complete yet
# The largest files, in bytes, that we read at once: parsed, they take twenty times as much memory.
DOCUMENT = 1 << 24  # settings, manifests and the like; ours are a thousand times smaller
LINES = 1 << 26  # a log: 64 MiB are some 250,000 events
_CHUNK = 1 << 20

FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota is used up", errno.EFBIG: "the file is too large"}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a system error while writing `path` into a StorageError with a fix."""
    try:
        yield
    except BrokenPipeError:
        raise  # not a failed write: the reader went away
    except OSError as error:
        if error.errno in FULL:
            raise StorageError(
                f"{FULL[error.errno]}; files that were complete are unchanged",
                where=str(path),
                fix="free some space, then run the same command again",
            ) from error
        raise StorageError(
            f"cannot write: {error.strerror or error}", where=str(path), fix="check the path and its permissions"
        ) from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to. It becomes `path` in one step if the block succeeds, and is removed otherwise."""
    path = path.resolve()  # replace the target of a link, not the link
    partial = path.with_name(f".{path.name}{PARTIAL}")
    with explained(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            yield partial
            flush(partial)
            partial.replace(path)
            flush(path.parent)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """The same for a folder: it is complete or not there at all. An existing folder is replaced."""
    path = path.resolve()
    partial = path.with_name(f".{path.name}{PARTIAL}")
    with explained(path), _sole_writer(partial, path):
        try:
            _empty(partial)  # a killed process may have left files
            yield partial
            for file in sorted(partial.rglob("*")):
                flush(file)
            flush(partial)
            remove_folder(path)
            partial.replace(path)
            flush(path.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


@contextmanager
def _sole_writer(partial: Path, path: Path) -> Iterator[None]:
    """Create a folder and lock it against other writers for the duration of the block."""
    if sys.platform == "win32":  # Windows cannot open folders
        partial.mkdir(parents=True, exist_ok=True)
        yield
        return
    descriptor = take_lock(partial, lambda: _open_folder(partial))
    if descriptor is None:
        fix = "wait for it to finish, or choose another name"
        raise StorageError("another process is writing here", where=str(path), fix=fix)
    try:
        yield
    finally:
        os.close(descriptor)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _open_folder(path: Path) -> int:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # its owner has just renamed or removed it
            return os.open(path, os.O_RDONLY)


def take_lock(path: Path, open_it: Callable[[], int]) -> int | None:
    """A descriptor of what `open_it` opens at `path`, locked until closed; None if another process has the lock."""
    while True:
        descriptor = open_it()
        if not _lock(descriptor):
            os.close(descriptor)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # the previous owner removed or renamed it after we opened it: try again


def _lock(descriptor: int) -> bool:
    """Whether we got the lock. Always true if the system or the file system has no locks."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
    return True


def remove_folder(path: Path) -> None:
    """Remove a folder if it exists. If this is interrupted, the rest cannot be mistaken for a complete folder."""
    leaving = path.with_name(f".{path.name}.leaving{PARTIAL}")
    shutil.rmtree(leaving, ignore_errors=True)  # from an earlier, interrupted removal
    with explained(path):  # even removing a file can need space
        if path.exists():
            path.replace(leaving)
            shutil.rmtree(leaving)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with new_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def save_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors as a safetensors file. A failed write raises OSError, as for any other file."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        path.touch()
        mode = path.stat().st_mode  # safetensors ignores the umask and lets only the owner read the file
        save_file(tensors, path, metadata)
        path.chmod(mode)
    except SafetensorError as error:
        code = re.search(r"os error (\d+)", str(error))
        if code is None:
            raise
        raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from error


def flush(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cut_back(path: Path, size: int) -> None:
    """Truncate a file of lines to `size` bytes; if a crash left less, to its last complete line."""
    with explained(path), regular(path, most=None).open("rb+") as file:
        end = min(size, path.stat().st_size)
        least = max(0, end - LINES)  # no line of ours is nearly as long
        while end > least:
            start = max(least, end - _CHUNK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                file.truncate(start + found + 1)
                return
            end = start
        file.truncate(0)


def regular(path: Path, *, most: int | None = 0) -> Path:
    """The path, unless reading it may never end or may fill the memory.

    A run folder may contain devices, pipes, links to them, and files that are mostly holes. `most` is the largest size
    in bytes: 0 stands for the memory of this computer, None for no limit.
    """
    if not path.exists():
        return path  # opening it says so
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "this is not a regular file", str(path))
    limit = _memory() if most == 0 else most
    if limit is not None and found.st_size > limit:
        what = f"it has {found.st_size:,} bytes, more than the {limit:,} that can be expected here"
        raise OSError(errno.EINVAL, what, str(path))
    return path


def read_text(path: Path, *, most: int = DOCUMENT) -> str:
    """The text of a UTF-8 file; a ValueError if it is not UTF-8."""
    return regular(path, most=most).read_text(encoding="utf-8")


def whole_lines(path: Path) -> list[str]:
    """The complete lines of a UTF-8 file. Another process may be writing to it: an unfinished last line is skipped."""
    content = regular(path, most=LINES).read_bytes()
    return content[: content.rfind(b"\n") + 1].decode("utf-8").split("\n")[:-1]


def checksum(path: Path, *, most: int | None = 0) -> str:
    """The SHA-256 of a file's bytes."""
    with regular(path, most=most).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _memory() -> int:
    """The memory of this computer in bytes; nothing larger can be loaded."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 36  # this system does not say
