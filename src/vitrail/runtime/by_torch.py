"""The torch engine: serves every model and every search."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from vitrail.decode import StepModel, search_all
from vitrail.decode.workers import Workers
from vitrail.model import Transformer
from vitrail.runtime.arranged import arranged
from vitrail.runtime.engine import Job, Report, Results

Stamp = tuple[tuple[int, int], ...]


class Torch:
    """A model in memory, run by torch. Each worker searches a batch of its own on one core."""

    name = "torch"

    def __init__(self, model: Transformer, cores: int) -> None:
        self.model = model
        self.cores = cores
        self._arranged: StepModel[Any] | None = None
        self._stamp: Stamp = ()

    def why_not(self, job: Job) -> str | None:
        """It can do everything but compute in int8."""
        return "it computes in float32 only" if job.config.precision != "float32" else None

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Search in batches of similar length, when the results are asked for."""
        return lambda: search_all(
            self._current(),
            job.rows,
            job.config,
            forbidden=job.forbidden,
            prefixes=[job.prefix] * len(job.rows) if job.prefix else None,
            shortlists=None if job.shortlist is None else [job.shortlist.of([row]).tolist() for row in job.rows],
            max_positions=self.model.max_positions,
            workers=self._workers,
            report=report,
        )

    @cached_property
    def _workers(self) -> Workers:
        return Workers(self.cores)

    def _current(self) -> StepModel[Any]:
        """The model arranged for search; again if its weights have changed, as they do in training."""
        stamp = stamp_of(self.model)
        if self._arranged is None or stamp != self._stamp:
            self._arranged, self._stamp = arranged(self.model), stamp
        return self._arranged


def stamp_of(model: Transformer) -> Stamp:
    """A value that changes whenever a weight is changed or replaced."""
    # A tensor that was made in inference mode does not count its changes: only its replacement is noticed.
    return tuple((one.data_ptr(), 0 if one.is_inference() else one._version) for one in model.parameters())
