"""The engines of one model. Each job goes to the fastest engine that can do it by the rule."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from vitrail.decode.hypothesis import Hypothesis
from vitrail.errors import DecodeError
from vitrail.folder import ModelFolder
from vitrail.runtime.ct2 import CTranslate2
from vitrail.runtime.engine import Engine, Job, Report, Results
from vitrail.runtime.shortlist import Shortlist
from vitrail.runtime.tuning import cores

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
        self._threads = threads or cores()
        self._as_loaded: object = None  # what the weights of a loaded model looked like

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
        model = self._folder.model()
        self._as_loaded = self._stamp(model)
        return model

    @property
    def position_limit(self) -> int | None:
        """How many positions the model has; None if there is no limit."""
        if self._given is not None:
            return self._given.config.position_limit
        assert self._folder is not None
        return self._folder.config.model.position_limit

    def search(self, job: Job, report: Report | None = None) -> list[list[Hypothesis]]:
        """The hypotheses of every row, best first."""
        return self.begin(job, report)()

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Start a job; what is returned waits for its hypotheses."""
        if job.config.shortlist:
            job = replace(job, shortlist=self.shortlist)
        if not job.rows:
            return list
        return self.engine_for(job).begin(job, report)

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
        reasons: list[str] = []
        reason: str | None
        if job.config.engine != "torch":
            if self.ctranslate2 is None:
                reason = "the model is not in a folder"
            elif self._was_changed():
                reason = "the model was changed in memory"
            else:
                reason = self.ctranslate2.why_not(job)
            if self.ctranslate2 is not None and reason is None:
                return self.ctranslate2
            reasons.append(f"ctranslate2: {reason}")
        if job.config.engine != "ctranslate2":
            reason = self._torch.why_not(job)
            if reason is None:
                return self._torch
            reasons.append(f"torch: {reason}")
        raise DecodeError(
            "no engine can do this search in the way that the settings ask for",
            where="the search settings (engine, precision)",
            fix=f"leave them out ({'; '.join(reasons)})",
        )

    def _was_changed(self) -> bool:
        """Whether somebody has changed the model after it was loaded: then the folder has other weights."""
        return "model" in self.__dict__ and self._given is None and self._stamp(self.model) != self._as_loaded

    def _stamp(self, model: Transformer) -> object:
        from vitrail.runtime.by_torch import stamp_of

        return stamp_of(model)

    @cached_property
    def ctranslate2(self) -> CTranslate2 | None:
        """The engine of the model's folder; None for a model in memory."""
        if self._folder is None or self._given is not None:
            return None
        return CTranslate2(self._folder, self._threads, lambda: self._torch)

    @cached_property
    def _torch(self) -> Engine:
        from vitrail.runtime.by_torch import Torch

        return Torch(self.model, self._threads)
