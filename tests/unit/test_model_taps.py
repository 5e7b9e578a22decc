"""Taps: every value has its name, reading changes nothing, replacing changes what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from vitrail.config import POSITIONS
from vitrail.errors import VitrailError
from vitrail.model import NO_TAP, Tap, Transformer
from vitrail.model.looking import cross_attention

pytestmark = pytest.mark.usefixtures("true_suffixes")

Build = Callable[..., Transformer]
SOURCE = torch.tensor([[4, 9, 7, 5, 3], [8, 6, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 6, 7], [2, 8, 0, 0]])


def listen(model: Transformer, replace: dict[str, Tensor] | None = None) -> dict[str, Tensor]:
    """Every value of a pass by name, some of them replaced on the way."""
    heard: dict[str, Tensor] = {}

    def listener(name: str, value: Tensor) -> Tensor | None:
        assert name not in heard, f"{name} means two things"
        heard[name] = value.detach()
        return (replace or {}).get(name)

    model.log_probs(SOURCE, TARGET, tap=Tap(listener))
    return heard


def expected_names(norm: str, positions: str, layers: int) -> set[str]:
    """The names of DESIGN's "Taps", written out."""
    kind = POSITIONS[positions]
    names = {f"{side}.{part}" for side in ("source", "target") for part in ("embedding", "sum")}
    names |= {f"{side}.position" for side in ("source", "target") if kind.added}
    attention = ["q", "k", "v", "scores", "scaled", "weights", "z", "output"]
    around = ["sum", "output"] + (["normed"] if norm == "pre" else [])
    for number in range(layers):
        for stack, parts in (("encoder", ["self"]), ("decoder", ["self", "cross"])):
            here = f"{stack}.{number}"
            for part in parts:
                own = [*kind.taps] if part == "self" else []
                names |= {f"{here}.{part}_attention.{name}" for name in attention + own}
            names |= {f"{here}.add_norm_{i + 1}.{name}" for i in range(len(parts) + 1) for name in around}
            names |= {f"{here}.feed_forward.hidden", f"{here}.feed_forward.output", f"{here}.output"}
    return names | {"encoder.output", "decoder.output", "logits", "log_probs"}


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_value_has_its_name(small_model: Build, norm: str, positions: str) -> None:
    heard = listen(small_model(norm=norm, positions=positions))
    assert set(heard) == expected_names(norm, positions, layers=2)


def test_shapes_are_those_of_the_post(small_model: Build) -> None:
    heard = listen(small_model(kv_heads=2))
    assert heard["source.embedding"].shape == (2, 5, 24)
    assert heard["source.position"].shape == (5, 24)
    assert heard["decoder.1.cross_attention.q"].shape == (2, 4, 4, 10)
    assert heard["decoder.1.cross_attention.k"].shape == (2, 2, 5, 10)
    assert heard["decoder.1.cross_attention.weights"].shape == (2, 4, 4, 5)
    assert heard["decoder.1.feed_forward.hidden"].shape == (2, 4, 40)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_names_mean_what_they_say(small_model: Build, norm: str) -> None:
    model = small_model(norm=norm)
    heard = listen(model)
    layer, here = model.encoder.layers[0], "encoder.0"
    before, gathered = heard["source.sum"], heard[f"{here}.self_attention.output"]
    torch.testing.assert_close(heard["source.sum"], heard["source.embedding"] + heard["source.position"])
    torch.testing.assert_close(heard[f"{here}.add_norm_1.sum"], before + gathered)
    fed = heard[f"{here}.add_norm_1.normed"] if norm == "pre" else before
    keys = layer.self_attention.key(fed).view(2, 5, 4, 10).transpose(1, 2)
    torch.testing.assert_close(heard[f"{here}.self_attention.k"], keys)
    normed = layer.add_norm_1.norm(heard[f"{here}.add_norm_1.sum"])
    torch.testing.assert_close(
        heard[f"{here}.add_norm_1.output"], normed if norm == "post" else heard[f"{here}.add_norm_1.sum"]
    )
    torch.testing.assert_close(heard[f"{here}.add_norm_2.output"], heard[f"{here}.output"])
    weights = heard[f"{here}.self_attention.weights"]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 5))
    assert (weights[1, :, :, 3:] == 0).all()
    assert (heard[f"{here}.self_attention.scaled"][1, :, :, 3:] == -torch.inf).all()
    torch.testing.assert_close(heard["logits"].log_softmax(-1), heard["log_probs"])


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_replacement_flows_on_and_changes_nothing_before_it(
    small_model: Build, norm: str, positions: str
) -> None:
    model = small_model(norm=norm, positions=positions, encoder_layers=1, decoder_layers=1)
    plain = listen(model)
    order = list(plain)
    for name, value in plain.items():
        changed = listen(model, {name: value.masked_fill(value.isinf(), 0) + torch.rand_like(value)})
        assert list(changed) == order
        for earlier in order[: order.index(name) + 1]:
            assert torch.equal(changed[earlier], plain[earlier]), f"{name} changed {earlier}, which comes before it"
        if name != "log_probs":
            assert not torch.equal(changed["log_probs"], plain["log_probs"]), f"replacing {name} changed nothing"


def test_replacing_by_the_same_value_changes_nothing(small_model: Build) -> None:
    model = small_model(positions="relative", kv_heads=2)
    plain = listen(model)
    again = listen(model, {name: value.clone() for name, value in plain.items()})
    for name, value in plain.items():
        assert torch.equal(again[name], value)


def test_a_path_may_be_given_in_one_step_or_in_several() -> None:
    heard: list[str] = []
    tap = Tap(lambda name, _value: heard.append(name))
    for there in (tap.at("encoder", 0, "add_norm_1"), tap.at("encoder").at(0).at("add_norm_1")):
        there("sum", torch.zeros(1))
    assert heard == ["encoder.0.add_norm_1.sum"] * 2


def test_a_head_can_be_switched_off(small_model: Build) -> None:
    """Zeroing a head's z is the same as zeroing its rows of W^O."""
    model = small_model()
    name = "decoder.0.self_attention.z"
    without = listen(model)[name]
    without[:, 2] = 0
    tapped = listen(model, {name: without})["log_probs"]
    with torch.no_grad():
        model.decoder.layers[0].self_attention.output.weight[:, 20:30] = 0
    torch.testing.assert_close(tapped, model.log_probs(SOURCE, TARGET))


def test_what_is_returned_can_be_replaced_too(small_model: Build) -> None:
    model = small_model()
    zeros = torch.zeros(2, 4, 31)
    assert torch.equal(model(SOURCE, TARGET, tap=Tap(lambda name, _: zeros if name == "logits" else None)), zeros)


def test_a_replacement_of_another_shape_is_refused_by_name(small_model: Build) -> None:
    model = small_model()
    with pytest.raises(VitrailError, match=r"shape \(2, 4, 5, 5\)") as raised:
        listen(model, {"encoder.1.self_attention.weights": torch.zeros(1)})
    assert raised.value.where == "encoder.1.self_attention.weights"
    assert raised.value.fix is not None


def test_nobody_listening_builds_no_name_and_calls_the_fused_kernel(
    small_model: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model()
    assert NO_TAP.at("encoder", 0) is NO_TAP
    fused, calls = torch.nn.functional.scaled_dot_product_attention, []

    def counted(*args: Any, **kwargs: Any) -> Tensor:
        calls.append(args)
        return fused(*args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", counted)
    monkeypatch.setattr(Tap, "__call__", lambda *_: pytest.fail("a tap was called though nobody listens"))
    with torch.no_grad():  # who learns has another way to few keys
        model.log_probs(SOURCE, TARGET)
    assert len(calls) == 2 + 2 * 2


def test_cross_attention_is_what_a_listener_hears_of_it(small_model: Build) -> None:
    model = small_model()
    heard = listen(model)
    expected = [heard[f"decoder.{number}.cross_attention.weights"] for number in range(2)]
    for found, wanted in zip(cross_attention(model, SOURCE, TARGET), expected, strict=True):
        assert not found.requires_grad
        torch.testing.assert_close(found, wanted)


def test_several_targets_may_look_at_one_source(small_model: Build) -> None:
    model = small_model()
    sentence_N = torch.tensor([1, 0, 1])
    target_NT = TARGET[[0, 0, 1]]
    together = cross_attention(model, SOURCE, target_NT, sentence_N)
    apart = cross_attention(model, SOURCE[sentence_N], target_NT)
    for found, wanted in zip(together, apart, strict=True):
        torch.testing.assert_close(found, wanted)
