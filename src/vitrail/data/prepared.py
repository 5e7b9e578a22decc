"""A folder of prepared data: vocabulary, shards, validation texts, and a manifest with the checksum of each file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from vitrail import __version__
from vitrail.data.filters import FilterReport, ReportEntry
from vitrail.data.shards import AGAIN, RECORD, Shard, TokenType
from vitrail.data.validation import ValidationEntry, ValidationSet, read_validation
from vitrail.documents import Count, Document, FileInFolder, FileName, Positive, parse_json
from vitrail.errors import FolderError, TextError
from vitrail.storage import checksum, read_text, write_text
from vitrail.text import Tokenizers

FORMAT = 1
MANIFEST = "manifest.json"
TOKENIZER = "tokenizer"
VALIDATION = "validation.jsonl"

_BIG = (".tokens", ".index")  # opening a folder checks only their sizes; `check` compares their checksums too


class FileEntry(Document):
    """Size and checksum of a file as it was written."""

    size: Count
    sha256: str


class ShardEntry(Document):
    """A corpus that became a shard."""

    name: FileName
    corpus: str
    pairs: Positive
    dtype: TokenType
    weight: Annotated[float, Field(gt=0, le=1000)]


class Manifest(Document):
    """The manifest of a prepared folder. `inputs` are the files it was made from, with their sizes and dates."""

    files: dict[FileInFolder, FileEntry]
    shards: Annotated[list[ShardEntry], Field(min_length=1)]
    validation: list[ValidationEntry]
    report: ReportEntry
    fingerprint: str
    inputs: dict[str, list[int]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """Everything that training needs to know about its data."""

    path: Path
    tokenizers: Tokenizers
    train: tuple[Shard, ...]
    weights: tuple[float, ...]  # how often each shard's pairs are seen in an epoch
    validation: tuple[ValidationSet, ...]
    report: FilterReport
    fingerprint: str

    @classmethod
    def open(cls, path: Path) -> Prepared:
        """Read a prepared folder. Small files are checked by checksum, shards by size; errors name the file."""
        manifest = read_manifest(path)
        for name, wanted in manifest.files.items():
            _check(path / name, wanted, thoroughly=not name.endswith(_BIG))
        try:
            tokenizers = Tokenizers.load(path / TOKENIZER)
        except TextError as error:
            raise FolderError(error.what, where=error.where, fix=AGAIN) from error
        sizes = tokenizers.source.size, tokenizers.target.size
        entries = manifest.shards
        return cls(
            path=path,
            tokenizers=tokenizers,
            train=tuple(Shard(path, one.name, one.corpus, one.pairs, one.dtype, sizes) for one in entries),
            weights=tuple(one.weight for one in entries),
            validation=read_validation(path / VALIDATION, manifest.validation),
            report=FilterReport.of(manifest.report),
            fingerprint=manifest.fingerprint,
        )

    @staticmethod
    def is_whole(path: Path) -> bool:
        """Whether a prepared folder has all of its files. Their contents are not checked."""
        return (path / MANIFEST).is_file() and all((path / name).is_file() for name in read_manifest(path).files)

    def contents(self) -> str:
        """An identifier of this training data: a hash of every shard's checksum and weight."""
        files = {name: known.sha256 for name, known in read_manifest(self.path).files.items() if name.endswith(_BIG)}
        return hashlib.sha256(json.dumps([files, self.weights], sort_keys=True).encode("utf-8")).hexdigest()

    def validation_contents(self) -> str:
        """An identifier of this validation data: the checksum of its file."""
        return read_manifest(self.path).files[VALIDATION].sha256

    def changed_files(self) -> list[str]:
        """The input files whose size or date has changed since; empty if the manifest does not list them."""
        known = read_manifest(self.path).inputs
        return [name for name, was in known.items() if size_and_date(Path(name)) not in (None, was)]

    def check(self) -> None:
        """Compare every file with its checksum, including the large ones."""
        for shard in self.train:
            shard.check_end()  # at once, however large the files are
        for name, wanted in read_manifest(self.path).files.items():
            _check(self.path / name, wanted, thoroughly=True)


def describe_file(path: Path) -> dict[str, Any]:
    """A file's size and checksum, as stored in the manifest."""
    return {"size": path.stat().st_size, "sha256": checksum(path)}


def size_and_date(path: Path) -> list[int] | None:
    """A quick way to tell whether a file may have changed; None if it cannot be accessed."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a manifest may list names that no file can have
        return None
    return [found.st_size, found.st_mtime_ns]


def write_manifest(folder: Path, contents: dict[str, Any]) -> None:
    """Write the manifest, which completes a prepared folder."""
    table = {"format": FORMAT, "version": __version__, **contents}
    write_text(folder / MANIFEST, json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of a prepared folder; check every field, and that file sizes and pair counts agree."""
    if not path.is_dir():
        what = "this is a file, not a folder" if path.exists() else "there is no such folder"
        raise FolderError(what, where=str(path), fix="give the folder that `vitrail prepare` wrote")
    try:
        table = parse_json(read_text(path / MANIFEST))
        newer, version = table["format"] > FORMAT, table["version"]
        complete = {"files", "shards", "validation", "report", "fingerprint"} <= table.keys()
    except FileNotFoundError:
        raise FolderError(
            f"this folder holds no prepared data: it has no {MANIFEST}",
            where=str(path),
            fix="give the folder that `vitrail prepare` wrote",
        ) from None
    except OSError as error:
        raise FolderError(f"cannot read {MANIFEST}: {error.strerror}", where=str(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FolderError("the manifest is damaged", where=str(path / MANIFEST), fix=AGAIN) from None
    if newer:
        raise FolderError(
            f"this data was prepared by vitrail {version}, which is newer than this one ({__version__})",
            where=str(path),
            fix="upgrade vitrail, or prepare the data again",
        )
    if not complete:
        raise FolderError("this is not the manifest of prepared data", where=str(path / MANIFEST), fix=AGAIN)
    try:
        manifest = Manifest.of(table)
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    _refuse_other_sizes(manifest, path)
    return manifest


def _refuse_other_sizes(manifest: Manifest, path: Path) -> None:
    """Check that every shard has its two files and one record per pair, and that all files we read are listed."""
    for number, shard in enumerate(manifest.shards):
        index, tokens = (manifest.files.get(f"{shard.name}{ending}") for ending in (".index", ".tokens"))
        if index is None or tokens is None or tokens.size == 0 or index.size != shard.pairs * RECORD.itemsize:
            raise _damaged(path, f"shards.{number}: the files of {shard.name} do not hold {shard.pairs:,} pairs")
    if VALIDATION not in manifest.files:
        raise _damaged(path, f"files: {VALIDATION} is not listed")


def _damaged(path: Path, what: str) -> FolderError:
    return FolderError(f"the manifest is damaged: {what}", where=str(path / MANIFEST), fix=AGAIN)


def _check(file: Path, wanted: FileEntry, *, thoroughly: bool) -> None:
    if not file.is_file():
        raise FolderError(f"the prepared data is incomplete: {file.name} is missing", where=str(file), fix=AGAIN)
    size = file.stat().st_size
    if size != wanted.size:
        raise FolderError(
            f"{file.name} has {size:,} bytes, but was written with {wanted.size:,}", where=str(file), fix=AGAIN
        )
    try:
        # A corpus may be larger than the memory: it is mapped, not loaded.
        damaged = thoroughly and checksum(file, most=None if file.name.endswith(_BIG) else 0) != wanted.sha256
    except OSError as error:
        raise FolderError(f"cannot read it: {error.strerror}", where=str(file), fix="check its permissions") from None
    if damaged:
        raise FolderError(
            f"{file.name} is damaged: its checksum differs from the one in {MANIFEST}", where=str(file), fix=AGAIN
        )
