"""Sampling: the right frequencies, and random numbers that depend on the sentence alone."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate
from math import exp, inf

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import search
from vitrail.decode.request import Request
from vitrail.decode.sampling import _luck, distribution, pick, seed_of
from vitrail.errors import DecodeError
from vitrail.text.special import BOS, EOS

FORBIDDEN = (0, 1, 2)


class Nothing:
    """The cache of a model without memory."""

    def reorder(self, parent_BW: Tensor) -> None: ...

    def keep(self, rows: Tensor) -> None: ...


class Chain:
    """A model that depends only on the newest id."""

    vocabulary = 9

    def __init__(self, seed: int) -> None:
        logits_VV = torch.randn(9, 9, generator=torch.Generator().manual_seed(seed))
        self.table_VV = (logits_VV * 1.5).log_softmax(-1)

    def start(self, source_BS: Tensor) -> Nothing:
        return Nothing()

    def step(self, ids_BW: Tensor, cache: Nothing) -> Tensor:
        return self.table_VV[ids_BW]


def plain_distribution(log_probs: list[float], temperature: float, top_k: int, top_p: float) -> dict[int, float]:
    """The ids that may be drawn and their probabilities, computed one id at a time."""
    weights = {i: exp(value / temperature) for i, value in enumerate(log_probs) if i not in FORBIDDEN}
    best = sorted(weights, key=lambda i: (-weights[i], i))[: top_k or None]
    total = sum(weights[i] for i in best)
    kept, reached = [], 0.0
    for i in best:
        if reached >= top_p:
            break
        kept.append(i)
        reached += weights[i] / total
    return {i: weights[i] / sum(weights[j] for j in kept) for i in kept}


bends = [(1.0, 0, 1.0), (0.7, 0, 1.0), (1.6, 4, 1.0), (1.0, 0, 0.8), (1.3, 5, 0.7)]


@pytest.mark.parametrize(("temperature", "top_k", "top_p"), bends)
def test_frequencies_approach_the_distribution(temperature, top_k, top_p):
    draws, model = 6000, Chain(seed=3)
    config = DecodeConfig(sample=True, temperature=temperature, top_k=top_k, top_p=top_p, top_beams=1000, max_extra=1)
    found = []
    for seed in range(draws // 1000):
        found += search(model, [[EOS]], config.model_copy(update={"seed": seed}), forbidden=FORBIDDEN)[0]
    firsts = Counter(hypothesis.row[0] for hypothesis in found)
    expected = plain_distribution(model.table_VV[BOS].tolist(), temperature, top_k, top_p)
    assert set(firsts) <= set(expected)
    chi_square = sum((firsts[i] - draws * share) ** 2 / (draws * share) for i, share in expected.items())
    assert chi_square < 20.5  # 1 in 1,000 by chance with 5 degrees of freedom, the most there are here

    # And so do those of the second id, after the most frequent first one.
    (first, count) = next((i, n) for i, n in firsts.most_common() if i != EOS)
    seconds = Counter(hypothesis.row[1] for hypothesis in found if hypothesis.row[0] == first)
    expected = plain_distribution(model.table_VV[first].tolist(), temperature, top_k, top_p)
    chi_square = sum((seconds[i] - count * share) ** 2 / (count * share) for i, share in expected.items())
    assert set(seconds) <= set(expected)
    assert chi_square < 20.5


@settings(deadline=None, max_examples=100)
@given(
    values=st.lists(st.integers(-12, 0), min_size=2, max_size=9),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
    top_k=st.integers(0, 10),
    top_p=st.floats(0.05, 1.0),
)
def test_the_distribution_is_the_one_written_plainly(values, temperature, top_k, top_p):
    log_probs = [*[-inf] * len(FORBIDDEN), *(value / 2 for value in values)]
    chances = distribution(torch.tensor(log_probs), temperature=temperature, top_k=top_k, top_p=top_p)
    plain = plain_distribution(log_probs, temperature, top_k, top_p)
    assert chances.dtype == torch.float64
    assert chances.sum().item() == pytest.approx(1)
    shares = sorted(plain_distribution(log_probs, temperature, top_k, top_p=1.0).values(), reverse=True)
    if all(abs(reached - top_p) > 1e-9 for reached in list(accumulate(shares))[:-1]):  # not at the very edge of top_p
        assert {i: p for i, p in enumerate(chances.tolist()) if p} == pytest.approx(plain)


def test_one_sentence_that_nothing_can_follow_is_enough_to_refuse():
    log_probs = torch.tensor([[-1.0, -2.0], [-inf, -inf]])
    with pytest.raises(DecodeError, match="any probability"):
        distribution(log_probs, temperature=1.0, top_k=0, top_p=1.0)


def test_what_top_p_reaches_exactly_is_enough():
    chances = distribution(torch.zeros(4), temperature=1.0, top_k=0, top_p=0.5)
    assert chances.tolist() == [0.5, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("count", [20, 3000])
def test_of_equal_chances_the_lower_ids_are_kept(count):
    chances = distribution(torch.full((2, count), -3.0), temperature=1.0, top_k=4, top_p=1.0)
    assert chances[:, :4].tolist() == [[0.25] * 4] * 2 and not chances[:, 4:].any()


def test_all_luck_is_drawn_from_the_seed_of_its_sentence_and_draw_in_full_precision():
    sources = ((5, EOS), (6, 6, EOS))
    limits = {"vocabulary": 9, "forbidden": (), "prefixes": None, "max_extra": 4, "max_positions": None}
    luck_BWT = _luck(Request.check(sources, **limits), DecodeConfig(sample=True, seed=7, top_beams=3))
    assert luck_BWT.shape == (2, 3, 7)
    for row, source in zip(luck_BWT.tolist(), sources, strict=True):
        for draw, numbers in enumerate(row):
            own = random.Random(seed_of(7, source, draw))
            assert numbers == [own.random() for _ in numbers]


def test_seeds_of_different_draws_differ():
    asked = [(seed, source, draw) for seed in (1, 11) for source in ((1, 1), (11,), (1,), ()) for draw in (0, 1, 11)]
    assert len({seed_of(*what) for what in asked}) == len(asked)


@settings(deadline=None, max_examples=50)
@given(weights=st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=1, max_size=8).filter(any))
def test_a_pick_never_falls_on_what_has_no_share(weights):
    chances_V = torch.tensor(weights, dtype=torch.float64) / sum(weights)
    luck = torch.tensor([[0.0, 0.25, 0.5, 1 - 2**-53]], dtype=torch.float64)
    ids = pick(chances_V.expand(1, luck.size(1), -1).contiguous(), luck)
    assert (chances_V[ids] > 0).all()
    assert ids.tolist()[0] == sorted(ids.tolist()[0])


@settings(deadline=None, max_examples=30)
@given(
    batch=st.lists(st.lists(st.integers(4, 8), max_size=3).map(lambda ids: [*ids, EOS]), min_size=1, max_size=5),
    seed=st.integers(0, 1000),
    draws=st.integers(1, 3),
)
def test_luck_belongs_to_the_sentence_and_the_number_of_the_draw(batch, seed, draws):
    model = Chain(seed=1)
    config = DecodeConfig(sample=True, seed=seed, top_beams=draws)
    together = search(model, batch, config, forbidden=FORBIDDEN)
    more = config.model_copy(update={"top_beams": draws + 2})
    for source, hypotheses in zip(batch, together, strict=True):
        assert search(model, [source], more, forbidden=FORBIDDEN)[0][:draws] == hypotheses


def test_draws_differ_by_seed_sentence_and_number():
    model = Chain(seed=1)

    def draw(source: list[int], seed: int) -> list[tuple[int, ...]]:
        config = DecodeConfig(sample=True, seed=seed, top_beams=40)
        return [hypothesis.row for hypothesis in search(model, [source], config, forbidden=FORBIDDEN)[0]]

    base = draw([5, EOS], seed=1)
    assert len(set(base)) > 10
    assert draw([5, EOS], seed=1) == base
    assert draw([5, EOS], seed=2) != base
    assert draw([6, EOS], seed=1) != base


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_scores_are_the_models_own_whatever_the_temperature(temperature):
    model = Chain(seed=2)
    config = DecodeConfig(sample=True, temperature=temperature, top_k=3, top_beams=20, alpha=0.0)
    (found,) = search(model, [[EOS]], config, forbidden=FORBIDDEN)
    for hypothesis in found:
        steps = zip((BOS, *hypothesis.row), hypothesis.row, strict=False)
        own = [model.table_VV[before, after].item() for before, after in steps]
        assert hypothesis.log_probs == pytest.approx(own)
        assert hypothesis.score == pytest.approx(sum(own))
