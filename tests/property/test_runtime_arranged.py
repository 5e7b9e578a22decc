"""The arranged model computes what the plain one computes, for every option, however hypotheses and sentences move."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from vitrail.config import POSITIONS, DecodeConfig
from vitrail.decode import begin_all, search
from vitrail.decode.beam import remaining
from vitrail.decode.top import best_of
from vitrail.decode.workers import Workers
from vitrail.errors import DecodeError
from vitrail.model import Transformer, without_heads
from vitrail.model.feed_forward import ACTIVATIONS
from vitrail.runtime import linear
from vitrail.runtime.arranged import Arranged, arranged
from vitrail.runtime.linear import Linear
from vitrail.text.special import EOS

pytestmark = pytest.mark.usefixtures("true_suffixes")

Build = Callable[..., Transformer]

IN_ORDER = ["alibi", "relative"]  # kinds whose attention needs its keys in order of position
OPTIONS: list[dict[str, Any]] = [
    *({"positions": name} for name in POSITIONS if name not in IN_ORDER),
    *({"activation": name} for name in ACTIVATIONS),
    {"norm": "pre"},
    {"kv_heads": 2},
    {"kv_heads": 1, "norm": "pre", "positions": "rope"},
    {"d_k": 6, "heads": 3, "kv_heads": 3},
    {"bias": False},
    {"output_bias": True, "embedding_scale": False},
    {"tie_embeddings": "target"},
    {"tie_embeddings": "none", "output_bias": True, "vocabulary": (29, 31)},
    {"encoder_layers": 1, "decoder_layers": 3},
]
CONFIGS = [
    DecodeConfig(beam_size=1, max_extra=6),
    DecodeConfig(beam_size=3, top_beams=3, max_extra=6),
    DecodeConfig(sample=True, top_beams=2, top_k=5, max_extra=6),
]
FORBIDDEN = (0, 1, 2)
rows = st.lists(st.integers(4, 28), max_size=7).map(lambda ids: [*ids, EOS])


@pytest.fixture(params=["oneDNN", "MKL"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let either library multiply, however small the matrices are."""
    monkeypatch.setattr(linear, "_SMALL", 0 if request.param == "oneDNN" else 1 << 60)


def source_rows(lengths: list[int]) -> Tensor:
    source_BS = torch.randint(4, 29, (len(lengths), max(lengths)))
    return source_BS.masked_fill(torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None], 0)


class Both:
    """The plain model and the arranged one, which go through the same moves."""

    def __init__(self, model: Transformer, lengths: list[int]) -> None:
        torch.manual_seed(3)
        self.models = (model, arranged(model))
        source_BS = source_rows(lengths)
        self.caches = [one.start(source_BS) for one in self.models]
        self.shape = (len(lengths), 1)

    def step(self, hypotheses: int | None = None) -> None:
        self.shape = (self.shape[0], hypotheses or self.shape[1])
        ids_BW = torch.randint(4, 29, self.shape)
        wanted, found = (one.step(ids_BW, cache) for one, cache in zip(self.models, self.caches, strict=True))
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)

    def reorder(self, hypotheses: int) -> None:
        parent_BW = torch.randint(0, self.shape[1], (self.shape[0], hypotheses))
        for cache in self.caches:
            cache.reorder(parent_BW)
        self.shape = (self.shape[0], hypotheses)

    def keep(self, count: int) -> None:
        rows = torch.randperm(self.shape[0])[:count]
        for cache in self.caches:
            cache.keep(rows)
        self.shape = (rows.size(0), self.shape[1])


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_is_served(small_model: Build, options: dict[str, Any]) -> None:
    both = Both(small_model(**options), [5, 1, 7])
    assert isinstance(both.models[1], Arranged)
    both.step()
    both.reorder(3)
    both.step()
    both.reorder(3)
    both.keep(2)
    both.step()
    both.step()


@pytest.mark.parametrize("positions", IN_ORDER)
def test_a_model_that_needs_its_keys_in_order_is_left_as_it_is(small_model: Build, positions: str) -> None:
    model = small_model(positions=positions)
    assert arranged(model) is model
    off = without_heads(model, {"decoder.0.self_attention": [1]})
    assert arranged(off) is off


moves = st.one_of(
    st.tuples(st.just("step"), st.just(0)),
    st.tuples(st.just("reorder"), st.integers(1, 4)),
    st.tuples(st.just("keep"), st.integers(1, 3)),
)


@settings(deadline=None, max_examples=25)
@given(
    positions=st.sampled_from(["sinusoidal", "rope"]),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    hypotheses=st.integers(1, 3),
    plan=st.lists(moves, max_size=9),
)
def test_cached_steps_are_the_models_through_any_moves(
    small_model: Build, positions: str, lengths: list[int], hypotheses: int, plan: list[tuple[str, int]]
) -> None:
    both = Both(small_model(positions=positions), lengths)
    both.step(hypotheses)
    for move, number in plan:
        getattr(both, move)(*[number] if number else [])
    both.step()


@pytest.mark.parametrize("hypotheses", [1, 3])
def test_slots_that_nobody_sees_are_dropped(small_model: Build, hypotheses: int) -> None:
    both = Both(small_model(), [4, 6])
    for _ in range(45):
        both.step()
        both.reorder(hypotheses)
    both.step()
    seen = 46 if hypotheses == 1 else 46 + 17 * hypotheses  # those of the last steps may still be there
    assert both.caches[1].slots.count <= seen


def test_what_stays_in_its_place_is_not_copied(small_model: Build) -> None:
    both = Both(small_model(), [4, 6, 3])
    both.step()
    cache = both.caches[1]
    before = [kv.data_ptr() for kv in cache.slots._kv], cache.memory(0).k_BGSK.data_ptr()
    cache.keep(torch.tensor([0, 2]))
    assert before == ([kv.data_ptr() for kv in cache.slots._kv], cache.memory(0).k_BGSK.data_ptr())


def peaked(model: Transformer) -> Transformer:
    """In float64, with predictions so different that there are no ties."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    return model.double()


@settings(deadline=None, max_examples=15)
@given(
    options=st.sampled_from(OPTIONS),
    seed=st.integers(0, 3),
    batch=st.lists(st.tuples(rows, st.lists(st.integers(4, 28), max_size=2)), min_size=1, max_size=5),
    config=st.sampled_from(CONFIGS),
    batch_tokens=st.integers(16, 90),
)
def test_searches_find_the_same(
    small_model: Build, options: dict[str, Any], seed: int, batch: list[Any], config: DecodeConfig, batch_tokens: int
) -> None:
    model = peaked(small_model(seed=seed, **options))
    sources, prefixes = [source for source, _ in batch], [prefix for _, prefix in batch]
    rest = {"forbidden": FORBIDDEN, "prefixes": prefixes, "max_positions": model.max_positions}
    found = begin_all(arranged(model), sources, config, batch_tokens=batch_tokens, **rest)()
    wanted = search(model, sources, config, **rest)
    assert [[h.row for h in row] for row in found] == [[h.row for h in row] for row in wanted]
    for row, other_row in zip(found, wanted, strict=True):
        for hypothesis, other in zip(row, other_row, strict=True):
            assert hypothesis.log_probs == pytest.approx(other.log_probs, abs=1e-5)


def test_heads_that_are_off_are_off(small_model: Build) -> None:
    model = small_model()
    off = without_heads(
        model, {"encoder.1.self_attention": [0], "decoder.0.self_attention": [1, 2], "decoder.1.cross_attention": [3]}
    )
    both = Both(off, [5, 3])
    assert isinstance(both.models[1], Arranged)
    both.step()
    both.reorder(2)
    both.step()
    parts = [one.step(torch.full((2, 1), 5), one.start(source_rows([4, 4]).fill_(7))) for one in (off, arranged(model))]
    assert not torch.allclose(*parts, atol=1e-3), "the heads make no difference"


@pytest.mark.parametrize("config", CONFIGS, ids=["greedy", "beam", "sample"])
def test_workers_change_nothing(small_model: Build, config: DecodeConfig) -> None:
    model = arranged(peaked(small_model()))
    sources = [[4 + (7 * number) % 25] * (5 * number % 27) + [EOS] for number in range(23)]
    alone = [search(model, [source], config, forbidden=FORBIDDEN)[0] for source in sources]
    told = list[Any]()
    with Workers(3) as workers:
        options = {"forbidden": FORBIDDEN, "batch_tokens": 64, "workers": workers}
        found = begin_all(model, sources, config, report=lambda *what: told.append(what), **options)()
        with pytest.raises(DecodeError, match="any probability"):
            begin_all(Nothing(), sources, config, workers=workers)()
    assert [[h.row for h in row] for row in found] == [[h.row for h in row] for row in alone]
    assert len(told) > 5 and told[-1] == ("translate", 23, 23)
    assert told == sorted(told)


def test_a_worker_uses_one_core_and_leaves_the_others_to_other_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with Workers(2) as workers, ThreadPoolExecutor(1) as others:
            assert list(workers.map(lambda _: torch.get_num_threads(), range(4))) == [1] * 4
            assert others.submit(torch.get_num_threads).result() == torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_what_nobody_waits_for_does_not_begin() -> None:
    gates, begun = [Event(), Event()], list[int]()

    def wait_or_fail(number: int) -> None:
        begun.append(number)
        if number == 5:
            raise ValueError(number)
        gates[0 if number == 0 else 1].wait(60)

    with Workers(1) as workers:
        first = workers.map(wait_or_fail, [0])
        given_up = workers.map(wait_or_fail, range(1, 5))
        failing = workers.map(wait_or_fail, range(5, 9))
        del given_up
        gates[0].set()
        with pytest.raises(ValueError, match="5"):
            next(failing)
        gates[1].set()  # the sixth may have begun, and waits for this
        assert list(first) == [None]
    assert begun in ([0, 5], [0, 5, 6])


def test_work_begins_before_anybody_waits_for_it() -> None:
    begun = Event()
    with Workers(1) as workers:
        results = workers.map(lambda _: begun.set(), [0])
        assert begun.wait(60)
        assert list(results) == [None]


def test_what_has_not_begun_when_the_workers_are_closed_never_begins() -> None:
    gate, is_running, begun = Event(), Event(), list[int]()

    def wait(number: int) -> None:
        begun.append(number)
        is_running.set()
        gate.wait(10)

    workers = Workers(1)
    first, last = workers.map(wait, [0]), workers.map(wait, [1])
    assert is_running.wait(60)
    with ThreadPoolExecutor(1) as others:
        closed = others.submit(workers.close)
        with pytest.raises(CancelledError):
            next(last)
        gate.set()
        closed.result()
    assert (list(first), begun) == ([None], [0])


class Nothing:
    """A model that rules everything out."""

    vocabulary = 31

    def start(self, source_BS: Tensor) -> Nothing:
        return self

    def reorder(self, parent_BW: Tensor) -> None: ...

    def step(self, ids_BW: Tensor, cache: Nothing) -> Tensor:
        return torch.full((*ids_BW.shape, 31), -torch.inf)


@settings(deadline=None, max_examples=40)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    vocabulary=st.sampled_from([5, 900, 1024, 1300]),
    count=st.integers(1, 5),
    levels=st.sampled_from([3, 10**6]),
    seed=st.integers(0, 99),
)
def test_the_best_are_those_of_a_stable_sort(
    shape: tuple[int, int], vocabulary: int, count: int, levels: int, seed: int
) -> None:
    chance = torch.Generator().manual_seed(seed)
    log_probs_BWV = -torch.randint(levels, (*shape, vocabulary), generator=chance).float()
    log_probs_BWV[..., vocabulary // 2] = -torch.inf
    values, ids = best_of(log_probs_BWV.clone(), count)
    wanted = log_probs_BWV.sort(dim=-1, descending=True, stable=True)
    assert torch.equal(values, wanted.values[..., :count]) and torch.equal(ids, wanted.indices[..., :count])


@pytest.mark.parametrize("vocabulary", [1024, 1300])
@pytest.mark.parametrize("rising", [True, False])
def test_the_best_may_be_anywhere(vocabulary: int, rising: bool) -> None:
    """Whichever id is the best, wherever blocks of ids begin and end: then follows the last id, or the first."""
    row_V = torch.arange(vocabulary).float() - 2 * vocabulary
    row_V = row_V if rising else row_V.flip(0)
    first, second = (vocabulary - 1, vocabulary - 2) if rising else (0, 1)
    for best in {0, 1, 127, 128, 129, 640, 1023, 1024, 1151, 1152, 1279, 1280, 1281, 1299}.intersection(
        range(vocabulary)
    ):
        log_probs_BWV = row_V.index_fill(0, torch.tensor(best), 0).expand(2, 4, vocabulary)
        _, ids = best_of(log_probs_BWV, 2)
        assert (ids == torch.tensor([best, second if best == first else first])).all()


@given(done=st.lists(st.booleans(), min_size=1, max_size=12))
def test_those_that_go_on_stay_where_they_are_if_they_can(done: list[bool]) -> None:
    going = [row for row, is_done in enumerate(done) if not is_done]
    rows = remaining(torch.tensor(done)).tolist()
    assert sorted(rows) == going
    assert all(rows[row] == row for row in going if row < len(going))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("relu", [True, False])
def test_layers_that_read_the_same_make_one(bias: bool, relu: bool) -> None:
    layers = [nn.Linear(24, 10, bias=bias), nn.Linear(24, 16, bias=bias)]
    x_NI = torch.randn(5, 24)
    with torch.no_grad():
        found_NO = Linear.of(*layers, relu=relu)(x_NI)
        wanted_NO = torch.cat([layer(x_NI) for layer in layers], dim=1)
    torch.testing.assert_close(found_NO, wanted_NO.relu() if relu else wanted_NO, atol=1e-5, rtol=0)
