"""The engines of one model. Each job goes to the fastest engine that can do it by the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from vitrail.config import DecodeConfig
from vitrail.decode.hypothesis import Hypothesis
from vitrail.errors import DecodeError
from vitrail.folder import ModelFolder
from vitrail.runtime.ct2 import CTranslate2
from vitrail.runtime.engine import Engine, Job, Report, Results
from vitrail.runtime.fork import Birthplace, never_destroy
from vitrail.runtime.shortlist import Shortlist
from vitrail.runtime.tuning import cores
from vitrail.text.special import EOS

if TYPE_CHECKING:
    from torch import Tensor

    from vitrail.decode.likely import Likely
    from vitrail.model import Transformer
    from vitrail.runtime.by_torch import Torch


class Runtime:
    """A model as a folder, as a torch model in memory, or both. Engines are loaded when they are needed."""

    def __init__(
        self,
        *,
        folder: ModelFolder | None = None,
        model: Transformer | None = None,
        threads: int | None = None,
        others: Sequence[Runtime] = (),
    ) -> None:
        assert folder is not None or model is not None
        self.others = tuple(others)  # the other members, if this is an ensemble
        self.folder = folder
        self._given = model
        self.threads = threads  # None: as many as there are cores
        self._as_loaded: object = None  # what the weights of a loaded model looked like
        self._birthplace = Birthplace()

    @classmethod
    def of_folder(cls, folder: ModelFolder, *, threads: int | None = None) -> Runtime:
        """The model in a folder, which any engine may compute."""
        return cls(folder=folder, threads=threads)

    @classmethod
    def of_model(cls, model: Transformer, *, threads: int | None = None) -> Runtime:
        """A model in memory: torch computes it as it is."""
        return cls(model=model, threads=threads)

    def with_others(self, others: Sequence[Runtime]) -> Runtime:
        """The same model in an ensemble with others, which have its vocabularies."""
        return Runtime(folder=self.folder, model=self._given, threads=self.threads, others=(*self.others, *others))

    @property
    def _cores(self) -> int:
        return self.threads or cores()

    @cached_property
    def model(self) -> Transformer:
        """The model in torch; loaded when it is first needed."""
        if self._given is not None:
            return self._given
        assert self.folder is not None
        model = self.folder.model()
        self._as_loaded = self._stamp(model)
        return model

    @property
    def position_limit(self) -> int | None:
        """How many positions the model has; None if there is no limit."""
        limits = [self._own_limit, *(other.position_limit for other in self.others)]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def _own_limit(self) -> int | None:
        if self._given is not None:
            return self._given.config.position_limit
        assert self.folder is not None
        return self.folder.config.model.position_limit

    def search(self, job: Job, report: Report | None = None) -> list[list[Hypothesis]]:
        """The hypotheses of every row, best first."""
        return self.begin(job, report)()

    def score(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        config: DecodeConfig,
        report: Report | None = None,
    ) -> list[Hypothesis]:
        """Given targets as hypotheses: the log-probability of every token. Only torch computes them."""
        self._settle_after_fork()
        return self._torch.score(sources, targets, config, report)

    def likely_next(
        self,
        sources: Sequence[Sequence[int]],
        beginnings: Sequence[Sequence[int]],
        count: int,
        *,
        forbidden: Sequence[int] = (),
    ) -> list[list[Likely]]:
        """The most probable ids after each beginning of a translation. Only torch computes them."""
        return self._torch.likely_next(sources, beginnings, count, forbidden=forbidden)

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Start a job; what is returned waits for its hypotheses."""
        self._settle_after_fork()
        if job.config.shortlist:
            job = replace(job, shortlist=self.shortlist)
        if not job.rows:
            return list
        if job.has_terms and not all(job.terms or ()):
            return self._begin_apart(job, report)
        if job.has_terms and job.config.engine == "auto":  # only torch searches for them, in float32
            job = replace(job, config=job.config.model_copy(update={"precision": "float32"}))
        if job.config.coverage and not job.config.sample:
            return self._begin_covering(job, report)
        return self.engine_for(job).begin(job, report)

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], heads: str) -> list[Tensor]:
        """How much each id of a target row looked at each source position. Only torch computes it."""
        return self._torch.attention(sources, targets, heads)

    def _begin_apart(self, job: Job, report: Report | None) -> Results:
        """Rows without terms are a job of their own: the fastest engine may do it."""
        terms = job.terms or ()
        groups = [[n for n, one in enumerate(terms) if (one is None) is without] for without in (True, False)]
        waiting = [self.begin(job.of(numbers), report) for numbers in groups]

        def collect() -> list[list[Hypothesis]]:
            found: dict[int, list[Hypothesis]] = {}
            for numbers, results in zip(groups, waiting, strict=True):
                found.update(zip(numbers, results(), strict=True))
            return [found[number] for number in range(len(job.rows))]

        return collect

    def _begin_covering(self, job: Job, report: Report | None) -> Results:
        """Search without the coverage penalty, for all that beam search finds; then look at these, and choose."""
        config = job.config.model_copy(update={"coverage": 0.0, "top_beams": job.config.beam_size})
        results = self.engine_for(job).begin(replace(job, config=config), report)

        def choose() -> list[list[Hypothesis]]:
            from vitrail.decode.coverage import covered, with_coverage

            found = results()
            pairs = [(row, one.row) for row, ones in zip(job.rows, found, strict=True) for one in ones]
            rows, targets = [row for row, _ in pairs], [target for _, target in pairs]
            looked = self.attention(rows, targets, job.config.alignment_heads)
            silent = {EOS, *job.forbidden}  # `<eos>` and language symbols: ids that stand for no text
            texts = [[number not in silent for number in row] for row in rows]
            sums = iter(map(covered, looked, texts))
            return [with_coverage(ones, [next(sums) for _ in ones], job.config) for ones in found]

        return choose

    @cached_property
    def shortlist(self) -> Shortlist:
        """The model's shortlist; read when it is first needed."""
        if self.folder is None:
            raise DecodeError(
                "this model has no shortlist: it is not in a folder",
                where="the search settings (shortlist)",
                fix="set shortlist = false",
            )
        return Shortlist.load(self.folder)

    def engine_for(self, job: Job) -> Engine:
        """The engine that does a job. If the settings name one that cannot, or none can, this is an error."""
        reasons: list[str] = []
        reason: str | None
        if job.config.engine != "torch":
            if self.ctranslate2 is None:
                reason = "the model is not in a folder"
            elif self._was_changed():
                reason = "the model was changed in memory"
            elif self.others:
                reason = "it runs one model at a time"
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

    def _settle_after_fork(self) -> None:
        """In a forked child, forget the parent's engines: their threads are not here."""
        if self._birthplace.was_left():
            for name in ("ctranslate2", "_torch"):
                never_destroy(self.__dict__.pop(name, None))

    def _was_changed(self) -> bool:
        """Whether somebody has changed the model after it was loaded: then the folder has other weights."""
        return "model" in self.__dict__ and self._given is None and self._stamp(self.model) != self._as_loaded

    def _stamp(self, model: Transformer) -> object:
        from vitrail.runtime.by_torch import stamp_of

        return stamp_of(model)

    @cached_property
    def ctranslate2(self) -> CTranslate2 | None:
        """The engine of the model's folder; None for a model in memory."""
        if self.folder is None or self._given is not None:
            return None
        return CTranslate2(self.folder, self._cores, lambda: self._torch)

    @cached_property
    def _torch(self) -> Torch:
        from vitrail.runtime.by_torch import Torch

        return Torch([self.model, *(other.model for other in self.others)], self._cores)
