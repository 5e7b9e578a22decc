"""Which model translates from which language into which, and whether all of them are in order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vitrail.box import BUILTIN, model_path
from vitrail.config import DecodeConfig
from vitrail.errors import DataError, FolderError, VitrailError
from vitrail.folder import ModelFolder, read_manifest
from vitrail.glossary import Glossary
from vitrail.serve.desk import Search
from vitrail.serve.problems import Problem
from vitrail.serve.shelf import Shelf, Stamp, UnknownModelError, stamp_of
from vitrail.text.restriction import Restriction

Direction = tuple[str, str]
Value = bool | int | float | str  # of a setting
_NAMED = re.compile(r"(?P<place>.+)=(?P<source>[A-Za-z]{2,8}(?:_[A-Za-z]+)?)-(?P<target>[A-Za-z]{2,8}(?:_[A-Za-z]+)?)")


@dataclass(frozen=True)
class Model:
    """A model to translate with, as it was when it was last looked at."""

    name: str
    path: Path
    stamp: Stamp
    directions: tuple[Direction, ...]
    languages: tuple[str, ...]  # that a source has to be marked with
    decode: DecodeConfig

    def search(
        self,
        target: str | None,
        decode: Mapping[str, Value],
        prefix: str = "",
        *,
        align: bool = False,
        glossary: Glossary | None = None,
        restrict: Restriction | None = None,
    ) -> Search:
        """How to translate into this language."""
        to = target if target in self.languages else None
        settings = tuple(sorted(decode.items()))
        return Search(str(self.path), self.stamp, to, settings, prefix, align, glossary, restrict)


class Directory:
    """The models of a server, by name and by direction. It changes only when it is told to look again."""

    def __init__(self, given: list[str]) -> None:
        """`given` are model folders, folders of them, or `builtin`; `FOLDER=de-en` names the languages of one."""
        self._named: dict[Path, Direction] = {}
        places = []
        for one in given:
            found = _NAMED.fullmatch(one) if not Path(one).exists() else None
            if found is None and "=" in one and not Path(one).exists():
                raise FolderError("these are not two languages", where=one, fix="write FOLDER=de-en, with two codes")
            place = model_path(found["place"] if found else one)
            places.append(place)
            if found:
                self._named[place.resolve()] = (found["source"], found["target"])
        self.shelf = Shelf(*places)
        self.models: dict[str, Model] = {}
        self.troubles: dict[str, str] = {}  # what is wrong with a model, by its name
        self._seen: dict[str, tuple[tuple[int, ...], ...]] = {}
        self.reload()
        if self.troubles:
            name, what = next(iter(self.troubles.items()))
            raise FolderError(what, where=name)

    def reload(self) -> None:
        """Look at all folders. A model that is no longer in order stays as it was, and its trouble is noted."""
        models, troubles = {}, {}
        for name, path in self.shelf.folders().items():
            try:
                models[name] = self._open(BUILTIN if path == model_path(BUILTIN) else name, path)
            except VitrailError as error:
                troubles[name] = f"{error.what} (at {error.where})"
                if name in self.models:
                    models[name] = self.models[name]
        for name, old in self.models.items():
            if name not in models:
                models[name], troubles[name] = old, f"there is no such folder (at {old.path})"
        self.models, self.troubles = models, troubles

    def check(self) -> dict[str, str]:
        """What is wrong with the folders now, by the model's name. Files that have not changed are not read again."""
        troubles = dict(self.troubles)
        for name, model in self.models.items():
            try:
                files = [model.path / file for file in read_manifest(model.path)]
                seen = tuple(_looks(file) for file in files)
                if self._seen.get(name) != seen:
                    ModelFolder.open(model.path).refuse_without_weights()
                    self._seen[name] = seen
                troubles.pop(name, None)
            except VitrailError as error:
                self._seen.pop(name, None)
                troubles[name] = f"{error.what} (at {error.where or model.path})"
            except OSError as error:
                self._seen.pop(name, None)
                troubles[name] = f"cannot read it: {error.strerror} (at {error.filename or model.path})"
        return troubles

    def named(self, name: str) -> Model:
        """The model with this name."""
        if name not in self.models:
            self.shelf.find(name)  # explains what there is
            raise UnknownModelError(f"the model '{name}' is new", where="model", fix="send the server SIGHUP")
        return self.models[name]

    def between(self, source: str, target: str) -> Model:
        """The first model from one language into another."""
        for model in self.models.values():
            if (source, target) in model.directions:
                return model
        raise Problem(
            400,
            f"{target if source in self.sources() else source} is not supported",
            where="source, target",
            fix=f"there is {', '.join(f'{one}-{other}' for one, other in self.directions())}",
        )

    def directions(self) -> list[Direction]:
        """All directions, in the order of the models."""
        return list(dict.fromkeys(direction for model in self.models.values() for direction in model.directions))

    def sources(self, target: str | None = None) -> list[str]:
        """The languages to translate from, into this one or into any."""
        return list(dict.fromkeys(one for one, other in self.directions() if target in (None, other)))

    def languages(self) -> list[str]:
        """Every language that is translated from or into."""
        return sorted({language for direction in self.directions() for language in direction})

    def _open(self, name: str, path: Path) -> Model:
        stamp = stamp_of(path)
        folder = ModelFolder.open(path)
        folder.refuse_without_weights()
        named = self._named.get(path.resolve())
        directions = folder.config.data.directions() if named is None else (named,)
        if not directions:
            raise DataError(
                "the model does not say which languages it translates", where=str(path), fix=f"serve {path}=de-en"
            )
        return Model(name, path, stamp, directions, folder.tokenizers.languages, folder.config.decode)


def _looks(file: Path) -> tuple[int, ...]:
    status = file.stat()
    return (status.st_mtime_ns, status.st_size, status.st_ino)
