"""Dropout with cheap masks."""

import pytest
import torch

from vitrail.fast.masks import LEVELS, Dropout, Masks


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share):
    x = torch.full((300, 400), 2.0, requires_grad=True)
    dropped = Dropout(share, Masks(0)).train()(x)
    assert (dropped == 0).float().mean() == pytest.approx(share, abs=0.01)
    assert dropped.unique().tolist() == pytest.approx([0.0, 2 / (1 - share)], rel=1e-4)
    dropped.sum().backward()
    torch.testing.assert_close(x.grad * 2, dropped.detach())  # a dropped value has no gradient


def test_dropout_of_nearly_everything_stays_finite():
    assert Dropout(0.9999999, Masks(0)).train()(torch.ones(1000)).isfinite().all()


def test_dropout_follows_its_seed_and_does_nothing_outside_training():
    masks = Masks(3)
    dropout, x = Dropout(0.5, masks).train(), torch.ones(7, 5)
    first, second = dropout(x), dropout(x)
    masks.restart(3)
    assert torch.equal(dropout(x), first) and torch.equal(dropout(x), second)
    assert not torch.equal(first, second)
    assert dropout.eval()(x) is x
    assert torch.equal(Dropout(0.0, masks).train()(x), x)


def test_every_place_of_a_mask_is_drawn_on_its_own():
    source = Masks(1)
    masks = torch.stack([source.draw(torch.Size([13]), LEVELS // 4).float() for _ in range(4000)])
    torch.testing.assert_close(masks.mean(0), torch.full((13,), 0.75), atol=0.03, rtol=0)
    together = torch.corrcoef(masks.T) - torch.eye(13)
    assert together.abs().max() < 0.1
