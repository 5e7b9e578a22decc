"""The loss that training computes, held equal to the plain one."""

import pytest
import torch
import torch.nn.functional as F

from vitrail.fast import Padded, linear, products
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


class Body(torch.nn.Module):
    """A model whose decoder has already answered: the same output for each look, which it counts."""

    def __init__(self, model, hidden_ND, target_N, *, by_numpy=False):
        super().__init__()
        self.model, self.by_numpy = model, by_numpy
        self.hidden_ND, self.target_N = hidden_ND, target_N
        self.looks = []

    def forward(self, source_BS, target_BT, looks):
        self.looks.append(looks)
        return self.hidden_ND.expand(looks, -1, -1), self.target_N


@pytest.fixture
def answered(small_model, batch):
    """Everything between the decoder's output and the loss."""
    model, target_N = small_model(output_bias=True).train(), batch[1].flatten()[:6]
    hidden_ND = torch.randn(6, model.config.d_model, generator=torch.Generator().manual_seed(3))

    def build(dtype=torch.float32, **options):
        return Body(model, hidden_ND.to(dtype).requires_grad_(), target_N, **options)

    return build


def test_two_looks_are_taken_only_for_r_drop(answered, batch):
    body = answered()
    Objective(body, smoothing=0.1)(*batch)
    Objective(body, smoothing=0.1)(*batch, 0.0)
    Objective(body, smoothing=0.1)(*batch, 0.5)
    assert body.looks == [1, 1, 2]


def parameters_of(body):
    return body.hidden_ND, body.model.embeddings.output_table_VD(), body.model.output_bias


def learnt(body, back):
    """The loss of a body's answers and its gradients, straight from the function that computes them."""
    hidden, table, bias = parameters_of(body)
    how = objective._How(0.1, 0.0, back, by_numpy=False)
    loss = objective._LossOfRows.apply(hidden[None].float(), table, bias, body.target_N, how)
    return loss, *torch.autograd.grad(loss, (hidden, table, bias))


@pytest.mark.parametrize(
    ("half", "back", "not_back"),
    [(torch.bfloat16, torch.bfloat16, torch.float32), (torch.float16, torch.float32, torch.bfloat16)],
)
def test_under_autocast_the_loss_is_exact_and_only_bf16_gradients_stay_halved(answered, batch, half, back, not_back):
    body = answered(half)
    with torch.autocast("cpu", half):
        loss = Objective(body, smoothing=0.1)(*batch)
    found = loss, *torch.autograd.grad(loss, parameters_of(body))
    assert loss.dtype == torch.float32
    assert all(torch.equal(one, other) for one, other in zip(found, learnt(body, back), strict=True))
    assert not torch.equal(found[2], learnt(body, not_back)[2]), "or this test could not tell them apart"


def test_in_half_precision_the_gradients_of_the_parts_are_added_up_exactly(answered, monkeypatch):
    body = answered()
    body.hidden_ND = torch.randn(600, body.hidden_ND.size(1), requires_grad=True)
    body.target_N = torch.randint(5, 31, (600,))
    monkeypatch.setattr(objective, "rows_at_a_time", lambda _: 2)
    _, _, found, _ = learnt(body, torch.bfloat16)
    wanted = torch.zeros_like(found)
    for hidden_ND, target_N in zip(body.hidden_ND.detach().split(2), body.target_N.split(2), strict=True):
        part = Body(body.model, hidden_ND.requires_grad_(), target_N)
        wanted += learnt(part, torch.bfloat16)[2]
    assert torch.equal(found, wanted)


@pytest.mark.parametrize(
    ("by_numpy", "half", "products_by_numpy"), [(False, False, 0), (True, False, 3), (True, True, 1)]
)
def test_numpy_multiplies_if_the_body_says_so_but_never_in_half_precision(
    answered, batch, monkeypatch, by_numpy, half, products_by_numpy
):
    asked = []
    monkeypatch.setattr(linear, "multiply", lambda *of, out: (asked.append(of), products.multiply(*of, out=out))[1])
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        Objective(answered(by_numpy=by_numpy), smoothing=0.1)(*batch)
    assert len(asked) == products_by_numpy


def test_a_batch_without_target_tokens_teaches_nothing(small_model, batch):
    model = small_model(output_bias=True).train()
    source, target = batch
    loss = Objective(Padded(model), smoothing=0.1)(source, torch.full_like(target, PAD))
    assert loss == 0
    found = gradients(model, loss)
    assert found and not any(gradient.any() for gradient in found.values())
