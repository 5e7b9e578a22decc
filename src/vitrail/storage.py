"""How a file is written: under a temporary name, flushed, then renamed, so that a reader never sees half of one."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from vitrail.errors import StorageError

if TYPE_CHECKING:
    from torch import Tensor

PARTIAL = ".partial"  # the ending of everything that is not complete yet

FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota is used up", errno.EFBIG: "the file is too large"}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write at `path` into words that help."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody refused: whoever was reading went away
    except OSError as error:
        if error.errno in FULL:
            raise StorageError(
                f"{FULL[error.errno]}; nothing that was complete has been touched",
                where=str(path),
                fix="make room, then run the same command again",
            ) from error
        raise StorageError(
            f"cannot write: {error.strerror or error}", where=str(path), fix="check the path and its permissions"
        ) from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to; it becomes `path` in one step when the block ends well, and vanishes otherwise."""
    path = path.resolve()  # what a link points to is replaced, not the link
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
    """The same for a folder: complete under its name, or not there at all. A folder that was there is replaced."""
    path = path.resolve()
    partial = path.with_name(f".{path.name}{PARTIAL}")
    with explained(path), _sole_writer(partial, path):
        try:
            _empty(partial)  # a process that was killed may have left something
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
    """Make a folder, and keep out every other process that would write the same one, as long as the block lasts."""
    if sys.platform == "win32":  # no folder can be opened there
        partial.mkdir(parents=True, exist_ok=True)
        yield
        return
    descriptor = take_lock(partial, lambda: _open_folder(partial))
    if descriptor is None:
        fix = "wait for it, or choose another name"
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
        with suppress(FileNotFoundError):  # whoever made it has renamed or removed it meanwhile
            return os.open(path, os.O_RDONLY)


def take_lock(path: Path, open_it: Callable[[], int]) -> int | None:
    """A descriptor of what `open_it` opens at `path`, locked until it is closed; None where another process has it."""
    while True:
        descriptor = open_it()
        if not _lock(descriptor):
            os.close(descriptor)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # whoever had the lock took the name away after we opened it: the next one counts


def _lock(descriptor: int) -> bool:
    """Whether the lock is ours now. Where the system or the file system has no locks, it always is."""
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
    """Remove a folder, if it is there; killed half-way, what is left of it does not pass for a whole one."""
    leaving = path.with_name(f".{path.name}.leaving{PARTIAL}")
    shutil.rmtree(leaving, ignore_errors=True)  # of an earlier removal that was killed
    if path.exists():
        path.replace(leaving)
        shutil.rmtree(leaving)


def write_text(path: Path, text: str) -> None:
    """A whole text file, or none."""
    with new_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Tensors as a safetensors file; the system's refusal comes as the OSError that any other file would give."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        path.touch()
        mode = path.stat().st_mode  # safetensors would let nobody else read the file, whatever the user's umask says
        save_file(tensors, path)
        path.chmod(mode)
    except SafetensorError as error:
        code = re.search(r"os error (\d+)", str(error))
        if code is None:
            raise
        raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from error


def flush(path: Path) -> None:
    """Have the system put a file's bytes, or a folder's names, on the disk before we go on."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cut_back(path: Path, size: int) -> None:
    """Shorten a file of lines to `size` bytes, and to its last whole line, should a crash have left less of it."""
    with explained(path), regular(path).open("rb+") as file:
        held = min(size, path.stat().st_size)  # Python makes room for as much as it is asked to read
        file.truncate(file.read(held).rfind(b"\n") + 1)


def regular(path: Path) -> Path:
    """The path, unless it leads to something that has no end: a folder may hold links to devices."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "this is not a regular file", str(path))
    return path


def read_text(path: Path) -> str:
    """A whole UTF-8 file; a ValueError where it is something else."""
    return regular(path).read_text(encoding="utf-8")


def whole_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file that somebody may be writing to: half a line at the end is left out."""
    content = regular(path).read_bytes()
    return content[: content.rfind(b"\n") + 1].decode("utf-8").split("\n")[:-1]


def checksum(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with regular(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
