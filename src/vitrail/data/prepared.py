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

_BIG = (".tokens", ".index")  # checked by size when a folder is opened; by checksum when asked


class FileEntry(Document):
    """A file as it was written."""

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
    """What a prepared folder says about itself. `inputs` are the files it was made of, with their sizes and dates."""

    files: dict[FileInFolder, FileEntry]
    shards: Annotated[list[ShardEntry], Field(min_length=1)]
    validation: list[ValidationEntry]
    report: ReportEntry
    fingerprint: str
    inputs: dict[str, list[int]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """Everything that training needs to know of its data."""

    path: Path
    tokenizers: Tokenizers
    train: tuple[Shard, ...]
    weights: tuple[float, ...]  # how often each shard's pairs are seen in an epoch
    validation: tuple[ValidationSet, ...]
    report: FilterReport
    fingerprint: str

    @classmethod
    def open(cls, path: Path) -> Prepared:
        """Read a prepared folder: small files by checksum, the shards by size. What is not right is named."""
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
        """Whether a prepared folder is there with all of its files; what is in them is not looked at."""
        return (path / MANIFEST).is_file() and all((path / name).is_file() for name in read_manifest(path).files)

    def contents(self) -> str:
        """What tells this training data from any other: the checksum of every shard, and its weight."""
        files = {name: known.sha256 for name, known in read_manifest(self.path).files.items() if name.endswith(_BIG)}
        return hashlib.sha256(json.dumps([files, self.weights], sort_keys=True).encode("utf-8")).hexdigest()

    def validation_contents(self) -> str:
        """What tells this validation data from any other: the checksum of its file."""
        return read_manifest(self.path).files[VALIDATION].sha256

    def changed_files(self) -> list[str]:
        """The files it was made of that now have another size or date; none where that was not written down."""
        known = read_manifest(self.path).inputs
        return [name for name, was in known.items() if size_and_date(Path(name)) not in (None, was)]

    def check(self) -> None:
        """Compare every file with its checksum, the large ones too."""
        for name, wanted in read_manifest(self.path).files.items():
            _check(self.path / name, wanted, thoroughly=True)


def describe_file(path: Path) -> dict[str, Any]:
    """A file's size and checksum, as the manifest has them."""
    return {"size": path.stat().st_size, "sha256": checksum(path)}


def size_and_date(path: Path) -> list[int] | None:
    """What tells at a glance whether a file may have changed; None where it cannot be looked at."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # ValueError: a manifest may list names that no file can have
        return None
    return [found.st_size, found.st_mtime_ns]


def write_manifest(folder: Path, contents: dict[str, Any]) -> None:
    """Write the file that makes a folder a prepared one."""
    table = {"format": FORMAT, "version": __version__, **contents}
    write_text(folder / MANIFEST, json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def read_manifest(path: Path) -> Manifest:
    """What a prepared folder says about itself, checked field by field, and the sizes of its files with each other."""
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
    """A shard has two files, and as many records as pairs; all that is read stands among the files."""
    for number, shard in enumerate(manifest.shards):
        index, tokens = (manifest.files.get(f"{shard.name}{ending}") for ending in (".index", ".tokens"))
        if index is None or tokens is None or tokens.size == 0 or index.size != shard.pairs * RECORD.itemsize:
            raise _damaged(path, f"shards.{number}: {shard.pairs:,} pairs are not what the files of {shard.name} hold")
    if VALIDATION not in manifest.files:
        raise _damaged(path, f"files: {VALIDATION} is not among them")


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
        damaged = thoroughly and checksum(file) != wanted.sha256
    except OSError as error:
        raise FolderError(f"cannot read it: {error.strerror}", where=str(file), fix="check its permissions") from None
    if damaged:
        raise FolderError(
            f"{file.name} is damaged: its checksum is not the one in {MANIFEST}", where=str(file), fix=AGAIN
        )
