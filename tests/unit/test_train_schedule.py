"""The shape of every schedule, held against another way to say it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrail.config import TrainConfig
from vitrail.train.schedule import constant, cosine, falling, inverse_sqrt, make_schedule, paper

PEAK = st.floats(1e-5, 1.0)
WARMUP = st.integers(1, 50)


@given(peak=PEAK, warmup=WARMUP, step=st.integers(1, 500), d_model=st.integers(1, 1024))
def test_inverse_sqrt_is_the_papers_curve_scaled_to_its_peak(peak, warmup, step, d_model):
    curve = paper(d_model, warmup)
    assert inverse_sqrt(peak, warmup)(step) == pytest.approx(peak * curve(step) / curve(warmup))


@given(peak=PEAK, warmup=WARMUP, data=st.data())
def test_a_warm_up_rises_by_the_same_amount_at_every_step(peak, warmup, data):
    step = data.draw(st.integers(1, warmup))
    for rate in (constant(peak, warmup), cosine(peak, warmup, warmup + 20), inverse_sqrt(peak, warmup)):
        assert rate(step) == pytest.approx(peak * (step / warmup))


@given(peak=PEAK, warmup=WARMUP, later=st.integers(0, 10_000))
def test_a_constant_rate_stays_at_its_peak(peak, warmup, later):
    assert constant(peak, warmup)(warmup + later) == pytest.approx(peak)
    assert constant(peak, 0)(1 + later) == peak


@given(peak=PEAK, warmup=st.integers(0, 50), half=st.integers(1, 100), data=st.data())
def test_a_cosine_loses_as_much_before_its_middle_as_after(peak, warmup, half, data):
    rate, away = cosine(peak, warmup, warmup + 2 * half), data.draw(st.integers(0, half - 1))
    middle = warmup + half
    assert rate(middle) == pytest.approx(peak / 2)
    assert rate(middle - away) + rate(middle + away) == pytest.approx(peak)


@pytest.mark.parametrize("max_steps", [1, 9, 10])
def test_a_cosine_that_has_no_step_after_its_warm_up_only_rises(max_steps):
    rate, line = cosine(0.01, 10, max_steps), constant(0.01, 10)
    assert [rate(step) for step in range(1, 21)] == [line(step) for step in range(1, 21)]


def test_the_settings_name_the_schedule():
    shape = {"warmup_steps": 7, "max_steps": 60, "peak_rate": 0.01}
    wanted = {
        "inverse_sqrt": inverse_sqrt(0.01, 7),
        "cosine": cosine(0.01, 7, 60),
        "constant": constant(0.01, 7),
    }
    asked = {name: make_schedule(TrainConfig(schedule=name, **shape), 64) for name in wanted}
    asked["paper"] = make_schedule(TrainConfig(schedule="paper", warmup_steps=7, max_steps=60), 64)
    wanted["paper"] = paper(64, 7)
    asked["fall"] = make_schedule(TrainConfig(schedule="constant", fall_steps=20, **shape), 64)
    wanted["fall"] = falling(constant(0.01, 7), 20, 60)
    curves = {name: [rate(step) for step in range(1, 61)] for name, rate in wanted.items()}
    assert {name: [rate(step) for step in range(1, 61)] for name, rate in asked.items()} == curves
    assert len({tuple(curve) for curve in curves.values()}) == 5
