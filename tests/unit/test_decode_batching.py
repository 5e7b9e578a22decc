"""Many sentences in batches: nothing that was asked for is lost on the way, and no batch is larger than allowed."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import begin_all, in_batches, score, score_all, search
from vitrail.errors import DecodeError
from vitrail.text.special import EOS, PAD

VOCABULARY = 9
CONFIGS = [DecodeConfig(beam_size=2, max_extra=4), DecodeConfig(sample=True, max_extra=4)]
sources = st.lists(st.lists(st.integers(4, 8), max_size=6).map(lambda ids: [*ids, EOS]), min_size=1, max_size=6)


class Parrot:
    """A model whose predictions depend on the first id of the source and on the newest id; it writes down its work."""

    vocabulary = VOCABULARY

    def __init__(self) -> None:
        self.table = torch.randn(9, 9, 9, generator=torch.Generator().manual_seed(1)).mul(2).log_softmax(-1)
        self.asked: list[tuple[int, ...]] = []

    class First:
        def __init__(self, first_B: Tensor) -> None:
            self.first_B = first_B

        def reorder(self, parent_BW: Tensor) -> None: ...

        def keep(self, rows: Tensor) -> None:
            self.first_B = self.first_B[rows]

    def start(self, source_BS: Tensor) -> First:
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
