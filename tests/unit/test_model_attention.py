"""Scaled dot-product attention: the post's numbers, and rows that may look at nothing."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from vitrail.model.attention import DotProduct, KeysValues
from vitrail.model.relative import RelativeDotProduct
from vitrail.model.taps import NO_TAP, Tap

pytestmark = pytest.mark.usefixtures("true_suffixes")


def test_the_posts_worked_example() -> None:
    """ "Thinking Machines": q1·k1 = 112, q1·k2 = 96; divided by 8 they are 14 and 12; softmax gives 0.88 and 0.12."""
    q_BHTK, k_BGSK, v_BGSK = torch.zeros(1, 1, 1, 64), torch.zeros(1, 1, 2, 64), torch.zeros(1, 1, 2, 64)
    q_BHTK[..., 0], k_BGSK[..., 0] = 16.0, torch.tensor([7.0, 6.0])
    v_BGSK[..., 0] = torch.tensor([1.0, 0.0])
    heard: dict[str, Tensor] = {}
    z_BHTK = DotProduct()(q_BHTK, KeysValues(k_BGSK, v_BGSK), None, tap=Tap(heard.__setitem__))
    assert heard["scores"].flatten().tolist() == [112, 96]
    assert heard["scaled"].flatten().tolist() == [14, 12]
    assert [round(weight, 2) for weight in heard["weights"].flatten().tolist()] == [0.88, 0.12]
    assert round(z_BHTK[..., 0].item(), 2) == 0.88


@pytest.mark.parametrize("dot_product", [DotProduct(), RelativeDotProduct(6, 2)], ids=["plain", "relative"])
@pytest.mark.parametrize("tap", [NO_TAP, Tap(lambda _name, _value: None)], ids=["fused", "tapped"])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_a_row_that_sees_nothing_gathers_nothing_and_its_gradient_is_finite(
    dot_product: DotProduct, tap: Tap, kv_heads: int
) -> None:
    torch.manual_seed(1)
    q = torch.randn(2, 4, 3, 6, requires_grad=True)
    k, v = (torch.randn(2, kv_heads, 3, 6, requires_grad=True) for _ in "kv")
    visible_B11S = torch.tensor([[True, True, False], [False, False, False]])[:, None, None]
    z = dot_product(q, KeysValues(k, v), visible_B11S, tap=tap)
    assert torch.equal(z[1], torch.zeros_like(z[1]))
    assert z[0].abs().min() > 0
    for gradient in torch.autograd.grad(z.square().sum(), (q, k, v)):
        assert gradient.isfinite().all()
        assert torch.equal(gradient[1], torch.zeros_like(gradient[1]))


@pytest.mark.parametrize("dot_product", [DotProduct(), RelativeDotProduct(6, 2)], ids=["plain", "relative"])
@pytest.mark.parametrize("tap", [NO_TAP, Tap(lambda _name, _value: None)], ids=["fused", "tapped"])
def test_a_fault_stays_in_sight(dot_product: DotProduct, tap: Tap) -> None:
    q, k, v = torch.full((1, 1, 2, 6), torch.nan), torch.randn(1, 1, 2, 6), torch.randn(1, 1, 2, 6)
    visible_11TS = torch.ones(1, 1, 2, 2, dtype=torch.bool).tril()
    assert dot_product(q, KeysValues(k, v), visible_11TS, tap=tap).isnan().all()
