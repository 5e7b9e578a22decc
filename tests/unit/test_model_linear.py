"""How linear layers multiply: whichever library does it, torch's own layer is what comes out."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from vitrail.model.linear import at_once, linear, multiply, product

pytestmark = pytest.mark.usefixtures("however_small")


@pytest.fixture
def however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vitrail.model.linear.ENOUGH", 0)


SHAPES = [(5, 6), (2, 5, 6), (1, 1, 6), (0, 6)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bits", [torch.float32, torch.float64])
def test_value_and_gradients_are_torchs(shape: tuple[int, ...], bias: bool, bits: torch.dtype) -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(size, dtype=bits, requires_grad=True) for size in (shape, (9, 6), 9)][: 3 if bias else 2]
    x, weight, *more = inputs
    way = torch.randn(*shape[:-1], 9, dtype=bits)
    found, wanted = (run(x, weight, more[0] if more else None) for run in (multiply, F.linear))
    torch.testing.assert_close(found, wanted)
    pairs = zip(torch.autograd.grad(found, inputs, way), torch.autograd.grad(wanted, inputs, way), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(product(x.detach(), weight.detach()), F.linear(x, weight).detach())


def test_a_gradient_may_come_as_a_view_and_the_input_may_need_none() -> None:
    layer = linear(6, 8, bias=True)
    x = torch.randn(2, 5, 6)
    found, wanted = (
        layer(x).transpose(1, 2).flatten(1),
        F.linear(x, layer.weight, layer.bias).transpose(1, 2).flatten(1),
    )
    way = torch.randn(2, 40)
    parameters = list(layer.parameters())
    for one, other in zip(*(torch.autograd.grad(y, parameters, way) for y in (found, wanted)), strict=True):
        torch.testing.assert_close(one, other)


def test_several_at_once_are_each_of_them() -> None:
    layers = [linear(6, width, bias=True) for width in (4, 8, 2)]
    x = torch.randn(3, 6)
    for layer, found in zip(layers, at_once(x, *layers), strict=True):
        torch.testing.assert_close(found, F.linear(x, layer.weight, layer.bias))
