"""The engines of one model. Each job goes to the fastest engine that can do it by the rule."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from vitrail.decode.hypothesis import Hypothesis
from vitrail.errors import DecodeError
from vitrail.folder import ModelFolder
from vitrail.runtime.ct2 import CTranslate2, Workers
from vitrail.runtime.engine import Engine, Job, Report
from vitrail.runtime.shortlist import Shortlist

if TYPE_CHECKING:
    from vitrail.model import Transformer


class Runtime:
    """A model as a folder, as a torch model in memory, or both. Engines are loaded when they are needed."""

    def __init__(
        self, *, folder: ModelFolder | None = None, model: Transformer | None = None, threads: int | None = None
    ) -> None:
        assert folder is not None or model is not None
        self._folder = folder
        self._given = model
        self._workers = Workers(threads or cores())

    @classmethod
    def of_folder(cls, folder: ModelFolder, *, threads: int | None = None) -> Runtime:
        """The model in a folder, which any engine may compute."""
        return cls(folder=folder, threads=threads)

    @classmethod
    def of_model(cls, model: Transformer) -> Runtime:
        """A model in memory: torch computes it as it is."""
        return cls(model=model)

    @cached_property
    def model(self) -> Transformer:
        """The model in torch; loaded when it is first needed."""
        if self._given is not None:
            return self._given
        assert self._folder is not None
        return self._folder.model()

    @property
    def position_limit(self) -> int | None:
        """How many positions the model has; None if there is no limit."""
        if self._given is not None:
            return self._given.config.position_limit
        assert self._folder is not None
        return self._folder.config.model.position_limit

    def search(self, job: Job, report: Report | None = None) -> list[list[Hypothesis]]:
        """The hypotheses of every row, best first."""
        if job.config.shortlist:
            job = replace(job, shortlist=self.shortlist)
        return self.engine_for(job).search(job, report) if job.rows else []

    @cached_property
    def shortlist(self) -> Shortlist:
        """The model's shortlist; read when it is first needed."""
        if self._folder is None:
            raise DecodeError(
                "this model has no shortlist: it is not in a folder",
                where="the search settings (shortlist)",
                fix="set shortlist = false",
            )
        return Shortlist.load(self._folder)

    def engine_for(self, job: Job) -> Engine:
        """The engine that does a job. If the settings name one that cannot, or none can, this is an error."""
        reasons = []
        for name, engine in (("ctranslate2", self._ctranslate2), ("torch", lambda: self._torch)):
            if job.config.engine not in ("auto", name):
                continue
            candidate = engine()
            reason = "there is no folder with its weights" if candidate is None else candidate.why_not(job)
            if candidate is not None and reason is None:
                return candidate
            reasons.append(f"{name}: {reason}")
        raise DecodeError(
            "no engine can do this search in the way that the settings ask for",
            where="the search settings (engine, precision)",
            fix=f"leave them out ({'; '.join(reasons)})",
        )

    def _ctranslate2(self) -> CTranslate2 | None:
        return self._of_folder

    @cached_property
    def _of_folder(self) -> CTranslate2 | None:
        if self._folder is None or self._given is not None:
            return None
        return CTranslate2(self._folder, self._workers, lambda: self._torch)

    @cached_property
    def _torch(self) -> Engine:
        from vitrail.runtime.by_torch import Torch

        return Torch(self.model)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
