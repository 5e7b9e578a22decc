"""Heads switched off: the same in every path, equal to zero columns in W^O, and without effect on the original."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from vitrail.config import POSITIONS
from vitrail.errors import VitrailError
from vitrail.model import Tap, Transformer, attentions, without_heads

pytestmark = pytest.mark.usefixtures("true_suffixes")

Build = Callable[..., Transformer]
SOURCE = torch.tensor([[4, 9, 7, 5, 3], [8, 6, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 6, 7], [2, 8, 9, 4]])
PLACES = ["encoder.1.self_attention", "decoder.0.self_attention", "decoder.1.cross_attention"]


@pytest.fixture(params=itertools.product(POSITIONS, [4, 2]), ids=str)
def model(request: pytest.FixtureRequest, small_model: Build) -> Transformer:
    positions, kv_heads = request.param
    return small_model(positions=positions, kv_heads=kv_heads)


def zeroed_by_hand(model: Transformer, name: str, heads: list[int], build: Build) -> Transformer:
    """A model with the same weights, except that the columns of these heads in W^O are 0."""
    other = build(positions=model.config.positions, kv_heads=model.config.kv_heads)
    other.load_state_dict(model.state_dict())
    with torch.no_grad():
        for head in heads:
            attentions(other)[name].output.weight[:, head * 10 : (head + 1) * 10] = 0
    return other


@pytest.mark.parametrize("name", PLACES)
def test_a_head_that_is_off_is_columns_of_zeros_in_w_o(model: Transformer, small_model: Build, name: str) -> None:
    off = without_heads(model, {name: [0, 3]})
    expected = zeroed_by_hand(model, name, [0, 3], small_model)
    torch.testing.assert_close(off(SOURCE, TARGET), expected(SOURCE, TARGET))
    assert not torch.allclose(off(SOURCE, TARGET), model(SOURCE, TARGET))


@pytest.mark.parametrize("name", PLACES)
def test_cached_steps_and_listening_agree_with_the_full_pass(model: Transformer, name: str) -> None:
    off = without_heads(model, {name: [1, 2], "decoder.1.self_attention": [0]})
    expected = off.log_probs(SOURCE, TARGET)
    torch.testing.assert_close(off.log_probs(SOURCE, TARGET, tap=Tap(lambda _name, _value: None)), expected)
    cache = off.start(SOURCE)
    cached = torch.stack([off.step(ids[:, None], cache)[:, 0] for ids in TARGET.T], dim=1)
    torch.testing.assert_close(cached, expected, atol=1e-5, rtol=1e-5)


def test_without_all_its_heads_a_sub_layer_adds_only_w_o_s_bias(model: Transformer) -> None:
    name = "decoder.1.cross_attention"
    heard: dict[str, Tensor] = {}
    off = without_heads(model, {name: range(4)})
    off.log_probs(SOURCE, TARGET, tap=Tap(lambda name, value: heard.update({name: value})))
    bias = attentions(model)[name].output.bias
    torch.testing.assert_close(heard[f"{name}.output"], bias.expand(2, 4, 24))
    assert (heard[f"{name}.z"] == 0).all()


def test_a_listener_hears_z_behind_the_gate_and_everything_else_as_it_was(model: Transformer) -> None:
    name = "encoder.0.self_attention"
    plain: dict[str, Tensor] = {}
    gated: dict[str, Tensor] = {}
    model.log_probs(SOURCE, TARGET, tap=Tap(lambda name, value: plain.update({name: value})))
    without_heads(model, {name: [2]}).log_probs(SOURCE, TARGET, tap=Tap(lambda n, value: gated.update({n: value})))
    assert list(gated) == list(plain)
    for value in ("q", "k", "v", "scores", "scaled", "weights"):
        assert torch.equal(gated[f"{name}.{value}"], plain[f"{name}.{value}"])
    kept = [0, 1, 3]
    assert torch.equal(gated[f"{name}.z"][:, kept], plain[f"{name}.z"][:, kept])
    assert (gated[f"{name}.z"][:, 2] == 0).all()


def test_a_listener_may_still_replace_what_passed_the_gate(small_model: Build) -> None:
    model, name = small_model(), "encoder.0.self_attention"
    off = without_heads(model, {name: [0]})
    heard: dict[str, Tensor] = {}
    model.log_probs(SOURCE, TARGET, tap=Tap(lambda n, value: heard.update({n: value})))

    def put_back(at: str, _value: Tensor) -> Tensor | None:
        return heard[at] if at == f"{name}.z" else None

    torch.testing.assert_close(off.log_probs(SOURCE, TARGET, tap=Tap(put_back)), heard["log_probs"])


def test_the_original_is_untouched_and_nothing_is_stored_twice(model: Transformer) -> None:
    before, state = model(SOURCE, TARGET), {name: value.clone() for name, value in model.state_dict().items()}
    off = without_heads(model, {"encoder.0.self_attention": [0]})
    off(SOURCE, TARGET)
    assert torch.equal(model(SOURCE, TARGET), before)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in state.items())
    assert {id(p) for p in off.parameters()} == {id(p) for p in model.parameters()}
    assert not off.training


def test_the_original_may_work_while_copies_are_made(small_model: Build) -> None:
    model = small_model(positions="rope")
    expected = model(SOURCE, TARGET).detach()

    def work(number: int) -> Tensor:
        if number % 2:
            without_heads(model, {"decoder.0.self_attention": [number % 4]})(SOURCE, TARGET)
        return model(SOURCE, TARGET).detach()

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, range(32)):
            assert torch.equal(found, expected)


def test_switching_off_twice_is_switching_off_both(small_model: Build) -> None:
    model, name = small_model(), "decoder.0.self_attention"
    twice = without_heads(without_heads(model, {name: [0]}), {name: [2], "encoder.0.self_attention": []})
    assert torch.equal(twice(SOURCE, TARGET), without_heads(model, {name: [0, 2]})(SOURCE, TARGET))


@pytest.mark.parametrize("name", ["decoder.0.crossattention", "decoder.2.cross_attention", "encoder.0", ""])
def test_an_attention_that_is_not_there_is_named_with_those_that_are(small_model: Build, name: str) -> None:
    with pytest.raises(VitrailError) as raised:
        without_heads(small_model(), {name: [0]})
    assert f"'{name}'" in raised.value.what
    assert "decoder.1.cross_attention" in str(raised.value.fix)


def test_an_attention_that_was_nearly_named_is_suggested(small_model: Build) -> None:
    fixes = []
    for name in ("decoder.0.crossattention", "something else"):
        with pytest.raises(VitrailError) as raised:
            without_heads(small_model(), {name: [0]})
        fixes.append(str(raised.value.fix))
    nearly, nothing_like_it = fixes
    assert "'decoder.0.cross_attention'" in nearly.removesuffix(nothing_like_it) and nearly != nothing_like_it


@pytest.mark.parametrize("head", [4, -1, True, "0", 1.0])
def test_a_head_that_is_not_there_is_named_with_those_that_are(small_model: Build, head: object) -> None:
    with pytest.raises(VitrailError, match="0 to 3") as raised:
        without_heads(small_model(), {"encoder.0.self_attention": [head]})  # type: ignore[list-item]
    assert repr(head) in raised.value.what
