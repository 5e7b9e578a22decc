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

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitrail.config import DecodeConfig
from vitrail.decode.grouping import batches
from vitrail.decode.hypothesis import Hypothesis, length_limit
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.runtime import convert
from vitrail.runtime.converted import converted, key_of, user_cache
from vitrail.runtime.engine import Engine, Job, Report, Results
from vitrail.runtime.shortlist import Shortlist
from vitrail.runtime.tuning import LEAST, Memory, Tuning, measure, sample, usual
from vitrail.text.special import EOS

if TYPE_CHECKING:
    import ctranslate2

_NO_PENALTY = 1e-30
_SHORTEST = 16  # length that shorter sources count as: what is generated for each costs time, however short it is
_SHORTLISTED = 1024  # source positions of a batch with a shortlist: not measured, since translations depend on it


class CTranslate2:
    """A model folder, run by CTranslate2. The library and the weights are loaded when they are first needed."""

    name = "ctranslate2"

    def __init__(self, folder: ModelFolder, cores: int, other: Callable[[], Engine]) -> None:
        self.folder = folder
        self.cores = cores
        self._other = other  # for the few sentences that need it
        self._tunings: dict[str, Tuning | None] = {}
        self._loaded: dict[_Form, ctranslate2.Translator] = {}
        self._names = convert.names(max(folder.tokenizers.source.size, folder.tokenizers.target.size))

    def why_not(self, job: Job) -> str | None:
        """Why CTranslate2 cannot do a job by our rule; None if it can."""
        if job.config.sample:
            return "it does not draw for each sentence by itself"
        if job.prefixes is not None and any(job.prefixes):
            return "it gives a forced prefix no probability"
        if job.has_terms:
            return "it does not search for terms"
        if job.rule is not None:
            return "it does not restrict words"
        if job.config.penalty == "gnmt" and job.config.alpha:
            return "it has no penalty = 'gnmt'"
        longest = max((self._limit(job, row) for row in job.rows), default=0)
        if longest > convert.POSITIONS:
            return f"it is prepared for {convert.POSITIONS:,} positions, and {longest:,} may be needed"
        return convert.why_not(self.folder.config.model)

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Send all batches to the workers, and collect what they find when it is asked for."""
        tuning = self.tuning(job.config)
        if tuning is None and len(job.rows) >= LEAST:
            tuning = self._measure(job)
        tuning = tuning or usual(self.cores, job.config.precision)
        translator = self._translator(job, tuning.workers)
        groups = _groups(job.rows, tuning.batch_tokens if job.shortlist is None else _SHORTLISTED)
        waiting = [self._send(translator, job, group) for group in groups]

        def collect() -> list[list[Hypothesis]]:
            found: dict[int, list[Hypothesis]] = {}
            for group, (limit, results) in zip(groups, waiting, strict=True):
                if len(groups) > 1:
                    _await(results)
                for index, result in zip(group, results, strict=True):
                    found[index] = self._settle(translator, job, job.rows[index], limit, result.result())
                if report is not None:
                    report("translating", len(found), len(job.rows))
            return [found[index] for index in range(len(job.rows))]

        return collect

    def tuning(self, config: DecodeConfig) -> Tuning | None:
        """What was measured for searches like this one; None if nothing was."""
        name = _like(config)
        if name not in self._tunings:
            self._tunings[name] = self._memory(config).recall(cores=self.cores)
        return self._tunings[name]

    def _memory(self, config: DecodeConfig) -> Memory:
        key = key_of(self.folder, f"{self.name}, {_like(config)}", convert.VERSION)
        return Memory.of(user_cache(), key, cores=self.cores)

    def _measure(self, job: Job) -> Tuning:
        """Find out how to use this machine, on some of a job's sentences."""

        def translate(tuning: Tuning, rows: Sequence[Sequence[int]]) -> None:
            translator = self._translator(job, tuning.workers)
            some = replace(job, rows=rows)
            for _, results in [self._send(translator, some, group) for group in _groups(rows, tuning.batch_tokens)]:
                _await(results)

        parameters = (self.folder.path / WEIGHTS).stat().st_size // 4
        tuning = measure(self.cores, translate, sample(job.rows, parameters))
        self._memory(job.config).keep(tuning)
        self._tunings[_like(job.config)] = tuning
        return tuning

    def _settle(
        self, translator: ctranslate2.Translator, job: Job, row: Sequence[int], limit: int, result: Any
    ) -> list[Hypothesis]:
        """The hypotheses of one sentence. If the batch's limit or a forbidden id made a difference, search again."""
        names, scores = result.hypotheses, result.scores
        own = self._limit(job, row)
        if own < limit and max(map(len, names)) >= own:
            _, (again,) = self._send(translator, replace(job, rows=[row]), [0])
            names, scores = again.result().hypotheses, again.result().scores
        forbidden = {self._names[number] for number in job.forbidden}
        if any(map(isnan, scores)) or not forbidden.isdisjoint(chain.from_iterable(names)):
            exact = replace(job, rows=[row], config=job.config.model_copy(update={"precision": "float32"}))
            return self._other().begin(exact)()[0]
        best = zip(names[: job.config.top_beams], scores, strict=False)
        return [Hypothesis.with_score(tuple(map(int, one)), score) for one, score in best]

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

    def _translator(self, job: Job, workers: int) -> ctranslate2.Translator:
        wanted = _Form(job.config.precision, workers, None if job.shortlist is None else self._common(job.rows))
        for form, loaded in self._loaded.items():
            if form == wanted or replace(form, common=None) == wanted:  # one with a map can do without it
                return loaded
        loaded = self._load(wanted, job.shortlist)
        # They take memory: only those stay that differ from it in nothing but the language of their map.
        others = {form: one for form, one in self._loaded.items() if replace(form, common=wanted.common) == wanted}
        self._loaded = {wanted: loaded, **{form: one for form, one in others.items() if form.common is not None}}
        return loaded

    def _common(self, rows: Sequence[Sequence[int]]) -> int:
        """A source id that all rows have: the symbol of their target language, or `<eos>`."""
        first = {row[0] for row in rows}
        return first.pop() if self.folder.tokenizers.languages and len(first) == 1 else EOS

    def _load(self, form: _Form, shortlist: Shortlist | None) -> ctranslate2.Translator:
        import ctranslate2

        precision = form.precision

        place = converted(
            self.folder,
            f"ctranslate2-{precision}",
            lambda out: convert.convert(self.folder, precision=precision, out=out),
            version=f"{convert.VERSION}, ctranslate2 {ctranslate2.__version__}",
        )
        files = place if isinstance(place, dict) else None
        if (
            shortlist is not None and form.common is not None
        ):  # joins the files in memory, so that the converted form is kept once
            files = files or {file.name: file.read_bytes() for file in Path(str(place)).iterdir()}
            files = {**files, "vmap.txt": shortlist.vocabulary_map(form.common)}
        return ctranslate2.Translator(
            str(self.folder.path if files is not None else place),
            device="cpu",
            compute_type=precision,
            inter_threads=form.workers,
            intra_threads=1,  # threads that share a search wait for each other, and spin while they do
            max_queued_batches=-1,
            files=files,
        )


@dataclass(frozen=True)
class _Form:
    """How the library holds a model."""

    precision: str
    workers: int
    common: int | None  # of a shortlist: a source id of all sentences; None without a shortlist


def _groups(rows: Sequence[Sequence[int]], batch_tokens: int) -> list[list[int]]:
    return batches([max(len(row), _SHORTEST) for row in rows], batch_tokens)


def _like(config: DecodeConfig) -> str:
    """A name for all searches that are best done in the same way."""
    return f"{config.precision}, {'greedy' if config.beam_size == 1 else 'beam'}"


def _await(results: Sequence[Any]) -> None:
    """Wait in Python, where Ctrl-C is heard: the library's own waiting is deaf to it."""
    for result in results:
        while not result.done():
            time.sleep(0.001)
