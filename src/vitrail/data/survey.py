"""The first pass over the corpora: every file is read to its end before anything is made of it, and little is kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vitrail.config import DataConfig
from vitrail.data.corpora import Corpus
from vitrail.data.duplicates import DuplicateFinder
from vitrail.data.filters import Tally, nothing_left, reason_in_text
from vitrail.data.sample import Reservoir

Report = Callable[[str, int, int | None], None]  # what is being done, how much of it, of how much

VOCABULARY_PAIRS = 500_000  # the most that a vocabulary is learnt from; a larger corpus is sampled
_REPORT_EVERY = 4096


@dataclass(frozen=True)
class Survey:
    """What the first pass found: how many pairs there are, text to learn a vocabulary from, and repeated pairs."""

    pairs: int
    sample: list[tuple[str, str]]
    seen_before: NDArray[np.bool_]  # for each pair, in order, whether the same one came earlier


def survey(corpora: Sequence[Corpus], config: DataConfig, *, scratch: Path, seed: int, report: Report) -> Survey:
    """Read everything once. `scratch` is a place for temporary files."""
    reservoir: Reservoir[tuple[str, str]] = Reservoir(VOCABULARY_PAIRS, seed)
    total = 0
    report("reading", 0, None)
    with DuplicateFinder(scratch) as finder:
        for corpus in corpora:
            tally = Tally(config.strict)
            first = total
            for pair in corpus.pairs():
                reason = reason_in_text(pair, config)
                if reason is not None:
                    tally.leave_out(reason, corpus, pair.line)
                elif pair.source is not None and pair.target is not None:
                    reservoir.offer((pair.source, pair.target))
                    if config.drop_duplicates:
                        finder.add(total, f"{pair.to}\n{pair.source.strip()}\n{pair.target.strip()}")
                total += 1
                if total % _REPORT_EVERY == 0:
                    report("reading", total, None)
            if tally.total() == total - first:
                raise nothing_left(corpus, tally)
        report("reading", total, total)
        seen_before = finder.find(total)
    shutil.rmtree(scratch)
    return Survey(total, reservoir.items, seen_before)
