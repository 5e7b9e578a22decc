"""The proof: every recorded step follows from those before it, in float64 and without torch, for every option.

And the recorded numbers are those of the fast path: the same logits, and the search's own log-probabilities.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy_steps import Recomputation, deviation

from vitrail.config import POSITIONS, DecodeConfig
from vitrail.text import EOS
from vitrail.trace import Trace
from vitrail.translator import Translator

TOLERANCE = 1e-4
SENTENCE = "w3 w8 w1 w20 w5"
OPTIONS: dict[str, list[Any]] = {
    "norm": ["post", "pre"],
    "kv_heads": [4, 2, 1],
    "activation": ["relu", "gelu", "silu"],
    "bias": [True, False],
    "output_bias": [False, True],
    "embedding_scale": [True, False],
    "tie_embeddings": ["all", "target", "none"],
    "encoder_layers": [1, 2],
    "decoder_layers": [2, 1, 3],
    "d_k": [6, 10],
}


def choices() -> Iterator[dict[str, Any]]:
    """Every kind of positions with both norms, and all other values in many combinations."""
    dice = random.Random(0)
    for positions, norm, _ in itertools.product(POSITIONS, OPTIONS["norm"], range(3)):
        others = {name: dice.choice(values) for name, values in OPTIONS.items()}
        yield {**others, "positions": positions, "norm": norm, "max_distance": 2}


CHOICES = list(choices())


def describe(choice: dict[str, Any]) -> str:
    return "-".join(str(value) for value in choice.values())


@pytest.fixture(scope="module", params=range(len(CHOICES)), ids=lambda number: describe(CHOICES[number]))
def recorded(request: pytest.FixtureRequest, small_translator: Callable[..., Any]) -> tuple[Translator, Trace]:
    number: int = request.param
    settings = [
        DecodeConfig(beam_size=3, top_beams=2, max_extra=4),
        DecodeConfig(beam_size=1, max_extra=4),
        DecodeConfig(sample=True, top_beams=2, max_extra=4),
    ]
    translator = small_translator(seed=number, decode=settings[number % 3], **CHOICES[number])
    off = {"decoder.0.cross_attention": [0, 3], "encoder.0.self_attention": [1]} if number % 4 == 1 else None
    prefix = "w7" if number % 5 == 2 else ""
    return translator, translator.trace(
        SENTENCE, to="fr", layers=["all"], heads_off=off, prefix=prefix, reference="w1 w2"
    )


def recomputation(translator: Translator, trace: Trace) -> Recomputation:
    weights = trace.weights
    # Learned positions are not among the trace's weights: the looked-up vectors are recorded instead.
    state = {name: value.double().numpy() for name, value in translator.model.state_dict().items()}
    return Recomputation(
        trace.document,
        lambda name: trace[name].astype(np.float64),
        lambda name: weights[name].astype(np.float64) if name in weights else None,
        lambda side: state[f"{side}_positions.table"],
    )


def test_the_choices_hold_every_value_of_every_option():
    for name, values in (OPTIONS | {"positions": POSITIONS}).items():
        assert {choice[name] for choice in CHOICES} == set(values)
    assert {(choice["positions"], choice["norm"]) for choice in CHOICES} == {
        (positions, norm) for positions in POSITIONS for norm in ("post", "pre")
    }


def test_every_recorded_step_follows_from_those_before_it(recorded):
    translator, trace = recorded
    checked = {}
    for name, computed in recomputation(translator, trace).steps():
        assert name not in checked, f"{name} is computed twice"
        checked[name] = deviation(trace[name], computed)
    assert sorted(checked) == sorted(trace.names()), (
        "a recorded array that nothing checks, or one that was not recorded"
    )
    worst = max(checked, key=lambda name: checked[name])
    assert checked[worst] <= TOLERANCE, f"{worst} deviates by {checked[worst]}"


def test_the_weights_are_the_models_own(recorded):
    translator, trace = recorded
    state = translator.model.state_dict()
    for name, values in trace.weights.items():
        assert np.array_equal(values, state[name].numpy()), name
    tables = {"source_positions.table", "target_positions.table", "embeddings.source", "embeddings.target"}
    assert state.keys() - trace.weights.keys() <= tables
    for side, table in (
        ("source", translator.model.embeddings.source_table_VD()),
        ("target", translator.model.embeddings.target_table_VD()),
    ):
        held = trace.document["embeddings"][side]
        assert np.array_equal(held["rows"], table.detach()[held["ids"]].numpy())


def test_the_fast_path_gives_the_same_numbers(recorded):
    translator, trace = recorded
    off = trace.document["what_if"]["heads_off"]
    model = (translator.without_heads(off) if off else translator).model
    source = torch.tensor([trace.document["source"]["ids"]])
    for side, logits, log_probs in (
        ("target", trace["logits"], trace["log_probs"]),
        ("reference", trace.document["reference"]["logits"], trace.document["reference"]["log_probs"]),
    ):
        fed = torch.tensor([trace.document[side]["input_ids"]])
        with torch.inference_mode():
            assert deviation(logits, model(source, fed)[0].double().numpy()) <= TOLERANCE
            assert deviation(log_probs, model.log_probs(source, fed)[0].double().numpy()) <= TOLERANCE


def test_the_search_is_the_one_the_translator_runs_and_its_numbers_are_the_recorded_ones(recorded):
    translator, trace = recorded
    what_if = trace.document["what_if"]
    changed = translator.without_heads(what_if["heads_off"]) if what_if["heads_off"] else translator
    translation = changed.translate(SENTENCE, to="fr", prefix=what_if["prefix"])
    returned = [result for result in trace.document["search"]["results"] if result["returned"]]
    assert trace.text == translation.text
    assert [result["text"] for result in returned] == [other.text for other in translation.alternatives]
    assert [result["score"] for result in returned] == pytest.approx([o.score for o in translation.alternatives])
    ids = trace.document["target"]["ids"]
    assert returned[0]["ids"] == ids
    chosen = trace["log_probs"][np.arange(len(ids)), ids]
    assert np.abs(chosen - returned[0]["log_probs"]).max() <= TOLERANCE
    if trace.document["search"]["kind"] == "beam" and translator.config.beam_size == 1:
        allowed = trace["log_probs"].copy()
        allowed[:, list(translator.tokenizers.forbidden)] = -np.inf
        begun = len(translator.tokenizers.target.encode(what_if["prefix"]))
        assert allowed.argmax(-1)[begun:].tolist() == ids[begun:], "greedy search takes the most probable word"
    if returned[0]["finished"]:
        assert ids[-1] == EOS


@pytest.mark.parametrize("number", [0, 20, 25, 35])
def test_one_changed_number_anywhere_is_noticed(small_translator, number):
    translator = small_translator(**CHOICES[number])
    trace = translator.trace(SENTENCE, to="fr", layers=["all"])
    steps = recomputation(translator, trace)
    for name in trace.names():
        array = trace.document["arrays"][name]
        place = (*(size // 2 for size in array.shape[:-1]), 0)  # a position that no mask hides
        kept = array[place]
        array[place] += 0.01 * np.abs(array[np.isfinite(array)]).max() + 1e-3
        found = {at: deviation(trace[at], computed) for at, computed in steps.steps()}
        array[place] = kept
        assert found[name] > TOLERANCE, name
