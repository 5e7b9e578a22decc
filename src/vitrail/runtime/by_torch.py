"""The torch engine: serves every model and every search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import ForcedModel, Hypothesis, StepModel, begin_all, score_all
from vitrail.decode.attention import attention_all
from vitrail.decode.ensemble import Ensemble, ForcedEnsemble
from vitrail.decode.likely import Likely, likely_next
from vitrail.decode.look import Look, mean_look
from vitrail.decode.workers import Workers
from vitrail.model import Transformer
from vitrail.model.looking import cross_attention
from vitrail.runtime.arranged import arranged
from vitrail.runtime.engine import Job, Report, Results

Stamp = tuple[tuple[int, int], ...]


class Torch:
    """A model in memory, or several as an ensemble. Each worker searches a batch of its own on one core."""

    name = "torch"

    def __init__(self, models: Sequence[Transformer], cores: int) -> None:
        self.models = tuple(models)
        self.cores = cores
        self._arranged: StepModel[Any] | None = None
        self._stamp: Stamp = ()

    def why_not(self, job: Job) -> str | None:
        """It can do everything but compute in int8."""
        return "it computes in float32 only" if job.config.precision != "float32" else None

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Search in batches of similar length."""
        return begin_all(
            self._current(),
            job.rows,
            job.config,
            forbidden=job.forbidden,
            prefixes=job.prefixes,
            shortlists=_shortlists(job),
            rule=job.rule,
            terms=job.terms,
            look=mean_look(self._looks, job.config.alignment_heads) if job.has_terms else None,
            max_positions=self._max_positions,
            workers=self._workers,
            report=report,
        )

    def score(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        config: DecodeConfig,
        report: Report | None = None,
    ) -> list[Hypothesis]:
        """Given targets as hypotheses: the log-probability of every token."""
        return score_all(self._forced, sources, targets, config, workers=self._workers, report=report)

    def likely_next(
        self,
        sources: Sequence[Sequence[int]],
        beginnings: Sequence[Sequence[int]],
        count: int,
        *,
        forbidden: Sequence[int] = (),
    ) -> list[list[Likely]]:
        """The most probable ids after each beginning of a translation."""
        return likely_next(self._forced, sources, beginnings, count, forbidden=forbidden, workers=self._workers)

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], heads: str) -> list[Tensor]:
        """How much each id of a target row looked at each source position: the mean over the chosen heads."""
        return attention_all(self._looks, sources, targets, heads, workers=self._workers)

    @cached_property
    def _workers(self) -> Workers:
        return Workers(self.cores)

    def _current(self) -> StepModel[Any]:
        """The model arranged for search; again if its weights have changed, as they do in training."""
        stamp = sum(map(stamp_of, self.models), ())
        if self._arranged is None or stamp != self._stamp:
            members = [arranged(model) for model in self.models]
            self._arranged, self._stamp = members[0] if len(members) == 1 else Ensemble(members), stamp
        return self._arranged

    @property
    def _looks(self) -> list[Look]:
        return [partial(cross_attention, model) for model in self.models]

    @property
    def _forced(self) -> ForcedModel:
        return self.models[0] if len(self.models) == 1 else ForcedEnsemble(self.models)

    @property
    def _max_positions(self) -> int | None:
        return min((limit for model in self.models if (limit := model.max_positions) is not None), default=None)


def _shortlists(job: Job) -> list[list[int]] | None:
    """What each translation may contain: its shortlist, and its terms."""
    if job.shortlist is None:
        return None
    terms = job.terms or [None] * len(job.rows)
    return [
        [*job.shortlist.of([row]).tolist(), *(one.ids if one is not None else ())]
        for row, one in zip(job.rows, terms, strict=True)
    ]


def stamp_of(model: Transformer) -> Stamp:
    """A value that changes whenever a weight is changed or replaced."""
    # A tensor that was made in inference mode does not count its changes: only its replacement is noticed.
    return tuple((one.data_ptr(), 0 if one.is_inference() else one._version) for one in model.parameters())
