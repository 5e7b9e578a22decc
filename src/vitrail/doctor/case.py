"""What the doctor looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field

from vitrail.config import Config
from vitrail.data import Prepared
from vitrail.data.corpora import Corpus, Pair
from vitrail.documents import Count, Document
from vitrail.errors import DataError, FolderError
from vitrail.folder import MANIFEST, ModelFolder
from vitrail.train.log import LOG, read_log

MOST = 200_000  # pairs of a corpus that are looked at


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or wasteful."""

    what: str  # a sentence, with the number that was measured here
    fix: str  # which setting to change, or what to do
    published: str | None = None  # what others have reported about it

    def __str__(self) -> str:
        lines = [self.what, f"  fix: {self.fix}"]
        return "\n".join([*lines, f"  published: {self.published}"] if self.published else lines)


class Measured(Document):
    """What the checks need of an event; its clock may have any fields."""

    step: Count
    loss: float
    clock: dict[str, float] = Field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """The first pairs of a corpus that have text on both sides."""

    corpus: Corpus
    pairs: list[Pair]
    is_whole: bool

    @property
    def name(self) -> str:
        """How to call it in a sentence."""
        target = self.corpus.config.target
        return f"{self.corpus.name} and {target}" if target else self.corpus.name


@dataclass(frozen=True)
class Case:
    """A recipe, or a run with its log and its checkpoints."""

    config: Config
    run: ModelFolder | None = None

    @classmethod
    def of_run(cls, path: Path) -> Case:
        """A run folder."""
        folder = ModelFolder.open(path)
        return cls(folder.config, folder)

    @staticmethod
    def is_run(path: Path) -> bool:
        """Whether a path is a model folder rather than a recipe."""
        return path.is_dir() or path.name == MANIFEST

    @cached_property
    def training(self) -> list[Text]:
        """The corpora to train on; those that cannot be read any more are skipped for a run."""
        return self._texts(self.config.data.training_corpora())

    @cached_property
    def validation(self) -> list[Text]:
        """The corpora to validate on, or what a run has held out."""
        return self._texts(self.config.data.validation_corpora())

    @cached_property
    def prepared(self) -> Prepared | None:
        """The encoded data, if there is any."""
        named = Path(self.config.data.prepared) if self.config.data.prepared is not None else None
        place = self.run.data if self.run is not None else named
        return Prepared.open(place) if place is not None and place.exists() else None

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The log of a run."""
        return read_log(self.run.path / LOG) if self.run is not None else []

    @cached_property
    def validations(self) -> list[Measured]:
        """What was measured on the validation data, in order."""
        return self._measured("validation")

    @cached_property
    def steps(self) -> list[Measured]:
        """What was logged about steps, in order."""
        return self._measured("step")

    def _measured(self, kind: str) -> list[Measured]:
        try:
            return [Measured.of(event) for event in self.events if event["event"] == kind]
        except ValueError as error:
            assert self.run is not None
            where, fix = str(self.run.path / LOG), "remove it: the model works without it"
            raise FolderError(f"the log is damaged: {error}", where=where, fix=fix) from None

    def _texts(self, corpora: Iterable[Any]) -> list[Text]:
        found = []
        for config in corpora:
            if config.builtin is not None:
                continue  # made up, so there is nothing to mend
            corpus = Corpus(config)
            try:
                corpus.stamps()  # refuses pipes and devices
                pairs = list(islice(corpus.pairs(), MOST + 1))
            except (DataError, FolderError):
                if self.run is None:
                    raise
                continue
            usable = [one for one in pairs[:MOST] if one.source and one.target]
            found.append(Text(corpus, usable, len(pairs) <= MOST))
        return found


Check = Callable[[Case], Iterable[Finding]]
