"""Search or score many sentences in batches of similar length; results keep the order of the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from vitrail.config import DecodeConfig
from vitrail.decode.entry import search
from vitrail.decode.forced import score
from vitrail.decode.grouping import batches
from vitrail.decode.hypothesis import Hypothesis
from vitrail.decode.look import MeanLook
from vitrail.decode.request import Request
from vitrail.decode.rule import Rule
from vitrail.decode.step import CacheT, ForcedModel, StepModel
from vitrail.decode.terms import Terms
from vitrail.decode.workers import Workers

ResultT = TypeVar("ResultT")
Report = Callable[[str, int, int | None], None]

BATCH_TOKENS = 2048  # positions in a batch of sources, padding included
_USUAL_BEAM = 8  # hypotheses of a sentence; with more, batches get smaller, since memory grows with rows × hypotheses
_SHORTEST = 16  # length that shorter sources count as: each costs beam_size × vocabulary predictions, however short


def begin_all(
    model: StepModel[CacheT],
    sources: Sequence[Sequence[int]],
    config: DecodeConfig,
    *,
    forbidden: Sequence[int] = (),
    prefixes: Sequence[Sequence[int]] | None = None,
    shortlists: Sequence[Sequence[int]] | None = None,
    rule: Rule | None = None,
    terms: Sequence[Terms | None] | None = None,
    look: MeanLook | None = None,
    max_positions: int | None = None,
    batch_tokens: int = BATCH_TOKENS,
    workers: Workers | None = None,
    report: Report | None = None,
) -> Callable[[], list[list[Hypothesis]]]:
    """Begin to translate any number of sources: what is returned waits for the translations.

    `search` does one batch. Each of the `workers` works on a batch of its own; without them nothing happens before
    somebody waits.
    """
    if prefixes is not None:  # check all now, so that errors name the sentence's number in the input
        Request.check(
            sources,
            vocabulary=model.vocabulary,
            forbidden=forbidden,
            prefixes=prefixes,
            max_extra=config.max_extra,
            max_positions=max_positions,
        )

    def translate(chosen: list[int]) -> list[list[Hypothesis]]:
        return search(
            model,
            [sources[index] for index in chosen],
            config,
            forbidden=forbidden,
            prefixes=None if prefixes is None else [prefixes[index] for index in chosen],
            shortlists=None if shortlists is None else [shortlists[index] for index in chosen],
            rule=rule,
            terms=None if terms is None else [terms[index] for index in chosen],
            look=look,
            max_positions=max_positions,
        )

    lengths = [max(len(row), _SHORTEST) for row in sources]
    hypotheses = config.top_beams if config.sample else config.beam_size
    budget = batch_tokens * _USUAL_BEAM // max(hypotheses, _USUAL_BEAM)
    return begin_batches(translate, lengths, budget, what="translate", workers=workers, report=report)


def score_all(
    model: ForcedModel,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    config: DecodeConfig,
    *,
    batch_tokens: int = BATCH_TOKENS,
    workers: Workers | None = None,
    report: Report | None = None,
) -> list[Hypothesis]:
    """Score any number of pairs; `score` does one batch."""

    def judge(chosen: list[int]) -> list[Hypothesis]:
        return score(model, [sources[index] for index in chosen], [targets[index] for index in chosen], config)

    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    return in_batches(judge, lengths, batch_tokens, what="score", workers=workers, report=report)


def in_batches(
    work: Callable[[list[int]], list[ResultT]],
    lengths: Sequence[int],
    batch_tokens: int,
    *,
    what: str,
    workers: Workers | None = None,
    report: Report | None = None,
) -> list[ResultT]:
    """Call `work` with the indices of each batch, and return its results in the original order."""
    return begin_batches(work, lengths, batch_tokens, what=what, workers=workers, report=report)()


def begin_batches(
    work: Callable[[list[int]], list[ResultT]],
    lengths: Sequence[int],
    batch_tokens: int,
    *,
    what: str,
    workers: Workers | None = None,
    report: Report | None = None,
) -> Callable[[], list[ResultT]]:
    """As `in_batches`; what is returned waits for the results."""
    groups = batches(lengths, batch_tokens)
    found = map(work, groups) if workers is None else workers.map(work, groups)

    def collect() -> list[ResultT]:
        results: dict[int, ResultT] = {}
        for chosen, made in zip(groups, found, strict=True):
            results.update(zip(chosen, made, strict=True))
            if report is not None:
                report(what, len(results), len(lengths))
        return [results[index] for index in range(len(lengths))]

    return collect
