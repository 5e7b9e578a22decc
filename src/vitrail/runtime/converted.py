"""Where the converted form of a model is kept: beside the model, or in the user's cache if that cannot be written.

A model folder may come from a stranger, and so may the converted form in it, which a library reads that trusts its
files. So we only use what this user has converted: the cache holds a receipt, with the checksum of every file, for each
form. Without a receipt the model is converted again. If there is no place for receipts, it is converted at each start.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from vitrail import box
from vitrail.documents import parse_json
from vitrail.errors import StorageError
from vitrail.folder import ModelFolder, read_manifest
from vitrail.storage import checksum, new_folder, read_text, write_text

ENGINES = "engines"  # the folder in a model folder, and in the cache
Files = dict[str, bytes]


def user_cache() -> Path | None:
    """The folder for what can be computed again; None if the user has none."""
    with suppress(RuntimeError):  # no home folder is known
        if named := os.environ.get("XDG_CACHE_HOME"):
            return Path(named) / "vitrail"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "vitrail"
        return Path.home() / ".cache" / "vitrail"
    return None


def converted(folder: ModelFolder, form: str, make: Callable[[Path], None], *, version: str) -> Path | Files:
    """A folder with the converted `form` of a model, or its files if they cannot be kept.

    `make` writes the form into an empty folder. It is called if there is none yet, or if the model, or the `version` of
    the converter, is another one.
    """
    cache, key = user_cache(), key_of(folder, form, version)
    receipt = None if cache is None else _place_for_receipt(cache, key)
    if cache is not None and receipt is not None:
        places = _places(folder, form, cache / ENGINES / key)
        for place in places:
            if _is_ours(place, receipt):
                return place
        for place in places:
            with suppress(StorageError):  # try the next one
                with new_folder(place) as partial:
                    make(partial)
                    sums = _checksums(partial)
                write_text(receipt, json.dumps(sums) + "\n")
                return place
    with tempfile.TemporaryDirectory(prefix="vitrail-") as temporary:
        make(Path(temporary))
        return {file.name: file.read_bytes() for file in Path(temporary).iterdir()}


def _place_for_receipt(cache: Path, key: str) -> Path | None:
    """The file for a receipt; None if there can be none."""
    try:
        (cache / "receipts").mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return cache / "receipts" / f"{key}.json"


def _places(folder: ModelFolder, form: str, kept: Path) -> list[Path]:
    """Where the form may be, best first; `kept` is its place in the cache."""
    beside = folder.path.resolve()
    if beside == box.PLACE.resolve() or not os.access(
        beside, os.W_OK
    ):  # nothing is ever written into the built-in model
        return [kept]
    return [beside / ENGINES / form, kept]


def key_of(folder: ModelFolder, form: str, version: object) -> str:
    """A name for this form of this very model: it changes with every file that the manifest lists."""
    what = [form, str(version), sorted(read_manifest(folder.path).items())]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]


def _is_ours(place: Path, receipt: Path) -> bool:
    """Whether the files in `place` are the ones that we wrote for this key."""
    try:
        return bool(parse_json(read_text(receipt)) == _checksums(place))
    except (OSError, ValueError):
        return False


def _checksums(place: Path) -> dict[str, str]:
    return {file.name: checksum(file) for file in sorted(place.iterdir())}
