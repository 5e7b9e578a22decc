"""Every pair once per epoch, within the budget, and the same batches again from any position."""

import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vitrail.data.batches
from vitrail.data import BatchStream, Part, Position, Shard
from vitrail.data.packing import pack
from vitrail.data.shards import ShardWriter
from vitrail.errors import DataError
from vitrail.text import EOS, PAD

FIRST_ID = 10


@pytest.fixture(autouse=True)
def small_pools(monkeypatch):
    monkeypatch.setattr(vitrail.data.batches, "POOL", 16)


def shard(folder, name, lengths):
    """A shard with distinguishable pairs: the first id of both rows is the pair's number."""
    with ShardWriter(folder, name, 1000) as writer:
        sources, targets = zip(*(expected(lengths, number) for number in range(len(lengths))), strict=True)
        writer.write(sources, targets, range(1, len(lengths) + 1))
    return Shard(folder, name, f"{name}.tsv", len(lengths), writer.dtype, (1000, 1000))


lengths = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=60)
corpora = st.lists(lengths, min_size=1, max_size=3)
weights = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0])


def streams(folder, corpora, weights, **settings):
    shards = [shard(Path(folder), f"s{number}", lengths) for number, lengths in enumerate(corpora)]
    return BatchStream(shards, weights[: len(shards)], **{"batch_tokens": 40, "seed": 1, **settings})


def epoch_of(stream, epoch):
    batches = islice(stream.from_position(Position(epoch, 0)), stream.batches_in_epoch(epoch))
    return [batch for _, batch in batches]


def seen(batches):
    return Counter((name, line) for batch in batches for name, lines in batch.lines for line in lines)


def rows(batch):
    return [(s[s != PAD].tolist(), t[t != PAD].tolist()) for s, t in zip(batch.source_BS, batch.target_BT, strict=True)]


def expected(lengths, number):
    return tuple([FIRST_ID + number] * length + [EOS] for length in lengths[number])


def same(one, other):
    return np.array_equal(one.source_BS, other.source_BS) and np.array_equal(one.target_BT, other.target_BT)


@settings(deadline=None, max_examples=30)
@given(corpora=corpora, weights=st.lists(weights, min_size=3, max_size=3), epoch=st.integers(0, 3))
def test_each_pair_is_seen_as_often_as_its_weight_says(corpora, weights, epoch):
    with tempfile.TemporaryDirectory() as folder:
        counts = seen(epoch_of(streams(folder, corpora, weights), epoch))
        for number, (lengths, weight) in enumerate(zip(corpora, weights, strict=False)):
            times = [counts[f"s{number}.tsv", line] for line in range(1, len(lengths) + 1)]
            assert all(int(weight) <= time <= -int(-weight // 1) for time in times)
            assert sum(times) == max(1, int(weight) * len(lengths) + round(weight % 1 * len(lengths)))


@settings(deadline=None, max_examples=30)
@given(corpora=corpora, weights=st.lists(weights, min_size=3, max_size=3))
def test_batches_hold_the_rows_of_their_lines_and_keep_to_the_budget(corpora, weights):
    with tempfile.TemporaryDirectory() as folder:
        for batch in epoch_of(streams(folder, corpora, weights), 0):
            wanted = []
            for name, lines in batch.lines:
                wanted += [expected(corpora[int(name[1])], line - 1) for line in lines]
            assert sorted(rows(batch)) == sorted(wanted)
            assert batch.pairs == 1 or max(batch.source_BS.size, batch.target_BT.size) <= 40
            assert batch.target_tokens == sum(len(target) for _, target in wanted)
            assert batch.source_BS.dtype == batch.target_BT.dtype == np.int64
            assert (batch.source_BS != PAD).any(axis=0).all() and (batch.target_BT != PAD).any(axis=0).all()


@settings(deadline=None, max_examples=30)
@given(corpora=corpora, weights=st.lists(weights, min_size=3, max_size=3), data=st.data())
def test_a_stream_goes_on_from_any_position(corpora, weights, data):
    with tempfile.TemporaryDirectory() as folder:
        stream = streams(folder, corpora, weights)
        whole = list(islice(stream.from_position(Position()), 2 * stream.batches_in_epoch(0) + 3))
        at = data.draw(st.integers(0, len(whole) - 1))
        resumed = streams(folder, corpora, weights).from_position(whole[at][0])
        for (position, batch), (wanted_position, wanted) in zip(resumed, whole[at + 1 :], strict=False):
            assert position == wanted_position
            assert (batch.epoch, batch.index) == (wanted.epoch, wanted.index)
            assert same(batch, wanted)


@settings(deadline=None, max_examples=30)
@given(corpora=corpora, weights=st.tuples(weights, weights, weights), count=st.integers(1, 5))
def test_parts_of_a_batch_are_even_and_together_the_batch(corpora, weights, count):
    with tempfile.TemporaryDirectory() as folder:
        whole = streams(folder, corpora, weights)
        parts = [streams(folder, corpora, weights, part=Part(index, count)) for index in range(count)]
        taken = [islice(stream.from_position(Position()), 12) for stream in (whole, *parts)]
        for (after, batch), *others in zip(*taken, strict=True):
            assert {position for position, _ in others} == {after}
            found = [rows(part) if part.target_tokens else [] for _, part in others]
            assert sorted(row for part in found for row in part) == sorted(rows(batch))
            assert max(map(len, found)) - min(map(len, found)) <= 1
            assert sum(part.target_tokens for _, part in others) == batch.target_tokens
            assert all(part.pairs for _, part in others), "a part without rows still has something to go through"


@settings(deadline=None, max_examples=10)
@given(corpora=corpora)
def test_positions_count_batches_and_epochs(corpora):
    with tempfile.TemporaryDirectory() as folder:
        stream = streams(folder, corpora, [1.0] * 3)
        count = stream.batches_in_epoch(0)
        positions = [position for position, _ in islice(stream.from_position(Position()), count)]
        assert positions == [Position(0, n) for n in range(1, count)] + [Position(1, 0)]


def test_an_epoch_of_many_pools_is_counted_through_and_found_again(tmp_path):
    corpus = [[(n % 9 + 1, (n * 7) % 9 + 1) for n in range(100)]]  # seven pools
    stream = streams(tmp_path, corpus, [1.0])
    count = stream.batches_in_epoch(0)
    whole = list(islice(stream.from_position(Position()), count + 1))
    assert [batch.index for _, batch in whole] == [*range(count), 0]
    assert [batch.epoch for _, batch in whole] == [0] * count + [1]
    for at in range(count):
        after, batch = next(streams(tmp_path, corpus, [1.0]).from_position(Position(0, at)))
        assert after == whole[at][0] and same(batch, whole[at][1])


def test_the_end_of_an_epoch_is_the_beginning_of_the_next(tmp_path):
    stream = streams(tmp_path, [[(3, 3)] * 40], [1.0])
    count = stream.batches_in_epoch(0)
    for (after, batch), (wanted, other) in islice(
        zip(stream.from_position(Position(0, count)), stream.from_position(Position(1, 0)), strict=True), 3
    ):
        assert after == wanted and same(batch, other)
    with pytest.raises(DataError, match="cannot be resumed"):
        next(stream.from_position(Position(0, count + 1)))


def test_a_part_without_rows_is_an_empty_sentence_at_the_same_place(tmp_path):
    empty = streams(tmp_path, [[(3, 3)] * 3], [1.0], part=Part(1, 2), batch_tokens=1).from_position(Position(2, 1))
    _, batch = next(empty)
    assert (batch.epoch, batch.index, batch.lines) == (2, 1, ())
    assert batch.source_BS.tolist() == [[EOS]] and batch.target_BT.tolist() == [[PAD]]


def test_the_order_of_an_epoch_takes_four_bytes_for_each_pair(tmp_path):
    for weights in ([1.0], [2.0], [0.5]):
        assert streams(tmp_path, [[(3, 3)] * 40], weights)._order(0).itemsize == 4


def test_every_shard_has_a_weight_and_none_is_nothing(tmp_path):
    shards = [shard(tmp_path, "s0", [(3, 3)])]
    for wrong in ([shards, [1.0, 1.0]], [[], []], [shards, [0.0]], [shards, [-1.0]]):
        with pytest.raises(AssertionError):
            BatchStream(*wrong, batch_tokens=40, seed=1)


def test_order_follows_from_seed_and_epoch_alone(tmp_path):
    corpus = [[(n % 9 + 1, (n * 7) % 9 + 1) for n in range(80)]]
    one = epoch_of(streams(tmp_path, corpus, [1.0]), 0)
    again = epoch_of(streams(tmp_path, corpus, [1.0]), 0)
    assert all(same(a, b) for a, b in zip(one, again, strict=True))
    lines = [batch.lines for batch in one]
    assert lines != [batch.lines for batch in epoch_of(streams(tmp_path, corpus, [1.0]), 1)]
    assert lines != [batch.lines for batch in epoch_of(streams(tmp_path, corpus, [1.0], seed=2), 0)]


def test_a_fraction_is_another_part_each_epoch(tmp_path):
    stream = streams(tmp_path, [[(3, 3)] * 60], [0.5])
    parts = {frozenset(seen(epoch_of(stream, epoch))) for epoch in range(5)}
    assert len(parts) == 5 and {len(part) for part in parts} == {30}


def test_a_pair_longer_than_the_budget_is_a_batch_of_its_own(tmp_path):
    batches = epoch_of(streams(tmp_path, [[(2, 2), (90, 3), (2, 2), (3, 90)]], [1.0]), 0)
    assert sorted(batch.pairs for batch in batches) == [1, 1, 2]


def test_a_batch_says_where_it_came_from(tmp_path):
    (batch,) = epoch_of(streams(tmp_path, [[(1, 1)] * 8], [1.0]), 0)
    assert batch.origin().startswith("epoch 0, batch 0 (s0.tsv line ") and "…" in batch.origin()


@pytest.mark.parametrize("count", [1, 4, 5, 6])
def test_the_first_five_lines_of_every_corpus_are_named(tmp_path, count):
    (batch,) = epoch_of(streams(tmp_path, [[(1, 1)] * count, [(1, 1)] * 2], [1.0, 1.0], batch_tokens=100), 0)
    parts = []
    for name, lines in batch.lines:
        named = [str(line) for line in lines[:5]] + ["…"] * (len(lines) > 5)
        parts.append(f"{name} line " + ", ".join(named))
    assert len(parts) == 2
    assert batch.origin() == "epoch 0, batch 0 (" + parts[0] + "; " + parts[1] + ")"


@settings(deadline=None, max_examples=100)
@given(lengths=lengths, budget=st.integers(1, 60))
def test_packing_loses_nothing_and_no_batch_could_take_the_next_pair(lengths, budget):
    source_N, target_N = (np.array(side, dtype=np.int64) for side in zip(*lengths, strict=True))
    batches = pack(source_N, target_N, budget)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch, following in zip(batches, [*batches[1:], []], strict=True):
        longest = max(source_N[batch].max(), target_N[batch].max())
        assert len(batch) == 1 or len(batch) * longest <= budget
        if len(following):
            with_next = np.append(batch, following[0])
            assert len(with_next) * max(source_N[with_next].max(), target_N[with_next].max()) > budget
