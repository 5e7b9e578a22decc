"""Which target ids translate which source ids: IBM model 1, learnt from the pairs of shards.

Brown et al., "The Mathematics of Statistical Machine Translation", Computational Linguistics 19(2), 1993, section 4.1.
The `<eos>` of a source row and its language symbol are words like any other. They take the place of the empty word:
they explain what no other word does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitrail.data.shards import Shard

MOST = 50_000_000  # co-occurrences to learn from: they bound the time (under a minute) and the memory (under 1 GB)
ITERATIONS = 4
_BLOCK = 2_000_000  # co-occurrences to expand at a time

Ids = NDArray[np.int64]
Report = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Lexicon:
    """The probability of a target id, given a source id beside which it occurs. Sorted by source, then by target."""

    source: Ids
    target: Ids
    chance: NDArray[np.float32]

    def best(self, most: Ids, least: NDArray[np.float64]) -> tuple[Ids, Ids]:
        """The most probable target ids of each source id: two columns, source ids and target ids.

        Source id s gets `most[s]` of them at most, each with a chance of at least `least[s]`.
        """
        order = np.lexsort((self.target, -self.chance, self.source))
        source, target, chance = self.source[order], self.target[order], self.chance[order]
        begins = _begins(source)
        rank = np.arange(len(source)) - _stretch(begins, begins, len(source))
        chosen = (rank < most[source]) & (chance >= least[source])
        return source[chosen], target[chosen]


def learn(shards: Sequence[Shard], *, iterations: int = ITERATIONS, report: Report | None = None) -> Lexicon:
    """The lexicon that makes the targets most probable given the sources, by expectation maximisation.

    A corpus with more than `MOST` co-occurrences is sampled evenly.
    """
    say = report or (lambda _what, _done, _total: None)
    vocabulary = shards[0].vocabulary[1]
    held: list[tuple[Ids, NDArray[np.int32], Ids]] = []
    for rows in _blocks(shards):
        source, target, begins = rows.co_occurrences()
        found, places = np.unique(source * vocabulary + target, return_inverse=True)
        held.append((found, places.astype(np.int32), begins))
        say("counting", len(held), None)
    keys = np.sort(np.concatenate([found for found, _, _ in held]))
    keys = keys[_begins(keys)]
    # Each co-occurrence as a place among the keys: looking these up once takes longer than all iterations.
    blocks = [(np.searchsorted(keys, found).astype(np.int32)[places], begins) for found, places, begins in held]
    del held
    source = keys // vocabulary
    per_source = _begins(source)
    chance = np.ones(len(keys), dtype=np.float32)
    for iteration in range(1, iterations + 1):
        expected = np.zeros(len(keys))
        for places, begins in blocks:
            weights = chance[places]
            weights /= _stretch(np.add.reduceat(weights, begins), begins, len(weights))
            expected += np.bincount(places, weights, minlength=len(keys))
        totals = _stretch(np.add.reduceat(expected, per_source), per_source, len(keys))
        chance = (expected / totals).astype(np.float32)
        say("aligning", iteration, iterations)
    return Lexicon(source, keys % vocabulary, chance)


@dataclass(frozen=True)
class _Rows:
    """Source and target rows of several pairs, one after the other, with the length of each."""

    source: Ids
    source_lengths: Ids
    target: Ids
    target_lengths: Ids

    def co_occurrences(self) -> tuple[Ids, Ids, Ids]:
        """Each target id beside every source id of its pair: two columns, and where each target id begins in them."""
        beside = np.repeat(self.source_lengths, self.target_lengths)  # how many source ids each target id is beside
        begins = np.cumsum(beside) - beside
        first = np.repeat(np.cumsum(self.source_lengths) - self.source_lengths, self.target_lengths)
        return self.source[_ranges(first, beside)], np.repeat(self.target, beside), begins


def _blocks(shards: Sequence[Shard]) -> Iterator[_Rows]:
    """The pairs, or an even sample of them, a block at a time."""
    total = sum(int(_sizes(records).sum()) for shard in shards for records in shard.blocks())
    every = -(-total // MOST)
    for shard in shards:
        for records in shard.blocks():
            sampled = records[::every]
            sizes = _sizes(sampled)
            sampled, sizes = sampled[sizes <= _BLOCK], sizes[sizes <= _BLOCK]  # no sentence is that long
            for chosen in np.split(sampled, np.flatnonzero(np.diff(np.cumsum(sizes) // _BLOCK)) + 1):
                if len(chosen):
                    yield _rows(shard, chosen)


def _rows(shard: Shard, records: NDArray[Any]) -> _Rows:
    starts, sources, targets = (records[name].astype(np.int64) for name in ("start", "source", "target"))
    source = shard.tokens[_ranges(starts, sources)].astype(np.int64)
    target = shard.tokens[_ranges(starts + sources, targets)].astype(np.int64)
    shard.refuse_strange_ids(source, target)
    return _Rows(source, sources, target, targets)


def _sizes(records: NDArray[Any]) -> Ids:
    """The number of co-occurrences in each pair."""
    sizes: Ids = records["source"].astype(np.int64) * records["target"].astype(np.int64)
    return sizes


def _ranges(starts: Ids, lengths: Ids) -> Ids:
    """The numbers from each start on, as many as its length says."""
    ends = np.cumsum(lengths)
    found: Ids = np.arange(int(ends[-1])) + np.repeat(starts - (ends - lengths), lengths)
    return found


def _begins(values: Ids) -> Ids:
    """Where a new value begins in a sorted array."""
    return np.flatnonzero(np.r_[True, values[1:] != values[:-1]])


def _stretch(values: NDArray[Any], begins: Ids, size: int) -> NDArray[Any]:
    """Repeat each value from its beginning to the next one's, or to the end."""
    return np.repeat(values, np.diff(np.r_[begins, size]))
