"""The parts of training, each on its own: loss, schedules, optimiser state, what may change on resume."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from vitrail.config import OPTIMIZERS, SCHEDULES, Config, TrainConfig, load_config
from vitrail.errors import TrainingError
from vitrail.text import PAD
from vitrail.train.ema import MovingAverage
from vitrail.train.loss import smoothed_loss, smoothed_target
from vitrail.train.optimizer import make_optimizer, optimizer_tensors, restore_optimizer, set_rate
from vitrail.train.resume import check_same_run
from vitrail.train.schedule import constant, cosine, inverse_sqrt, make_schedule, paper

SHAPES = {"batch": st.integers(1, 3), "length": st.integers(1, 5), "vocabulary": st.integers(5, 12)}
SMOOTHING = st.sampled_from([0.0, 0.1, 0.3])


def example(batch, length, vocabulary):
    logits = torch.randn(batch, length, vocabulary, dtype=torch.float64)
    return logits, torch.randint(1, vocabulary, (batch, length))


@settings(deadline=None)
@given(**SHAPES, smoothing=SMOOTHING)
def test_the_loss_is_the_divergence_from_the_smoothed_target_up_to_a_constant(batch, length, vocabulary, smoothing):
    logits, target = example(batch, length, vocabulary)
    wanted = smoothed_target(target, vocabulary, smoothing).double()
    divergence = nn.functional.kl_div(logits.log_softmax(-1), wanted, reduction="sum")
    entropy = -torch.xlogy(wanted, wanted).sum()  # of the target alone: no model can change it
    torch.testing.assert_close(smoothed_loss(logits, target, smoothing), divergence + entropy)


@settings(deadline=None)
@given(**SHAPES, smoothing=SMOOTHING)
def test_the_gradient_of_the_loss_is_prediction_minus_target(batch, length, vocabulary, smoothing):
    logits, target = example(batch, length, vocabulary)
    logits.requires_grad_()
    smoothed_loss(logits, target, smoothing).backward()
    wanted = smoothed_target(target, vocabulary, smoothing).double()
    torch.testing.assert_close(logits.grad, logits.softmax(-1).detach() - wanted)


@settings(deadline=None)
@given(**SHAPES, padding=st.integers(1, 4))
def test_padding_costs_nothing(batch, length, vocabulary, padding):
    logits, target = example(batch, length, vocabulary)
    longer = torch.cat([target, torch.full((batch, padding), PAD)], dim=1)
    wider = torch.cat([logits, torch.randn(batch, padding, vocabulary, dtype=torch.float64)], dim=1)
    torch.testing.assert_close(smoothed_loss(wider, longer, 0.1), smoothed_loss(logits, target, 0.1))


def test_the_papers_schedule_is_its_equation():
    rate = paper(512, 4000)
    for step in (1, 100, 4000, 100_000):
        assert rate(step) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5))
    assert max(range(1, 20_000), key=rate) == 4000


@pytest.mark.parametrize("rate", [inverse_sqrt(0.01, 10), cosine(0.01, 10, 100), constant(0.01, 10)])
def test_every_schedule_rises_to_its_peak_at_the_end_of_the_warm_up_and_never_again_above(rate):
    rates = [rate(step) for step in range(1, 101)]
    assert rates[:10] == sorted(rates[:10])
    assert rates[9] == pytest.approx(0.01)
    assert max(rates) == pytest.approx(0.01)
    assert all(later <= earlier for earlier, later in pairwise(rates[9:]))


def test_the_cosine_ends_at_nothing_and_stays_there():
    rate = cosine(0.01, 10, 100)
    assert rate(100) == pytest.approx(0.0, abs=1e-12)
    assert rate(500) == pytest.approx(0.0, abs=1e-12)


def test_a_cosine_that_ends_in_its_warm_up_only_rises():
    rate, line = cosine(0.01, 10, 5), constant(0.01, 10)
    assert [rate(step) for step in range(1, 6)] == [line(step) for step in range(1, 6)]


@pytest.mark.parametrize("schedule", [name for name, kind in SCHEDULES.items() if not kind.ends_at_zero])
def test_a_fall_changes_nothing_before_it_begins_and_ends_at_nothing(schedule):
    peak = {"peak_rate": 0.01} if SCHEDULES[schedule].takes_peak_rate else {}
    shape = {"schedule": schedule, "warmup_steps": 10, "max_steps": 100, **peak}
    plain, falls = make_schedule(TrainConfig(**shape), 64), make_schedule(TrainConfig(**shape, fall_steps=40), 64)
    assert [falls(step) for step in range(1, 61)] == [plain(step) for step in range(1, 61)]
    assert falls(80) == pytest.approx(plain(80) / 2)
    assert all(later < earlier for earlier, later in pairwise([falls(step) for step in range(61, 101)]))
    assert falls(100) == falls(500) == pytest.approx(0.0, abs=1e-12)


def test_a_run_too_short_for_its_fall_falls_from_its_first_step():
    shape = {"schedule": "constant", "peak_rate": 0.01, "warmup_steps": 0}
    long, short = (make_schedule(TrainConfig(**shape, max_steps=end, fall_steps=40), 64) for end in (100, 30))
    assert [short(step) for step in range(1, 31)] == [long(step) for step in range(71, 101)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_can_be_asked_for(schedule):
    peak = {"peak_rate": 0.01} if SCHEDULES[schedule].takes_peak_rate else {}
    rate = make_schedule(TrainConfig(schedule=schedule, **peak), 64)
    assert all(math.isfinite(rate(step)) and rate(step) >= 0 for step in (1, 10, 10_000))


@pytest.mark.parametrize("kind", SCHEDULES.values(), ids=SCHEDULES)
def test_what_is_said_of_a_schedule_is_true_of_its_rate(kind):
    peak = {"peak_rate": 0.01} if kind.takes_peak_rate else {}

    def rate(d_model, **changed):
        settings = TrainConfig(**{"schedule": kind.name, "warmup_steps": 10, "max_steps": 100, **peak, **changed})
        return make_schedule(settings, d_model)

    assert (
        (rate(64)(100) == pytest.approx(0.0, abs=1e-12))
        == kind.ends_at_zero
        == TrainConfig(schedule=kind.name, **peak).ends_at_zero
    )
    assert (rate(64)(20) == rate(256)(20)) == kind.takes_peak_rate
    if not kind.needs_warmup:
        assert math.isfinite(rate(64, warmup_steps=0)(1))


@pytest.mark.parametrize("optimizer", [name for name, kind in OPTIMIZERS.items() if kind.decays])
def test_weight_decay_is_a_setting_and_decoupled_from_the_gradient(optimizer):
    layer = nn.Linear(6, 5)
    before = layer.weight.detach().clone()
    maker = make_optimizer(layer, TrainConfig(optimizer=optimizer, weight_decay=0.1))
    set_rate(maker, 0.5)
    for parameter in layer.parameters():
        parameter.grad = torch.zeros_like(parameter)
    maker.step()
    torch.testing.assert_close(layer.weight.detach(), before * (1 - 0.5 * 0.1))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimiser_that_is_restored_goes_on_to_the_last_bit(optimizer):
    config = TrainConfig(optimizer=optimizer, weight_decay=0.1 if OPTIMIZERS[optimizer].decays else 0.0)

    def take_steps(model, maker, count):
        for number in range(count):
            torch.manual_seed(number)
            maker.zero_grad()
            model(torch.randn(4, 6)).pow(2).sum().backward()
            set_rate(maker, 0.01 * (number + 1))
            maker.step()

    one = nn.Linear(6, 5)
    first = make_optimizer(one, config)
    take_steps(one, first, 3)

    two = nn.Linear(6, 5)
    two.load_state_dict(one.state_dict())
    second = make_optimizer(two, config)
    restore_optimizer(second, {name: value.clone() for name, value in optimizer_tensors(first).items()})
    take_steps(one, first, 3)
    take_steps(two, second, 3)
    assert torch.equal(one.weight, two.weight)
    assert torch.equal(one.bias, two.bias)


def test_a_moving_average_is_the_sum_of_all_weights_each_as_old_as_it_is(small_model):
    model = small_model().double()
    average = MovingAverage(model, 0.6)
    seen, shares = (
        [parameter.detach().clone() for parameter in [model.encoder.layers[0].feed_forward.inner.weight]],
        [1.0],
    )
    for step in range(1, 9):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter))
        average.follow(model, step)
        decay = min(0.6, (1 + step) / (10 + step))
        seen.append(model.encoder.layers[0].feed_forward.inner.weight.detach().clone())
        shares = [share * decay for share in shares] + [1 - decay]
    assert sum(shares) == pytest.approx(1)
    wanted = sum(share * weights for share, weights in zip(shares, seen, strict=True))
    torch.testing.assert_close(average.model.encoder.layers[0].feed_forward.inner.weight, wanted)
    assert not any(parameter.requires_grad for parameter in average.model.parameters())


def test_a_moving_average_soon_forgets_its_random_beginning(small_model):
    model = small_model()
    average = MovingAverage(model, 0.9999)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0)
    for step in range(1, 101):
        average.follow(model, step)
    for parameter in average.model.parameters():
        torch.testing.assert_close(parameter, torch.ones_like(parameter), atol=1e-4, rtol=0)


@pytest.mark.parametrize("key", ["train.max_steps=7", "train.checkpoint_every=3", "decode.beam_size=9"])
def test_what_does_not_touch_the_weights_may_change_on_resume(key):
    check_same_run(Config(), load_config(None, overrides=[key]), where="runs/x")


@pytest.mark.parametrize(
    "key", ["train.seed=7", "model.dropout=0.2", "data.max_length=3", "train.batch_tokens=9", "train.ema=0.9"]
)
def test_what_would_make_another_run_is_refused_by_name(key):
    with pytest.raises(TrainingError, match=key.partition("=")[0]):
        check_same_run(Config(), load_config(None, overrides=[key]), where="runs/x")


@pytest.mark.parametrize("falls", [["train.schedule=cosine", "train.peak_rate=0.01"], ["train.fall_steps=500"]])
def test_the_end_of_a_rate_that_falls_to_nothing_may_not_move(falls):
    stored = load_config(None, overrides=falls)
    with pytest.raises(TrainingError, match="max_steps"):
        check_same_run(stored, load_config(None, overrides=[*falls, "train.max_steps=7000"]), where="runs/x")
