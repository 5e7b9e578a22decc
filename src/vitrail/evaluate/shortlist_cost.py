"""What a shortlist costs and gives: BLEU without and with it, how much of the vocabulary it leaves, and its speed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import fmean, median

from vitrail.config import change_settings
from vitrail.data import ValidationSet
from vitrail.evaluate.report import measure
from vitrail.translator import Report, Translator

MOST = 1000  # sentences of each set
ROUNDS = 3


@dataclass(frozen=True)
class ShortlistCost:
    """One validation set, translated without a shortlist and with one."""

    data: ValidationSet
    without: float  # BLEU
    with_it: float
    changed: int  # how many translations differ
    share: float  # of the vocabulary, in the shortlist of a sentence; the mean
    times_as_fast: float

    def __str__(self) -> str:
        into = f" into {self.data.to}" if self.data.to else ""
        return (
            f"{self.data.name}{into}, {len(self.data.sources):,} sentences: "
            f"BLEU {self.without:.2f} without the shortlist, {self.with_it:.2f} with it; "
            f"{self.changed:,} translations differ; a sentence leads to {self.share:.1%} of the vocabulary; "
            f"{self.times_as_fast:.2f} times as fast"
        )


def shortlist_cost(translator: Translator, data: ValidationSet, *, report: Report | None = None) -> ShortlistCost:
    """Translate the first sentences of a set without and with the model's shortlist, several times in turns."""
    data = ValidationSet(data.name, data.to, data.sources[:MOST], data.references[:MOST])
    searches = [change_settings(translator.config, {"shortlist": is_used}) for is_used in (False, True)]
    texts: list[list[str]] = [[], []]
    ratios = []
    for turn in range(ROUNDS + 1):  # the first one loads the engines, and does not count
        seconds = []
        for which, decode in enumerate(searches):
            started = time.perf_counter()
            done = translator.translate(data.sources, to=data.to, decode=decode, on_unknown="skip")
            seconds.append(time.perf_counter() - started)
            texts[which] = [one.text for one in done]
        ratios.append(seconds[0] / seconds[1])
        if report is not None:
            report("measuring", turn + 1, ROUNDS + 1)
    scores = [measure(one, data.references, resamples=0)["bleu"].score for one in texts]
    words, shortlist = translator.tokenizers, translator.runtime.shortlist
    rows = words.encode_sources(data.sources, [data.to] * len(data.sources))
    return ShortlistCost(
        data=data,
        without=scores[0],
        with_it=scores[1],
        changed=sum(one != other for one, other in zip(*texts, strict=True)),
        share=fmean(len(shortlist.of([row])) for row in rows) / words.target.size,
        times_as_fast=median(ratios[1:]),
    )
