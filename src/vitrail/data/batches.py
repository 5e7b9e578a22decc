"""An endless stream of batches. Each epoch has its own order, and any batch can be found without reading the others.

An epoch's pairs are shuffled (this keeps four bytes per pair in memory), cut into pools, sorted by length within a
pool and packed into batches; then each pool's batches are shuffled. The seed and the epoch determine all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitrail.data.packing import pack
from vitrail.data.shards import Shard
from vitrail.data.subword_dropout import Row, SubwordDropout
from vitrail.errors import DataError
from vitrail.text.special import EOS, PAD

POOL = 1 << 17  # pairs sorted by length together: large enough for little padding, small enough for little memory
_SHOWN_LINES = 5

Numbers = NDArray[np.unsignedinteger]
Rows = NDArray[np.int64]  # padded
Found = tuple[Shard, NDArray[np.int64], NDArray[Any]]  # a shard, the batch rows that come from it, and their records


@dataclass(frozen=True)
class Position:
    """A place between batches: how many epochs are done, and how many batches of the next one."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Part:
    """A share of every batch: each `count`-th row from `index` on. Rows are sorted by length, so shares are even."""

    index: int = 0
    count: int = 1

    def of(self, numbers_B: Numbers) -> Numbers:
        """The rows of a batch that belong to this part; none if there are too few rows for all parts."""
        return numbers_B[self.index :: self.count]


WHOLE = Part()


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of ids, padded on the right, and where they came from."""

    source_BS: NDArray[np.int64]
    target_BT: NDArray[np.int64]
    epoch: int
    index: int  # in its epoch, from 0
    lines: tuple[tuple[str, tuple[int, ...]], ...]  # for each corpus, the lines of its pairs

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return len(self.target_BT)

    @property
    def target_tokens(self) -> int:
        """The number of target tokens, without padding."""
        return int(np.count_nonzero(self.target_BT != PAD))

    def origin(self) -> str:
        """Where the batch came from, for an error message."""
        corpora = []
        for corpus, lines in self.lines:
            more = ", …" if len(lines) > _SHOWN_LINES else ""
            corpora.append(f"{corpus} line {', '.join(map(str, lines[:_SHOWN_LINES]))}{more}")
        return f"epoch {self.epoch}, batch {self.index} ({'; '.join(corpora)})"


class BatchStream:
    """The batches of shards. An epoch uses a shard of weight 2 twice, and a random half of one of weight 0.5."""

    def __init__(
        self,
        shards: Sequence[Shard],
        weights: Sequence[float],
        *,
        batch_tokens: int,
        seed: int,
        subword_dropout: SubwordDropout | None = None,
        part: Part = WHOLE,
    ) -> None:
        assert len(shards) == len(weights) and shards and all(weight > 0 for weight in weights)
        self._shards, self._weights = tuple(shards), tuple(weights)
        self._batch_tokens, self._seed = batch_tokens, seed
        self._subword_dropout = subword_dropout
        self._part = part  # all rows are planned, so that positions agree, but only these are built
        # Pairs are numbered across all shards; these are the numbers at which each shard starts.
        self._starts = np.cumsum([0, *(len(shard) for shard in shards)])

    def from_position(self, position: Position) -> Iterator[tuple[Position, Batch]]:
        """Endlessly, the batches after `position`, each with the position that follows it."""
        epoch, skip = position.epoch, position.batch
        while True:
            for index, last, numbers_B in self._epoch(epoch, skip):
                after = Position(epoch + 1, 0) if last else Position(epoch, index + 1)
                yield after, self._batch(self._part.of(numbers_B), epoch, index)
            epoch, skip = epoch + 1, 0

    def batches_in_epoch(self, epoch: int) -> int:
        """The number of batches in an epoch."""
        order = self._order(epoch)
        return sum(len(self._plan(order, pool, epoch)) for pool in range(_pools(len(order))))

    def _epoch(self, epoch: int, skip: int) -> Iterator[tuple[int, bool, Numbers]]:
        """The batches of an epoch after the first `skip`: index, whether it is the last, pair numbers."""
        order = self._order(epoch)
        index, last_pool = 0, _pools(len(order)) - 1
        for pool in range(last_pool + 1):
            batches = self._plan(order, pool, epoch)
            for at in range(max(0, skip - index), len(batches)):
                yield index + at, pool == last_pool and at == len(batches) - 1, batches[at]
            index += len(batches)
        if skip > index:  # a checkpoint may name any position
            raise DataError(
                f"epoch {epoch} has {index:,} batches and cannot be resumed after {skip:,}",
                where="the position in the data",
                fix="resume from another checkpoint",
            )

    def _order(self, epoch: int) -> Numbers:
        """The pairs of an epoch, shuffled. The fractional part of a weight takes a random share of its shard."""
        random = np.random.default_rng([self._seed, epoch])
        total = int(self._starts[-1])
        kind = np.uint32 if total < 1 << 32 else np.uint64
        parts: list[Numbers] = []
        for shard, weight, start in zip(self._shards, self._weights, self._starts, strict=False):
            own = np.arange(start, start + len(shard), dtype=kind)
            parts += [own] * int(weight)
            some = round(weight % 1 * len(shard))
            if some or weight < 1:  # at least one pair of every shard
                own = own.copy()
                random.shuffle(own)
                parts.append(own[: max(1, some)])
        order = np.concatenate(parts) if len(parts) > 1 else parts[0]
        random.shuffle(order)
        return order

    def _plan(self, order: Numbers, pool: int, epoch: int) -> list[Numbers]:
        """The batches of one pool, in the order they are used."""
        pools = _pools(len(order))
        numbers = order[len(order) * pool // pools : len(order) * (pool + 1) // pools]
        source_N, target_N = self._lengths(numbers, epoch)
        batches = [numbers[rows] for rows in pack(source_N, target_N, self._batch_tokens)]
        shuffled = np.random.default_rng([self._seed, epoch, pool]).permutation(len(batches))
        return [batches[number] for number in shuffled]

    def _lengths(self, numbers: Numbers, epoch: int) -> NDArray[np.int64]:
        """The lengths of both sides of pairs in an epoch. Only subword dropout, which changes them, reads tokens."""
        lengths_2N = np.empty((2, len(numbers)), dtype=np.int64)
        found = self._find(numbers)
        for _, chosen, records in found:
            lengths_2N[:, chosen] = records["source"], records["target"]
        for at, source, target in self._varied(found, epoch):
            lengths_2N[:, at] = len(source), len(target)
        return lengths_2N

    def _batch(self, numbers_B: Numbers, epoch: int, index: int) -> Batch:
        if not len(numbers_B):
            return _nothing(epoch, index)
        found = self._find(numbers_B)
        if self._subword_dropout is None:
            source_BS, target_BT = _plain(found, len(numbers_B))
        else:
            rows = {at: (source, target) for at, source, target in self._varied(found, epoch)}
            source_BS, target_BT = (_rectangle([rows[at][side] for at in range(len(numbers_B))]) for side in (0, 1))
        lines = tuple((shard.corpus, tuple(records["line"].tolist())) for shard, _, records in found)
        return Batch(source_BS, target_BT, epoch, index, lines)

    def _varied(self, found: Sequence[Found], epoch: int) -> Iterator[tuple[int, Row, Row]]:
        """With subword dropout, each pair's place in the batch and its rows, split into this epoch's subwords."""
        if self._subword_dropout is None:
            return
        for shard, chosen, records in found:
            number, tokens, fewest = self._shards.index(shard), np.asarray(shard.tokens), min(shard.vocabulary)
            for at, (start, source, target, line) in zip(chosen.tolist(), records.tolist(), strict=True):
                both = tokens[start : start + source + target]
                if both.max() >= fewest:  # quicker than asking about each side, and mostly enough
                    shard.refuse_strange_ids(both[:source], both[source:])
                both = both.astype(np.int32)
                yield (
                    at,
                    *self._subword_dropout.vary(both[:source], both[source:], epoch=epoch, shard=number, line=line),
                )

    def _find(self, numbers: Numbers) -> list[Found]:
        return [(shard, chosen, shard.records(local)) for shard, chosen, local in self._by_shard(numbers)]

    def _by_shard(self, numbers: Numbers) -> Iterator[tuple[Shard, NDArray[np.int64], NDArray[np.int64]]]:
        """For each shard that holds some of the pairs: their places in `numbers`, and their numbers in the shard."""
        shard_N = np.searchsorted(self._starts, numbers, side="right") - 1
        for number in np.unique(shard_N):
            self._shards[number].check_size()
            chosen = np.flatnonzero(shard_N == number)
            yield self._shards[number], chosen, numbers[chosen].astype(np.int64) - self._starts[number]


def _nothing(epoch: int, index: int) -> Batch:
    """A batch that teaches nothing: an empty sentence whose translation is all padding."""
    return Batch(np.array([[EOS]], dtype=np.int64), np.array([[PAD]], dtype=np.int64), epoch, index, ())


def _pools(pairs: int) -> int:
    return -(-pairs // POOL)


def _plain(found: Sequence[Found], rows: int) -> tuple[Rows, Rows]:
    """The rows of a batch as their shards store them."""
    source_BS = np.full((rows, max(int(records["source"].max()) for _, _, records in found)), PAD, dtype=np.int64)
    target_BT = np.full((rows, max(int(records["target"].max()) for _, _, records in found)), PAD, dtype=np.int64)
    for shard, chosen, records in found:
        start = records["start"].astype(np.int64)
        source_BS[chosen] = _padded(shard.tokens, start, records["source"], source_BS.shape[1])
        target_BT[chosen] = _padded(shard.tokens, start + records["source"], records["target"], target_BT.shape[1])
        shard.refuse_strange_ids(source_BS[chosen], target_BT[chosen])
    return source_BS, target_BT


def _rectangle(rows: Sequence[Row]) -> Rows:
    """Rows of different lengths, padded on the right."""
    padded_BW = np.full((len(rows), max(len(row) for row in rows)), PAD, dtype=np.int64)
    for number, row in enumerate(rows):
        padded_BW[number, : len(row)] = row
    return padded_BW


def _padded(tokens: NDArray[np.uint16], start_B: NDArray[np.int64], length_B: Numbers, width: int) -> NDArray[np.int64]:
    """Rows of `tokens`, each from its start, padded to `width`."""
    column_1W = np.arange(width)[None, :]
    is_token_BW = column_1W < length_B[:, None]
    padded_BW = np.full(is_token_BW.shape, PAD, dtype=np.int64)
    padded_BW[is_token_BW] = tokens[(start_B[:, None] + column_1W)[is_token_BW]]
    return padded_BW
