"""The CTranslate2 engine: its library searches by our rule, several times as fast as torch on a CPU.

Its beam search is the one of ARCHITECTURE.md, with four differences, which are dealt with here:
- Its length limit is one for a whole batch. A translation that reaches its own limit is searched again by itself.
- It renormalises predictions if some ids may not be generated. So all may, and a sentence for which it generates one
  that may not be is searched again by the other engine. (That it considers such an id on the way is rare, and a tie.)
- It stops early if there is no length penalty; one of 1e-30 has no effect but prevents that.
- It gives forced prefixes no probability, and it draws from one random stream: both are left to the other engine.

With a shortlist there is a fifth one, which remains: it projects onto the union of the shortlists in a batch, so that a
translation may depend on its neighbours (docs/decoding.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitrail.decode.grouping import batches
from vitrail.decode.hypothesis import Hypothesis, length_limit
from vitrail.folder import ModelFolder
from vitrail.runtime import convert
from vitrail.runtime.converted import converted
from vitrail.runtime.engine import Engine, Job, Report
from vitrail.runtime.shortlist import Shortlist

if TYPE_CHECKING:
    import ctranslate2

_NO_PENALTY = 1e-30


@dataclass(frozen=True)
class Workers:
    """How much of the machine to use."""

    count: int  # batches that are searched at the same time
    threads: int = 1  # threads for each of them: they wait for each other


class CTranslate2:
    """A model folder, run by CTranslate2. The library and the weights are loaded when they are first needed."""

    name = "ctranslate2"

    def __init__(self, folder: ModelFolder, workers: Workers, other: Callable[[], Engine]) -> None:
        self.folder = folder
        self.workers = workers
        self.batch_tokens = 1024
        self._other = other  # for the few sentences that need it
        self._loaded: dict[tuple[str, bool], ctranslate2.Translator] = {}
        self._names = convert.names(max(folder.tokenizers.source.size, folder.tokenizers.target.size))

    def why_not(self, job: Job) -> str | None:
        """Why CTranslate2 cannot do a job by our rule; None if it can."""
        if job.config.sample:
            return "it does not draw for each sentence by itself"
        if job.prefix:
            return "it gives a forced prefix no probability"
        if job.config.penalty == "gnmt" and job.config.alpha:
            return "it has no penalty = 'gnmt'"
        longest = max((self._limit(job, row) for row in job.rows), default=0)
        if longest > convert.POSITIONS:
            return f"it is prepared for {convert.POSITIONS:,} positions, and {longest:,} may be needed"
        return convert.why_not(self.folder.config.model)

    def search(self, job: Job, report: Report | None = None) -> list[list[Hypothesis]]:
        """Send all batches to the workers, then collect what they find."""
        translator = self._translator(job.config.precision, job.shortlist)
        groups = batches([len(row) for row in job.rows], self.batch_tokens)
        waiting = [self._send(translator, job, group) for group in groups]
        found: dict[int, list[Hypothesis]] = {}
        for group, (limit, results) in zip(groups, waiting, strict=True):
            for index, result in zip(group, results, strict=True):
                found[index] = self._settle(translator, job, job.rows[index], limit, result.result())
            if report is not None:
                report("translating", len(found), len(job.rows))
        return [found[index] for index in range(len(job.rows))]

    def _settle(
        self, translator: ctranslate2.Translator, job: Job, row: Sequence[int], limit: int, result: Any
    ) -> list[Hypothesis]:
        """The hypotheses of one sentence. If the batch's limit or a forbidden id made a difference, search again."""
        hypotheses = _hypotheses(result)
        own = self._limit(job, row)
        if own < limit and max(len(one.row) for one in hypotheses) >= own:
            _, (again,) = self._send(translator, replace(job, rows=[row]), [0])
            hypotheses = _hypotheses(again.result())
        if any(isnan(one.score) or not set(job.forbidden).isdisjoint(one.ids) for one in hypotheses):
            exact = replace(job, rows=[row], config=job.config.model_copy(update={"precision": "float32"}))
            return self._other().search(exact)[0]
        return hypotheses[: job.config.top_beams]

    def _send(self, translator: ctranslate2.Translator, job: Job, group: Sequence[int]) -> tuple[int, list[Any]]:
        """Start the search of one batch: its length limit, and what will hold the results."""
        rows = [job.rows[index] for index in group]
        limit = max(self._limit(job, row) for row in rows)
        names = self._names
        return limit, translator.translate_batch(
            [[names[number] for number in row] for row in rows],
            asynchronous=True,
            beam_size=job.config.beam_size,
            num_hypotheses=job.config.beam_size,  # all of them: the longest tells when the search ended
            length_penalty=job.config.alpha or _NO_PENALTY,
            max_input_length=0,
            max_decoding_length=limit,
            min_decoding_length=0,
            return_scores=True,
            return_end_token=True,
            use_vmap=job.shortlist is not None,
        )

    def _limit(self, job: Job, row: Sequence[int]) -> int:
        return length_limit(row, job.config.max_extra, self.folder.config.model.position_limit)

    def _translator(self, precision: str, shortlist: Shortlist | None) -> ctranslate2.Translator:
        form = precision, shortlist is not None
        if form not in self._loaded:
            self._loaded[form] = self._load(precision, shortlist)
        return self._loaded[form]

    def _load(self, precision: str, shortlist: Shortlist | None) -> ctranslate2.Translator:
        import ctranslate2

        place = converted(
            self.folder,
            f"ctranslate2-{precision}",
            lambda out: convert.convert(self.folder, precision=precision, out=out),
            version=f"{convert.VERSION}, ctranslate2 {ctranslate2.__version__}",
        )
        files = place if isinstance(place, dict) else None
        if shortlist is not None:  # joins the files in memory, so that the converted form is kept once
            files = files or {file.name: file.read_bytes() for file in Path(str(place)).iterdir()}
            files = {**files, "vmap.txt": shortlist.vocabulary_map()}
        return ctranslate2.Translator(
            str(self.folder.path if files is not None else place),
            device="cpu",
            compute_type=precision,
            inter_threads=self.workers.count,
            intra_threads=self.workers.threads,
            max_queued_batches=-1,
            files=files,
        )


def _hypotheses(result: Any) -> list[Hypothesis]:
    return [
        Hypothesis.with_score([int(name) for name in names], score)
        for names, score in zip(result.hypotheses, result.scores, strict=True)
    ]
