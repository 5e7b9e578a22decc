"""The models that a server has. Each has a name; clients can request them by name only, never by path."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from vitrail.config import VOCABULARIES
from vitrail.data import Prepared
from vitrail.errors import FolderError, VitrailError, did_you_mean
from vitrail.folder import CONFIG, MANIFEST, ModelFolder
from vitrail.text import Tokenizers

STREET = ("the animal didn't cross the street because it was too tired", "fr")  # the post's famous example
# For models of everyday sentences, such as the built-in one.
EVERYDAY = ("The cat is sleeping because it is tired.", "fr")

Stamp = tuple[int, ...]


class UnknownModelError(VitrailError):
    """No model on the shelf has this name."""


class Shelf:
    """Models by name, in the folders that were given."""

    def __init__(self, *places: Path) -> None:
        self.places = places
        for place in places:
            _check(place)

    def folders(self) -> dict[str, Path]:
        """The models by name, looked up afresh, so that a run that has just begun is included."""
        found: dict[str, Path] = {}
        for place in self.places:
            for name, path in _models_in(place).items():
                held = found.setdefault(name, path)
                if held.resolve() != path.resolve():
                    found[str(path)] = path  # a second model of the same name is listed by its path
        return found

    def find(self, name: str) -> Path:
        """The folder of a listed model. A name is never treated as a path."""
        folders = self.folders()
        if name not in folders:
            near = did_you_mean(name, folders)
            raise UnknownModelError(
                f"there is no model called '{name}'",
                where="model",
                fix=near or f"choose from {', '.join(folders)}",
            )
        return folders[name]

    def entries(self) -> list[dict[str, Any]]:
        """Each model with its target languages and an example sentence."""
        return [{"name": name, **_describe(path, stamp_of(path))} for name, path in self.folders().items()]


def _check(place: Path) -> None:
    """Raise an error now if this is neither a valid model nor a folder of models."""
    if _is_model(place):
        ModelFolder.open(place)
    elif not _models_in(place):
        what = "this is a file, not a folder" if place.is_file() else "there is no model here"
        raise FolderError(
            what if place.exists() else "there is no such folder",
            where=str(place),
            fix="pass a folder that `vitrail train … --out FOLDER` wrote, a folder of such folders, or builtin",
        )


def _models_in(place: Path) -> dict[str, Path]:
    """The model in this folder, or the models in its subfolders."""
    if _is_model(place):
        return {place.resolve().name: place}
    inside = sorted(place.iterdir()) if place.is_dir() else []
    return {path.name: path for path in inside if not path.name.startswith(".") and _is_model(path)}


def _is_model(path: Path) -> bool:
    return (path / MANIFEST).is_file() and (path / CONFIG).is_file()


def stamp_of(path: Path) -> Stamp:
    """Changes whenever the model does, because the manifest is rewritten with every file that it lists."""
    try:
        status = (path / MANIFEST).stat()
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=256)
def _describe(path: Path, _stamp: Stamp) -> dict[str, Any]:
    try:
        folder = ModelFolder.open(path)
    except FolderError:
        return {"languages": []}  # listed all the same; using it reports what is wrong
    example = _example(folder)
    return {
        "languages": list(folder.tokenizers.languages),
        "trained": folder.has_weights,
        **({"example": example} if example is not None else {}),
    }


def _example(folder: ModelFolder) -> dict[str, str | None] | None:
    """A sentence that the model can read: the post's, the first of its validation data, or an everyday one."""
    tokenizers = folder.tokenizers
    text, to = STREET
    if (
        VOCABULARIES[tokenizers.source.kind].whole_words
        and to in tokenizers.languages
        and _is_readable(tokenizers, text)
    ):
        return {"text": text, "to": to}
    try:
        prepared = Prepared.open(folder.data)
    except FolderError:  # a model without its data: subwords can encode any text, so ask whether it reads English
        text, to = EVERYDAY
        reads_it = to in tokenizers.languages and ("en", to) in folder.config.data.directions()
        return {"text": text, "to": to} if reads_it and _is_readable(tokenizers, text) else None
    for data in prepared.validation:
        for source in data.sources[:20]:
            if _is_readable(tokenizers, source):
                return {"text": source, "to": data.to}
    return None


def _is_readable(tokenizers: Tokenizers, text: str) -> bool:
    return not tokenizers.source.unknown(text) and len(tokenizers.source.encode(text)) <= 30
