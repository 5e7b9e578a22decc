"""Muon against the singular value decomposition that it approximates, and against torch's own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from vitrail.train.muon import CUBIC, LINEAR, QUINTIC, ROUNDS, Muon, orthogonal
from vitrail.train.optimizer import set_rate


@settings(deadline=None, max_examples=25)
@given(rows=st.integers(1, 9), columns=st.integers(1, 9), seed=st.integers(0, 1000))
def test_singular_vectors_stay_and_every_singular_value_goes_through_the_polynomial(rows, columns, seed):
    matrices = torch.randn(3, rows, columns, generator=torch.manual_seed(seed), dtype=torch.float64)
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    values = values / (values.pow(2).sum(-1, keepdim=True).sqrt() + 1e-7)
    for _ in range(ROUNDS):
        values = LINEAR * values + CUBIC * values**3 + QUINTIC * values**5
    torch.testing.assert_close(orthogonal(matrices), left @ torch.diag_embed(values) @ right, rtol=1e-9, atol=1e-9)


def test_directions_of_a_hundredth_or_more_end_near_one():
    matrix = torch.diag(torch.tensor([1.0, 0.5, 0.1, 0.02]))
    values = torch.linalg.svdvals(orthogonal(matrix[None])[0])
    assert (values > 0.6).all()
    assert (values < 1.25).all()


def test_rounds_in_half_precision_go_almost_the_same_way():
    matrices = torch.randn(3, 16, 24, generator=torch.manual_seed(1))
    exact, rounded = orthogonal(matrices), orthogonal(matrices, torch.bfloat16)
    assert rounded.dtype == torch.float32
    assert (rounded - exact).norm() < 0.05 * exact.norm()


@pytest.mark.parametrize("shape", [(8, 8), (8, 20), (20, 8)])
def test_steps_are_those_of_torchs_own(shape):
    torch.manual_seed(1)
    model = nn.Linear(shape[1], shape[0], bias=False)
    peer_weight = nn.Parameter(model.weight.detach().clone())
    own = Muon(model, weight_decay=0.1)
    peer = torch.optim.Muon([peer_weight], lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    before = model.weight.detach().clone()
    for _ in range(4):
        gradient = torch.randn(shape)
        model.weight.grad, peer_weight.grad = gradient.clone(), gradient.clone()
        set_rate(own, 0.02)
        own.step()
        peer.step()
    moved = (peer_weight - before).norm()
    assert (model.weight - peer_weight).norm() < 0.05 * moved  # torch's is in bfloat16


def test_everything_but_linear_layers_is_moved_as_adamw_moves_it():
    def build():
        torch.manual_seed(1)
        return nn.ModuleDict({"table": nn.Embedding(5, 4), "norm": nn.LayerNorm(4), "linear": nn.Linear(4, 4)})

    ours, theirs = build(), build()
    own = Muon(ours, weight_decay=0.1)
    peer = torch.optim.AdamW(theirs.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1, fused=True)
    for _ in range(3):
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        set_rate(own, 0.01)
        own.step()
        peer.step()
    equal = {name: torch.equal(one, dict(theirs.named_parameters())[name]) for name, one in ours.named_parameters()}
    assert equal.pop("linear.weight") is False
    assert all(equal.values())
