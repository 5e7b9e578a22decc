"""The loss that training computes, held equal to the plain one."""

import pytest
import torch
import torch.nn.functional as F

from vitrail.fast import Padded
from vitrail.model import shifted
from vitrail.text import PAD
from vitrail.train import objective
from vitrail.train.loss import smoothed_loss
from vitrail.train.objective import Objective, loss_and_gradient

SMOOTHING = [0.0, 0.1]


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(5)
    source, target = torch.randint(5, 31, (2, 6, 7), generator=generator)
    source[0, 4:], target[1, 2:], target[2, 5:] = PAD, PAD, PAD
    return source, target


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize("smoothing", SMOOTHING)
@pytest.mark.parametrize("options", [{}, {"output_bias": True}, {"tie_embeddings": "none"}])
@pytest.mark.parametrize("rows", [3, 512])
def test_loss_and_gradients_are_those_of_the_plain_path(small_model, batch, monkeypatch, smoothing, options, rows):
    monkeypatch.setattr(objective, "rows_at_a_time", lambda _: rows)
    model = small_model(**options).double().train()
    source, target = batch
    plain = smoothed_loss(model(source, shifted(target)), target, smoothing)
    fast = Objective(Padded(model), smoothing=smoothing)(source, target)
    torch.testing.assert_close(fast, plain)
    wanted, found = gradients(model, plain / 3), gradients(model, fast / 3)
    assert wanted.keys() == found.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, msg=name)


def test_the_larger_a_vocabulary_the_fewer_tokens_at_a_time_but_never_few():
    held = [objective.rows_at_a_time(vocabulary) for vocabulary in (100, 8_000, 16_000, 250_000)]
    assert held == sorted(held, reverse=True)
    assert min(held) == objective.FEWEST
    assert held[1] * 8_000 <= objective.LOGITS < (held[1] + 1) * 8_000


def test_in_half_precision_the_loss_is_exact_and_the_gradient_is_rounded(small_model, batch):
    model = small_model(output_bias=True).train()
    hidden, target = torch.randn(1, 6, model.config.d_model, requires_grad=True), batch[1].flatten()[:6]
    table, bias = model.embeddings.output_table_VD(), model.output_bias

    def run(back):
        loss = objective._LossOfRows.apply(hidden, table, bias, target, objective._How(0.1, 0.0, back, by_numpy=False))
        return loss, *torch.autograd.grad(loss, (hidden, table, bias))

    (loss, *wanted), (half_loss, *found) = run(torch.float32), run(torch.bfloat16)
    assert half_loss == loss
    for one, other in zip(wanted, found, strict=True):
        assert other.dtype == torch.float32
        assert (one - other).norm() < 0.01 * one.norm()


@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_two_looks_add_how_far_they_are_apart(smoothing):
    logits = torch.randn(2, 5, 9, dtype=torch.float64, requires_grad=True)
    target = torch.randint(1, 9, (5,))
    plain = sum(smoothed_loss(look[None], target[None], smoothing) for look in logits) / 2
    p, q = logits.log_softmax(-1)
    apart = F.kl_div(q, p, log_target=True, reduction="sum") + F.kl_div(p, q, log_target=True, reduction="sum")
    plain = plain + 3.0 * apart / 4
    (wanted,) = torch.autograd.grad(plain, logits)
    loss, gradient = loss_and_gradient(logits.detach(), target, smoothing, 3.0)
    torch.testing.assert_close(loss, plain.detach())
    torch.testing.assert_close(gradient, wanted)


def test_looks_that_agree_cost_nothing_more(small_model, batch):
    model = small_model().double().train()  # without dropout both looks are the same
    once, twice = (Objective(Padded(model), smoothing=0.1)(*batch, r_drop) for r_drop in (0.0, 5.0))
    torch.testing.assert_close(once, twice)


def test_looks_with_dropout_differ_and_their_loss_can_be_learnt_from(small_model, batch):
    model = small_model(dropout=0.3).double().train()
    torch.manual_seed(0)
    with_penalty = Objective(Padded(model), smoothing=0.1)(*batch, 5.0)
    torch.manual_seed(0)
    without = Objective(Padded(model), smoothing=0.1)(*batch, 1e-9)
    assert with_penalty > without
    assert all(gradient.isfinite().all() for gradient in gradients(model, with_penalty).values())
