"""The models that a studio can show: folders, and all in folders of folders, known by their names alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitrail.data import Prepared
from vitrail.errors import FolderError, VitrailError, did_you_mean
from vitrail.folder import CONFIG, MANIFEST, WEIGHTS, ModelFolder
from vitrail.text import Tokenizers

if TYPE_CHECKING:
    from vitrail.translator import Translator

STREET = ("the animal didn't cross the street because it was too tired", "fr")  # what the post is known for
EVERYDAY = (
    "The cat is sleeping because it is tired.",
    "fr",
)  # for models of everyday sentences, such as the built-in one

Stamp = tuple[int, ...]


class UnknownModelError(VitrailError):
    """A name that is not on the shelf."""


@dataclass(frozen=True)
class _Held:
    """A translator, and what its folder looked like when it was read."""

    path: Path
    stamp: Stamp
    translator: Translator


class Shelf:
    """Models by name. One of them is in memory, the one that was asked for last; one at a time computes."""

    def __init__(self, *places: Path) -> None:
        self.places = places
        self._lock = threading.Lock()
        self._held: _Held | None = None
        for place in places:
            _check(place)

    def folders(self) -> dict[str, Path]:
        """What there is now, by name: a run that began a moment ago is there too."""
        found: dict[str, Path] = {}
        for place in self.places:
            for name, path in _models_in(place).items():
                held = found.setdefault(name, path)
                if held.resolve() != path.resolve():
                    found[str(path)] = path  # the second of a name has its whole path for one
        return found

    def find(self, name: str) -> Path:
        """The folder of a name on the list; a name is never taken for a path."""
        folders = self.folders()
        if name not in folders:
            near = did_you_mean(name, folders)
            raise UnknownModelError(
                f"the studio has no model called '{name}'", where="model", fix=near or f"it has {', '.join(folders)}"
            )
        return folders[name]

    def entries(self) -> list[dict[str, Any]]:
        """Each model with the languages it can be asked for, and a sentence to begin with."""
        return [{"name": name, **_describe(path, _stamp(path))} for name, path in self.folders().items()]

    @contextmanager
    def using(self, name: str) -> Iterator[Translator]:
        """A model to compute with, read again if training has replaced it; nobody else computes meanwhile."""
        path = self.find(name)
        with self._lock:
            stamp = _stamp(path)
            if self._held is None or (self._held.path, self._held.stamp) != (path, stamp):
                self._held = None  # before the next is read: there may not be room for two
                self._held = _Held(path, stamp, _load(path))
            yield self._held.translator


def _check(place: Path) -> None:
    """Say now whatever is wrong with a model, or with a folder of them."""
    if _is_model(place):
        ModelFolder.open(place)
    elif not _models_in(place):
        what = "this is a file, not a folder" if place.is_file() else "there is no model here"
        raise FolderError(
            what if place.exists() else "there is no such folder",
            where=str(place),
            fix="give the folder that `vitrail train … --out FOLDER` wrote, or one that holds such folders",
        )


def _models_in(place: Path) -> dict[str, Path]:
    """The model that a folder is, or those that it holds."""
    if _is_model(place):
        return {place.resolve().name: place}
    inside = sorted(place.iterdir()) if place.is_dir() else []
    return {path.name: path for path in inside if not path.name.startswith(".") and _is_model(path)}


def _is_model(path: Path) -> bool:
    return (path / MANIFEST).is_file() and (path / CONFIG).is_file()


def _stamp(path: Path) -> Stamp:
    """Changes whenever the model does: the manifest is written anew with every file that it names."""
    try:
        status = (path / MANIFEST).stat()
    except OSError:
        return ()
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _load(path: Path) -> Translator:
    """The translator in a folder. Until a run has saved anything it is the one that the run began with."""
    from vitrail.translator import Translator, load

    if (path / WEIGHTS).exists():
        return load(path)
    import torch

    folder = ModelFolder.open(path)
    torch.manual_seed(folder.config.train.seed)
    return Translator(folder.new_model().eval(), folder.tokenizers, folder.config.decode, folder=folder)


@lru_cache(maxsize=256)
def _describe(path: Path, _stamp: Stamp) -> dict[str, Any]:
    try:
        folder = ModelFolder.open(path)
    except FolderError:
        return {"languages": []}  # listed all the same: asked for, it says what is wrong with it
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
    if tokenizers.source.kind == "word" and to in tokenizers.languages and _is_readable(tokenizers, text):
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
