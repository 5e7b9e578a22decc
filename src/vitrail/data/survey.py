"""The first pass over the corpora: read every file to its end before the real work, and keep little of it."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vitrail.config import DataConfig
from vitrail.data.corpora import Corpus, Pair
from vitrail.data.duplicates import DuplicateFinder
from vitrail.data.filters import Tally, nothing_left, reason_in_text
from vitrail.data.sample import Reservoir
from vitrail.text import tidy

Report = Callable[[str, int, int | None], None]  # activity, amount done, total

VOCABULARY_PAIRS = 500_000  # the most to learn a vocabulary from; larger corpora are sampled
ONE_IN = 10  # hold out at most one in this many pairs of a corpus, whatever hold_out says
_REPORT_EVERY = 4096


@dataclass(frozen=True)
class Survey:
    """What the first pass found: the number of pairs, text to learn a vocabulary from, duplicates, held-out pairs."""

    pairs: int
    sample: list[tuple[str, str]]
    seen_before: NDArray[np.bool_]  # for each pair, in order, whether it is a duplicate
    held_out: list[tuple[Corpus, list[Pair]]]  # pairs to validate on, in any order
    held_back: frozenset[str]  # all their sentences: pairs with one of these on either side are not trained on


def survey(
    corpora: Sequence[Corpus], config: DataConfig, *, hold_out: int, scratch: Path, seed: int, report: Report
) -> Survey:
    """Read all corpora, and a second time if pairs are to be held out. `scratch` is a folder for temporary files."""
    reservoir: Reservoir[tuple[str, str]] = Reservoir(VOCABULARY_PAIRS, seed)
    choices: list[tuple[Corpus, Reservoir[Pair], int]] = []  # candidates to hold out, and how many at most
    total = 0
    report("reading", 0, None)
    with DuplicateFinder(scratch) as finder:
        for corpus in corpora:
            tally = Tally(config.strict)
            # One seed for all, so that a corpus read in both directions holds out the same lines.
            chosen: Reservoir[Pair] = Reservoir(2 * hold_out + 1, seed)
            first = total
            for pair in corpus.pairs():
                reason = reason_in_text(pair, config)
                if reason is not None:
                    tally.leave_out(reason, corpus, pair.line)
                elif pair.source is not None and pair.target is not None:
                    reservoir.offer((pair.source, pair.target))
                    chosen.offer(pair)
                    if config.drop_duplicates:
                        finder.add(total, f"{pair.to}\n{pair.source.strip()}\n{pair.target.strip()}")
                total += 1
                if total % _REPORT_EVERY == 0:
                    report("reading", total, None)
            if tally.total() == total - first:
                raise nothing_left(corpus, tally)
            choices.append((corpus, chosen, min(hold_out, (total - first - tally.total()) // ONE_IN)))
        report("reading", total, total)
        seen_before = finder.find(total)
    shutil.rmtree(scratch)
    held_out = _hold_out(choices, seed) if hold_out else []
    held_back = frozenset(text for _, pairs in held_out for pair in pairs for text in sentences(pair))
    sample = [pair for pair in reservoir.items if not held_back or held_back.isdisjoint(map(tidy, pair))]
    return Survey(total, sample, seen_before, held_out, held_back)


def _hold_out(choices: list[tuple[Corpus, Reservoir[Pair], int]], seed: int) -> list[tuple[Corpus, list[Pair]]]:
    """Some pairs of each corpus, whose sentences occur only once: frequent ones are there to be learnt."""
    wanted = {text for _, chosen, _ in choices for pair in chosen.items for text in sentences(pair)}
    times: Counter[str] = Counter()
    counted: set[tuple[Path, str]] = set()  # count a column once, even if several corpora share it
    for corpus, _, _ in choices:
        new = [side for side, column in enumerate(corpus.columns()) if column not in counted]
        counted.update(corpus.columns())
        if new:
            texts = (sentences(pair)[side] for pair in corpus.pairs() for side in new)
            times.update(text for text in texts if text in wanted)
    held_out = []
    for corpus, chosen, most in choices:
        in_any_order = random.Random(seed).sample(chosen.items, len(chosen.items))
        fit = [pair for pair in in_any_order if all(times[text] == 1 for text in sentences(pair))]
        held_out.append((corpus, fit[:most]))
    return held_out


def sentences(pair: Pair) -> tuple[str, str]:
    """Both sides of a pair with normalised white space, as a vocabulary sees them."""
    return tidy(pair.source or ""), tidy(pair.target or "")
