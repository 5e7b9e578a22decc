"""What a search costs, in counts and shapes: linear in the output, no copies for a beam, memory within a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import begin_all
from vitrail.model import Transformer
from vitrail.runtime.arranged import arranged
from vitrail.text.special import BOS, EOS

Build = Callable[..., Transformer]
BUDGET = 64  # positions in a batch


class Endless:
    """A model that never ends a translation; it writes down what it is asked for."""

    vocabulary = 9

    def __init__(self) -> None:
        self.sources: list[tuple[int, ...]] = []
        self.steps: list[tuple[int, ...]] = []

    class Nothing:
        def reorder(self, parent_BW: Tensor) -> None: ...

        def keep(self, rows: Tensor) -> None: ...

    def start(self, source_BS: Tensor) -> Nothing:
        self.sources.append(tuple(source_BS.shape))
        return self.Nothing()

    def step(self, ids_BW: Tensor, cache: Nothing) -> Tensor:
        self.steps.append(tuple(ids_BW.shape))
        log_probs_BWV = torch.full((*ids_BW.shape, self.vocabulary), -3.0)
        log_probs_BWV[..., EOS] = -torch.inf
        return log_probs_BWV


@settings(max_examples=15)
@example(lengths=[1] * 30, beam_size=4)  # many predictions for few source positions
@example(lengths=[16] * 30, beam_size=20)
@given(lengths=st.lists(st.integers(1, 90), min_size=1, max_size=15), beam_size=st.sampled_from([1, 4, 20]))
def test_memory_is_bounded_by_a_budget_whatever_the_input(lengths: list[int], beam_size: int) -> None:
    model = Endless()
    config = DecodeConfig(beam_size=beam_size, max_extra=0)
    begin_all(model, [[5] * length for length in lengths], config, max_positions=3, batch_tokens=BUDGET)()
    assert sum(rows for rows, _ in model.sources) == len(lengths)
    for rows, longest in model.sources:
        assert rows == 1 or rows * longest <= BUDGET
    # Every hypothesis is as many predictions as the vocabulary has entries: these are bounded too.
    assert all(rows == 1 or rows * hypotheses <= BUDGET // 2 for rows, hypotheses in model.steps)


@pytest.mark.parametrize("max_extra", [10, 20, 40])
def test_a_longer_output_takes_as_many_more_steps_of_the_same_size(max_extra: int) -> None:
    model = Endless()
    begin_all(model, [[5, 6, EOS]] * 2, DecodeConfig(beam_size=3, max_extra=max_extra))()
    assert model.steps == [(2, 1), *[(2, 3)] * (3 + max_extra - 1)]


@pytest.mark.parametrize("plain", [True, False])
def test_a_beam_has_no_copies_of_the_encoders_states(small_model: Build, plain: bool) -> None:
    model = small_model().eval()
    searched: Any = model if plain else arranged(model)
    with torch.inference_mode():
        cache = searched.start(torch.tensor([[5, 6, 7, EOS]] * 3))
        before = _memory(cache)
        for hypotheses in (1, 6, 6):
            searched.step(torch.full((3, cache.hypotheses), BOS), cache)
            cache.reorder(torch.zeros(3, hypotheses, dtype=torch.long))
            searched.step(torch.full((3, hypotheses), BOS), cache)
            assert _memory(cache) == before  # the same numbers at the same place, a row for each sentence


def _memory(cache: Any) -> tuple[int, int]:
    seen = cache.memory(0) if callable(getattr(cache, "memory", None)) else cache.layers[0].memory
    return seen.k_BGSK.data_ptr(), seen.k_BGSK.numel()
