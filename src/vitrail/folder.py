"""A model is a folder: settings, vocabulary, weights, and a manifest with the checksum of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vitrail import __version__
from vitrail.config import Config, dump_config, parse_config, read_toml
from vitrail.documents import Document, FileInFolder, parse_json
from vitrail.errors import ConfigError, FolderError, TextError
from vitrail.storage import checksum, explained, new_file, read_text, save_tensors, write_text
from vitrail.text import Tokenizers
from vitrail.weights import RESTORE, Shape, read_weights, stored_shapes

if TYPE_CHECKING:
    from torch import Tensor

    from vitrail.model import Transformer

FORMAT = 1
CONFIG = "config.toml"
TOKENIZER = "tokenizer"
WEIGHTS = "model.safetensors"
MANIFEST = "manifest.json"
DATA = "data"  # of a run: its training data
DISTILLED = "distilled"  # of a student: its teacher's translations
ORIGIN = "origin.json"  # of a run that started from another model: which


@dataclass(frozen=True)
class ModelFolder:
    """A verified folder: every file in its manifest exists and has the right checksum."""

    path: Path
    config: Config
    tokenizers: Tokenizers

    @classmethod
    def create(cls, path: Path, config: Config, tokenizers: Tokenizers) -> ModelFolder:
        """Write the settings and the vocabulary; weights follow later."""
        tokenizers.save(path / TOKENIZER)
        folder = cls(path, config, tokenizers)
        folder.write_config(config)
        return folder

    @classmethod
    def open(cls, path: Path) -> ModelFolder:
        """Verify all files of a folder, and read everything but the weights."""
        with readable(path):
            return cls._open(path)

    @classmethod
    def _open(cls, path: Path) -> ModelFolder:
        files = read_manifest(path)
        for name, accepted in files.items():
            _check(path / name, accepted)
        try:
            config = parse_config(read_toml(path / CONFIG), where=str(path / CONFIG))
            tokenizers = Tokenizers.load(path / TOKENIZER)
        except (ConfigError, TextError) as error:
            raise FolderError(error.what, where=error.where or str(path), fix=error.fix) from error
        return cls(path, config, tokenizers)

    @property
    def data(self) -> Path:
        """Where the prepared training data is, or was."""
        named = self.config.data.prepared
        return Path(named) if named is not None else self.path / DATA

    @property
    def tokenizer_path(self) -> Path:
        """The folder of the vocabulary."""
        return self.path / TOKENIZER

    def has_vocabulary_of(self, other: Path) -> bool:
        """Whether another folder (a model or prepared data) has exactly the same vocabulary."""
        return self.vocabulary == _vocabulary(other)

    @property
    def vocabulary(self) -> str:
        """An identifier of the vocabulary: a hash of its files."""
        return _vocabulary(self.path)

    @property
    def fingerprint(self) -> str:
        """An identifier of the whole model: a hash of its manifest."""
        checksums = json.dumps(read_manifest(self.path), sort_keys=True)
        return hashlib.sha256(checksums.encode()).hexdigest()[:16]

    @property
    def has_weights(self) -> bool:
        """Whether the folder has weights yet."""
        return (self.path / WEIGHTS).exists()

    def refuse_without_weights(self) -> None:
        """Raise an error if the folder has no weights yet."""
        if not self.has_weights:
            raise FolderError(
                "this folder has no weights yet",
                where=str(self.path / WEIGHTS),
                fix="training writes them with its first checkpoint: let it continue",
            )

    def model(self) -> Transformer:
        """The Transformer with the folder's weights, ready to translate."""
        self.refuse_without_weights()
        # A stranger's settings may ask for any size, so compare with the file before allocating anything.
        refuse_other_shapes(self.shapes(), self.path / WEIGHTS)
        model = self.new_model()
        load_weights(model, self.path / WEIGHTS)
        return model.eval()

    def new_model(self) -> Transformer:
        """An untrained Transformer with the folder's settings."""
        from vitrail.model import Transformer

        return Transformer(self.config.model, self.tokenizers.source.size, self.tokenizers.target.size)

    def shapes(self) -> dict[str, Shape]:
        """The names and shapes of the model's parameters; allocates none of them."""
        import torch

        with torch.device("meta"):
            return {name: tuple(value.shape) for name, value in self.new_model().state_dict().items()}

    def write_weights(self, tensors: dict[str, Tensor]) -> None:
        """Replace the weights. Killed at any moment, this leaves a valid folder with the old or the new ones."""
        target = self.path / WEIGHTS
        with new_file(target) as partial:
            save_tensors(tensors, partial)
            # During the replacement the manifest accepts both checksums.
            old = [checksum(target)] if target.exists() else []
            self._write_manifest(weights=[*old, checksum(partial)])
        self._write_manifest(weights=[checksum(target)])

    def write_config(self, config: Config) -> None:
        """Replace the settings."""
        target = self.path / CONFIG
        with new_file(target) as partial:
            partial.write_text(dump_config(config, version=__version__), encoding="utf-8")
            old = [checksum(target)] if target.exists() else []
            self._write_manifest(config=[*old, checksum(partial)])
        self._write_manifest()

    def _write_manifest(self, *, weights: list[str] | None = None, config: list[str] | None = None) -> None:
        files = {f"{TOKENIZER}/{file.name}": [checksum(file)] for file in _vocabulary_files(self.path)}
        for name, accepted in ((CONFIG, config), (WEIGHTS, weights), (ORIGIN, None)):
            if accepted is not None:
                files[name] = accepted
            elif (self.path / name).exists():
                files[name] = [checksum(self.path / name)]
        manifest = {"format": FORMAT, "version": __version__, "files": files}
        write_text(self.path / MANIFEST, json.dumps(manifest, indent=1) + "\n")


def drop_damaged_weights(path: Path) -> bool:
    """Remove damaged or missing weights and their manifest entry; return whether there were any.

    For a run, which rebuilds them from its checkpoints.
    """
    files = read_manifest(path)
    try:
        if WEIGHTS in files:
            _check(path / WEIGHTS, files[WEIGHTS])
        return False
    except FolderError:
        with explained(path / WEIGHTS):  # it may be a folder
            (path / WEIGHTS).unlink(missing_ok=True)
        table = parse_json(read_text(path / MANIFEST))
        del table["files"][WEIGHTS]
        write_text(path / MANIFEST, json.dumps(table, indent=1) + "\n")
        return True


def load_weights(model: Transformer, path: Path) -> None:
    """Load a file's weights, in any precision, into a model; every name and shape must match."""
    refuse_other_shapes({name: tuple(value.shape) for name, value in model.state_dict().items()}, path)
    model.load_state_dict(read_weights(path))


def refuse_other_shapes(wanted: dict[str, Shape], path: Path) -> None:
    """Raise an error if a file's weights have other names or shapes, before any of them is read."""
    stored = stored_shapes(path)
    for name in sorted(wanted.keys() | stored.keys()):
        if name not in stored or name not in wanted:
            problem = (
                f"the weights lack '{name}'" if name in wanted else f"the weights have '{name}', the model does not"
            )
            raise FolderError(f"{problem}: they belong to another model", where=str(path), fix=RESTORE)
        if wanted[name] != stored[name]:
            raise FolderError(
                f"'{name}' has shape {stored[name]}, but the settings and the vocabulary require {wanted[name]}",
                where=str(path),
                fix=RESTORE,
            )


def _vocabulary(path: Path) -> str:
    files = {file.name: checksum(file) for file in _vocabulary_files(path)}
    return hashlib.sha256(json.dumps(files).encode("utf-8")).hexdigest()


def _vocabulary_files(path: Path) -> list[Path]:
    return sorted(file for file in (path / TOKENIZER).iterdir() if file.is_file())


GIVE = "give a folder written by `vitrail train … --out FOLDER`, or `builtin` for the built-in model"


class Manifest(Document):
    """The contents of a model folder's manifest.json: its files, each with the checksums it may have."""

    format: int
    version: str
    files: dict[FileInFolder, list[str]]


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn a system error while looking into a folder into a FolderError."""
    try:
        yield
    except OSError as error:
        what = f"cannot read this folder: {error.strerror or error}"
        raise FolderError(what, where=str(error.filename or path), fix="check the path and its permissions") from None


def read_manifest(path: Path) -> dict[str, list[str]]:
    """The files of a model folder, each with the checksums it may have."""
    with readable(path):
        return _read_manifest(path)


def _read_manifest(path: Path) -> dict[str, list[str]]:
    if not path.is_dir():
        what = "this is a file, not a model folder" if path.exists() else "there is no such folder"
        raise FolderError(what, where=str(path), fix=GIVE)
    manifest = path / MANIFEST
    if not manifest.exists():
        raise FolderError(
            f"this folder is not a model: it has no {MANIFEST}",
            where=str(path),
            fix=GIVE,
        )
    try:
        table = parse_json(read_text(manifest))
        newer, version = table["format"] > FORMAT, table["version"]
        complete = {CONFIG} < table["files"].keys()
    except OSError as error:
        raise FolderError(f"cannot read the manifest: {error.strerror}", where=str(manifest), fix=RESTORE) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FolderError("the manifest is damaged", where=str(manifest), fix=RESTORE) from None
    if newer:
        raise FolderError(
            f"this model was written by vitrail {version}, which is newer than this one ({__version__})",
            where=str(path),
            fix="upgrade vitrail",
        )
    if not complete:
        raise FolderError("the manifest is incomplete", where=str(manifest), fix=RESTORE)
    try:
        return Manifest.of(table).files
    except ValueError as error:
        raise FolderError(f"the manifest is damaged: {error}", where=str(manifest), fix=RESTORE) from None


def _check(file: Path, accepted: list[str]) -> None:
    if not file.is_file():
        raise FolderError(f"the model is incomplete: {file.name} is missing", where=str(file), fix=RESTORE)
    try:
        found = checksum(file)
    except OSError as error:
        raise FolderError(f"cannot read it: {error.strerror}", where=str(file), fix="check its permissions") from None
    if found not in accepted:
        raise FolderError(
            f"{file.name} is damaged or from another model: its checksum does not match {MANIFEST}",
            where=str(file),
            fix=RESTORE,
        )
