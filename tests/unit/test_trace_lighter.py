"""Omitting the insides of layers from a trace that is too large for a page."""

import itertools

import numpy as np
import pytest

from vitrail.errors import TraceError
from vitrail.trace import Trace, inside, lighter
from vitrail.trace.lighter import left_out

SENTENCE = "w3 w8 w1"


@pytest.fixture(scope="module")
def trace(small_translator) -> Trace:
    return small_translator(encoder_layers=4, decoder_layers=3).trace(SENTENCE, to="fr", max_mb=0)


def size(trace) -> int:
    return len(trace.to_json().encode())


def test_what_fits_stays_whole(trace):
    assert lighter(trace) is trace and left_out(trace) == []


@pytest.mark.parametrize("share", [0.9, 0.7, 0.5])
def test_it_fits_and_what_is_left_is_as_it_was(trace, share):
    bare = size(Trace({**trace.document, "arrays": {}}))
    room = (size(trace) - bare) * share
    light = lighter(trace, room / 1e6)
    assert size(light) - bare <= room
    assert set(light.names()) < set(trace.names())
    assert all(np.array_equal(light[name], trace[name]) for name in light.names())


def test_the_middle_goes_first_and_the_bottom_and_the_output_stay_longest(trace):
    order = [left_out(lighter(trace, mb)) for mb in np.linspace(size(trace) / 1e6, 0, 60)]
    assert all(set(less) <= set(more) for less, more in itertools.pairwise(order))
    first = [
        next(n for n, gone in enumerate(order) if part in gone)
        for part in ("encoder.2", "encoder.3", "decoder.0", "encoder.0")
    ]
    assert first == sorted(first)
    assert set(order[-1]) == {*(f"encoder.{n}" for n in range(4)), *(f"decoder.{n}" for n in range(3)), "output"}


def test_where_the_heads_look_and_what_leaves_a_layer_are_always_there(trace):
    light = lighter(trace, 0)
    assert light.document["inside_of"] == []
    for name in ("encoder.2.self_attention.weights", "decoder.1.cross_attention.weights", "encoder.2.output"):
        assert np.array_equal(light[name], trace[name])
    assert "encoder.2.self_attention.q" not in light.names() and "logits" not in light.names()
    assert {"source.sum", "encoder.output", "decoder.output", "log_probs"} <= set(light.names())


def test_a_layer_that_was_asked_for_keeps_its_inside(small_translator):
    chosen = small_translator(encoder_layers=4).trace(SENTENCE, to="fr", layers=["encoder.1"])
    assert lighter(chosen, 0).document["inside_of"] == ["encoder.1"]


def test_the_insides_and_the_lighter_trace_make_the_whole(trace):
    light = lighter(trace, 0)
    together = {*light.names()}.union(*(inside(trace, part) for part in left_out(light)))
    assert together == set(trace.names())


def test_it_survives_a_file(trace, tmp_path):
    light = lighter(trace, 0)
    light.save(tmp_path / "light.json")
    assert left_out(Trace.load(tmp_path / "light.json")) == left_out(light)


def test_a_layer_that_is_not_there(trace):
    with pytest.raises(TraceError, match=r"encoder\.9"):
        inside(trace, "encoder.9")
