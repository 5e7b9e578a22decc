"""The torch engine: serves every model and every search."""

from __future__ import annotations

from vitrail.decode import search_all
from vitrail.model import Transformer
from vitrail.runtime.engine import Job, Report, Results


class Torch:
    """A model in memory, run by torch."""

    name = "torch"

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def why_not(self, job: Job) -> str | None:
        """It can do everything but compute in int8."""
        return "it computes in float32 only" if job.config.precision != "float32" else None

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Search in batches of similar length, when the results are asked for."""
        return lambda: search_all(
            self.model,
            job.rows,
            job.config,
            forbidden=job.forbidden,
            prefixes=[job.prefix] * len(job.rows) if job.prefix else None,
            shortlists=None if job.shortlist is None else [job.shortlist.of([row]).tolist() for row in job.rows],
            max_positions=self.model.max_positions,
            report=report,
        )
