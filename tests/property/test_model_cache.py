"""Cached steps equal the full pass, however hypotheses move and sentences leave."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import POSITIONS
from vitrail.model import Cache, Transformer

pytestmark = pytest.mark.usefixtures("true_suffixes")

Build = Callable[..., Transformer]
KINDS = list(POSITIONS)


def source_rows(lengths: list[int]) -> Tensor:
    source = torch.randint(4, 31, (len(lengths), max(lengths)))
    return source.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], 0)


def full_pass(model: Transformer, source_BS: Tensor, text_BWT: Tensor) -> Tensor:
    """The prediction after every hypothesis, computed from scratch, each in its own row."""
    rows = source_BS.repeat_interleave(text_BWT.size(1), dim=0)
    return model.log_probs(rows, text_BWT.flatten(0, 1))[:, -1].view(*text_BWT.shape[:2], -1)


class Search:
    """A model extending random hypotheses, together with the ids that its cache should hold."""

    def __init__(self, model: Transformer, source_BS: Tensor, hypotheses: int) -> None:
        self.model, self.source_BS = model, source_BS
        self.text_BWT = torch.full((len(source_BS), hypotheses, 0), 2)
        self.cache: Cache = model.start(source_BS)

    def step(self) -> None:
        newest = torch.randint(4, 31, self.text_BWT.shape[:2])
        self.text_BWT = torch.cat([self.text_BWT, newest[:, :, None]], dim=2)
        cached = self.model.step(newest, self.cache)
        expected = full_pass(self.model, self.source_BS, self.text_BWT)
        torch.testing.assert_close(cached, expected, atol=1e-5, rtol=1e-5)

    def reorder(self, hypotheses: int) -> None:
        parent = torch.randint(0, self.text_BWT.size(1), (len(self.text_BWT), hypotheses))
        self.text_BWT = self.text_BWT.gather(1, parent[:, :, None].expand(-1, -1, self.text_BWT.size(2)))
        self.cache.reorder(parent)

    def keep(self, count: int) -> None:
        rows = torch.randperm(len(self.text_BWT))[:count]
        self.text_BWT, self.source_BS = self.text_BWT[rows], self.source_BS[rows]
        self.cache.keep(rows)


moves = st.one_of(
    st.tuples(st.just("step"), st.just(0)),
    st.tuples(st.just("reorder"), st.integers(1, 4)),
    st.tuples(st.just("keep"), st.integers(1, 3)),
)


@settings(deadline=None, max_examples=30)
@given(
    positions=st.sampled_from(KINDS),
    norm=st.sampled_from(["post", "pre"]),
    kv_heads=st.sampled_from([4, 2, 1]),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    hypotheses=st.integers(1, 3),
    plan=st.lists(moves, max_size=9),
)
def test_a_cached_step_is_the_full_pass_through_any_moves(
    small_model: Build,
    positions: str,
    norm: str,
    kv_heads: int,
    lengths: list[int],
    hypotheses: int,
    plan: list[tuple[str, int]],
) -> None:
    model = small_model(positions=positions, norm=norm, kv_heads=kv_heads)
    search = Search(model, source_rows(lengths), hypotheses)
    search.step()
    for move, number in plan:
        if move == "step":
            search.step()
        elif move == "reorder":
            search.reorder(number)
        else:
            search.keep(min(number, len(search.text_BWT)))
    search.step()
    assert search.cache.length == search.text_BWT.size(2)
    assert (search.cache.sentences, search.cache.hypotheses) == tuple(search.text_BWT.shape[:2])


@pytest.mark.parametrize("positions", KINDS)
def test_a_long_text_outgrows_the_first_buffers(small_model: Build, positions: str) -> None:
    model = small_model(positions=positions, max_positions=80)
    source, target = source_rows([5, 3]), torch.randint(4, 31, (2, 70))
    cache = model.start(source)
    steps = []
    for position in range(70):
        steps.append(model.step(target[:, position : position + 1], cache))
        cache.reorder(torch.zeros(2, 1, dtype=torch.long))
    torch.testing.assert_close(torch.cat(steps, dim=1), model.log_probs(source, target), atol=1e-5, rtol=1e-5)


def test_hypotheses_may_be_reordered_before_the_first_step(small_model: Build) -> None:
    search = Search(small_model(), source_rows([4, 6]), hypotheses=1)
    search.reorder(3)
    search.step()


def test_a_sentences_hypotheses_share_one_memory(small_model: Build) -> None:
    model = small_model(kv_heads=2)
    search = Search(model, source_rows([4, 6]), hypotheses=1)
    search.step()
    before = [layer.memory.k_BGSK.data_ptr() for layer in search.cache.layers]
    search.reorder(4)
    search.step()
    assert [layer.memory.k_BGSK.data_ptr() for layer in search.cache.layers] == before
    assert all(layer.memory.k_BGSK.shape == (2, 2, 6, 10) for layer in search.cache.layers)


@pytest.mark.parametrize("hypotheses", [1, 3])
def test_what_does_not_move_is_not_copied(small_model: Build, hypotheses: int) -> None:
    search = Search(small_model(), source_rows([4, 6]), hypotheses)
    search.step()

    def places() -> list[int]:
        return [layer.past._k_NGSK.data_ptr() for layer in search.cache.layers]

    before = places()
    search.cache.reorder(torch.arange(hypotheses).expand(2, -1))
    search.cache.keep(torch.arange(2))
    assert places() == before
    search.cache.keep(torch.tensor([1, 0]))
    assert places() != before


def test_a_search_starts_with_one_empty_hypothesis_for_each_sentence(small_model: Build) -> None:
    cache = small_model().start(source_rows([4, 6, 2]))
    assert (cache.sentences, cache.hypotheses, cache.length) == (3, 1, 0)


def test_the_past_is_rarely_copied_to_make_room(small_model: Build) -> None:
    model = small_model()
    cache, places = model.start(source_rows([4])), []
    for _ in range(70):
        model.step(torch.tensor([[5]]), cache)
        places.append(cache.layers[0].past._k_NGSK.data_ptr())
    assert sum(one != other for one, other in itertools.pairwise(places)) <= 2


def test_what_a_step_gives_may_be_overwritten(small_model: Build) -> None:
    model = small_model()
    cache = model.start(source_rows([4]))
    log_probs = model.step(torch.tensor([[2]]), cache)
    assert not log_probs.requires_grad
    log_probs[:, :, :4] = -torch.inf
    assert model.step(torch.tensor([[5]]), cache).isfinite().all()
