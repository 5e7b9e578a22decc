"""Many sentences in batches: nothing that was asked for is lost on the way, and no batch is larger than allowed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import begin_all, in_batches, score, score_all, search
from vitrail.decode.likely import likely_next
from vitrail.errors import DecodeError
from vitrail.text.special import BOS, EOS, PAD

VOCABULARY = 9
CONFIGS = [DecodeConfig(beam_size=2, max_extra=4), DecodeConfig(sample=True, max_extra=4)]
sources = st.lists(st.lists(st.integers(4, 8), max_size=6).map(lambda ids: [*ids, EOS]), min_size=1, max_size=6)


class Parrot:
    """A model whose predictions depend on the first id of the source and on the newest id; it writes down its work."""

    vocabulary = VOCABULARY

    def __init__(self) -> None:
        self.table = torch.randn(9, 9, 9, generator=torch.Generator().manual_seed(1)).mul(2).log_softmax(-1)
        self.asked: list[tuple[int, ...]] = []
        self.begun: list[tuple[int, ...]] = []

    class First:
        def __init__(self, first_B: Tensor) -> None:
            self.first_B = first_B

        def reorder(self, parent_BW: Tensor) -> None: ...

        def keep(self, rows: Tensor) -> None:
            self.first_B = self.first_B[rows]

    def start(self, source_BS: Tensor) -> First:
        self.begun.append(tuple(source_BS.shape))
        return self.First(source_BS[:, 0])

    def step(self, ids_BW: Tensor, cache: First) -> Tensor:
        self.asked.append(tuple(ids_BW.shape))
        return self.table[cache.first_B[:, None], ids_BW]

    def log_probs(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        self.asked += [tuple(source_BS.shape), tuple(target_BT.shape)]
        return self.table[source_BS[:, :1], target_BT]


@settings(deadline=None, max_examples=20)
@given(batch=sources, config=st.sampled_from(CONFIGS), data=st.data())
def test_prefixes_and_limits_reach_every_batch(batch, config, data):
    prefixes = [data.draw(st.lists(st.integers(4, 8), max_size=2)) for _ in batch]
    options = {"forbidden": (PAD, 1, 2), "max_positions": 3}
    found = begin_all(Parrot(), batch, config, prefixes=prefixes, batch_tokens=20, **options)()
    alone = [
        search(Parrot(), [source], config, prefixes=[prefix], **options)[0]
        for source, prefix in zip(batch, prefixes, strict=True)
    ]
    assert [[h.row for h in row] for row in found] == [[h.row for h in row] for row in alone]
    assert all(len(hypothesis.row) <= 3 for row in found for hypothesis in row)
    assert all(list(h.row[: len(p)]) == p for row, p in zip(found, prefixes, strict=True) for h in row)


def test_a_prefix_beyond_the_models_positions_is_refused_before_any_work():
    model = Parrot()
    with pytest.raises(DecodeError, match="at most 2"):
        begin_all(model, [[5, EOS]] * 3, CONFIGS[0], prefixes=[[], [5] * 3, []], max_positions=2, batch_tokens=1)()
    assert model.asked == []


def test_any_id_that_is_not_forbidden_may_stand_in_a_prefix():
    for token_id in range(VOCABULARY):
        if token_id != EOS:
            ((best,),) = search(Parrot(), [[5, EOS]], CONFIGS[1], prefixes=[[token_id]])
            assert best.row[0] == token_id


@settings(deadline=None, max_examples=30)
@given(pairs=st.lists(st.tuples(sources.map(lambda rows: rows[0]), sources.map(lambda rows: rows[0])), max_size=8))
def test_pairs_are_scored_as_one_by_one_in_batches_within_the_budget(pairs):
    model, config = Parrot(), DecodeConfig(alpha=0.6)
    given_sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    told = []
    found = score_all(model, given_sources, targets, config, batch_tokens=14, report=lambda *what: told.append(what))
    assert found == [score(Parrot(), [source], [target], config)[0] for source, target in pairs]
    assert all(rows == 1 or rows * width <= 14 for rows, width in model.asked)
    assert [(what, total) for what, _, total in told] == [("score", len(pairs))] * len(told)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    assert not pairs or told[-1] == ("score", len(pairs), len(pairs))


@settings(deadline=None, max_examples=20)
@given(
    lengths=st.lists(st.integers(1, 24), min_size=1, max_size=12),
    beam_size=st.sampled_from([1, 8, 9, 16]),
    batch_tokens=st.sampled_from([16, 50, 130]),
    sample=st.booleans(),
)
def test_batches_are_as_large_as_their_hypotheses_allow(lengths, beam_size, batch_tokens, sample):
    """Up to 8 hypotheses are usual; with more, fewer sentences go together. The shortest sources count as 16."""
    model = Parrot()
    config = DecodeConfig(beam_size=beam_size, top_beams=beam_size if sample else 1, max_extra=0, sample=sample)
    begin_all(model, [[5] * (length - 1) + [EOS] for length in lengths], config, batch_tokens=batch_tokens)()
    firsts = [rows for rows, _ in model.begun]
    left = sorted((max(length, 16) for length in lengths), reverse=True)
    for rows in firsts:
        longest = left[0]
        assert rows == 1 or rows * longest * max(beam_size, 8) <= batch_tokens * 8
        assert rows == len(left) or (rows + 1) * longest * max(beam_size, 8) > batch_tokens * 8 - max(beam_size, 8)
        left = left[rows:]
    assert not left


def test_the_most_probable_next_ids_are_those_of_each_alone_in_batches_within_the_budget():
    model, rows = Parrot(), [[5, 6, 7, EOS], [EOS], [8, EOS], [4, 4, EOS]]
    beginnings, told = [[], [5, 6, 7, 8], [4], [8, 8]], []
    found = likely_next(
        model, rows, beginnings, 3, forbidden=(PAD, 8), batch_tokens=10, report=lambda *what: told.append(what)
    )
    for source, beginning, ones in zip(rows, beginnings, found, strict=True):
        log_probs = Parrot().table[source[0], [BOS, *beginning][-1]].tolist()
        wanted = sorted((n for n in range(VOCABULARY) if n not in (PAD, 8)), key=lambda n: -log_probs[n])[:3]
        assert [(one.token_id, one.log_prob) for one in ones] == [(n, log_probs[n]) for n in wanted]
    assert model.asked == [(2, 4), (2, 5), (2, 3), (2, 3)]
    assert told == [("predict", 2, 4), ("predict", 4, 4)]
    for budget, at_once in ((19, 1), (20, 2)):  # a beginning of nine ids and its <bos> are ten
        model = Parrot()
        likely_next(model, [[EOS]] * 2, [[5] * 9] * 2, 1, batch_tokens=budget)
        assert model.asked == [(at_once, 1), (at_once, 10)] * (2 // at_once)
    for forbidden in ((8,), ()):
        (every,) = likely_next(model, [[EOS]], [[]], 99, forbidden=forbidden)
        assert {one.token_id for one in every} == set(range(VOCABULARY)).difference(forbidden)


def test_a_source_without_a_target_is_our_own_mistake():
    with pytest.raises(ValueError, match="shorter"):
        score_all(Parrot(), [[EOS], [EOS]], [[EOS]], CONFIGS[0])
    with pytest.raises(AssertionError, match="one target"):
        score(Parrot(), [[EOS], [EOS]], [[EOS]], CONFIGS[0])
    with pytest.raises(ValueError, match="shorter"):
        in_batches(lambda chosen: [0], [1, 1], 10, what="work")


def test_a_model_in_training_mode_scores_nothing():
    with pytest.raises(AssertionError, match="eval"):
        score(torch.nn.Dropout(), [[EOS]], [[EOS]], CONFIGS[0])


def test_until_something_is_drawn_a_model_is_asked_once_for_a_sentence():
    model = Parrot()
    search(model, [[5, EOS], [6, EOS]], DecodeConfig(sample=True, top_beams=4, max_extra=2))
    assert model.asked[0] == (2, 1)
    assert {width for _, width in model.asked[1:]} == {4}
