"""A trace as JSON: it round-trips to the last bit, and errors name what is wrong with a file."""

from __future__ import annotations

import base64
import copy
import json

import numpy as np
import pytest

import vitrail
from vitrail.errors import TraceError, VitrailError
from vitrail.trace import FORMAT, VERSION, Trace


@pytest.fixture(scope="module")
def trace(small_translator):
    return small_translator(positions="rope").trace("w1 w2 w3", to="fr", reference="w4")


def arrays_of(value, place=""):
    """Every array of a document by its place in it."""
    if isinstance(value, np.ndarray):
        return {place: value}
    if isinstance(value, dict):
        return {key: one for name, inner in value.items() for key, one in arrays_of(inner, f"{place}/{name}").items()}
    return {}


def without_arrays(value):
    if isinstance(value, np.ndarray):
        return value.shape
    return {key: without_arrays(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def test_what_was_saved_comes_back_to_the_last_bit(trace, tmp_path):
    trace.document["arrays"]["logits"][0, 0] = np.nan
    try:
        trace.save(tmp_path / "trace.json")
        again = vitrail.Trace.load(tmp_path / "trace.json")
        before, after = arrays_of(trace.document), arrays_of(again.document)
        assert list(before) == list(after)
        for place, array in before.items():
            assert after[place].dtype == np.float32
            assert array.tobytes() == after[place].tobytes(), place
        assert without_arrays(trace.document) == without_arrays(again.document)
        assert again.names() == trace.names()
    finally:
        trace.document["arrays"]["logits"][0, 0] = 0


def test_numbers_that_two_steps_share_are_written_once(trace):
    document = json.loads(trace.to_json())
    shared = {name: held["same"] for name, held in document["arrays"].items() if "same" in held}
    assert shared["encoder.0.output"] == "encoder.0.add_norm_2.output"
    assert shared["source.sum"] == "source.embedding", "with rotary positions nothing is added"
    names = list(document["arrays"])
    again = Trace.from_dict(document)
    for name, earlier in shared.items():
        assert names.index(earlier) < names.index(name) and "data" in document["arrays"][earlier]
        assert again[name] is not again[earlier], "changing one would change the other"
    for name, held in document["arrays"].items():
        assert ("same" in held) == any(
            np.array_equal(trace[name], trace[other]) for other in names[: names.index(name)]
        ), name


def test_hidden_positions_survive_as_minus_infinity(trace):
    again = Trace.from_dict(json.loads(trace.to_json()))
    scaled = again["decoder.0.self_attention.scaled"]
    assert np.isneginf(scaled[:, 0, 1:]).all()
    assert (again["decoder.0.self_attention.weights"][:, 0, 1:] == 0).all()


def test_the_json_is_what_any_program_can_read(trace):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(trace.to_json(), parse_constant=refuse)
    assert (document["format"], document["version"]) == (FORMAT, VERSION)
    assert document["vitrail"] == vitrail.__version__
    encoded = document["arrays"]["encoder.0.self_attention.q"]
    data = np.frombuffer(base64.b64decode(encoded["data"]), dtype="<f4").reshape(encoded["shape"])
    assert np.array_equal(data, trace["encoder.0.self_attention.q"])


def test_a_name_that_is_not_there_is_answered_with_the_nearest(trace):
    with pytest.raises(TraceError, match=r"encoder\.0\.self_attention\.weights"):
        trace["encoder.0.self_attention.weight"]


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_trace_names_its_writer_and_is_refused(trace, version):
    document = {**trace.to_dict(), "version": version, "vitrail": "9.1"}
    with pytest.raises(VitrailError) as caught:
        Trace.from_dict(document)
    assert f"version {version}" in caught.value.what and "vitrail 9.1" in caught.value.what
    assert "upgrade" in str(caught.value.fix)


def damaged(document, place, value):
    """The document with one value replaced or removed."""
    harmed = copy.deepcopy(document)
    *way, last = place
    inner = harmed
    for step in way:
        inner = inner[step]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return harmed


Q = ("arrays", "encoder.0.self_attention.q")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("format",), "something else", "not a Vitrail trace"),
        (("version",), ..., "version"),
        (("version",), True, "version"),
        (("version",), "1", "version"),
        (("model",), ..., "model"),
        (("model", "config"), [], "model.config"),
        (("source", "ids"), ..., "source.ids"),
        (("target", "input_ids"), None, "target.input_ids"),
        (("search", "steps"), {}, "search.steps"),
        (("vocabulary",), ..., "vocabulary"),
        (("arrays",), [], "arrays"),
        (Q, "AAAA", "arrays.encoder.0.self_attention.q"),
        ((*Q, "shape"), [4, 5], "arrays.encoder.0.self_attention.q"),
        ((*Q, "shape"), [4, -5, 10], "arrays.encoder.0.self_attention.q"),
        ((*Q, "shape"), "4", "arrays.encoder.0.self_attention.q"),
        ((*Q, "shape"), [1] * 99, "arrays.encoder.0.self_attention.q"),
        (Q, {"shape": [0, 2**31 - 1], "data": ""}, "arrays.encoder.0.self_attention.q"),
        ((*Q, "data"), "not base64!", "arrays.encoder.0.self_attention.q"),
        ((*Q, "data"), 7, "arrays.encoder.0.self_attention.q"),
        ((*Q, "data"), "AAAA", "arrays.encoder.0.self_attention.q"),
        (("reference", "logits", "data"), "AAA=", "reference.logits"),
        (("arrays", "encoder.0.output", "same"), "encoder.9.output", "arrays.encoder.0.output"),
        (("arrays", "encoder.0.output", "same"), "encoder.0.output", "arrays.encoder.0.output"),
        (("arrays", "encoder.0.output", "same"), "logits", "arrays.encoder.0.output"),
        (("arrays", "encoder.0.output", "same"), 7, "arrays.encoder.0.output"),
        (("arrays", "encoder.0.output", "shape"), [1], "arrays.encoder.0.output"),
        (("weights", "decoder.layers.0.add_norm_1.norm.weight"), {"shape": [24], "same": "x"}, "weights.decoder"),
    ],
)
def test_a_damaged_trace_is_refused_with_the_place(trace, place, value, said):
    with pytest.raises(TraceError) as caught:
        Trace.from_dict(damaged(trace.to_dict(), place, value), where="my.json")
    assert "my.json" in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_trace_is_refused_with_its_path(tmp_path, content):
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"trace\.json"):
        Trace.load(path)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(TraceError, match="no such file"):
        Trace.load(tmp_path / "nothing.json")
    with pytest.raises(TraceError, match="cannot read"):
        Trace.load(tmp_path)


def test_half_a_file_is_never_left_behind(trace, tmp_path, monkeypatch):
    trace.save(tmp_path / "trace.json")
    before = (tmp_path / "trace.json").read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        trace.save(tmp_path / "trace.json")
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]
    assert (tmp_path / "trace.json").read_bytes() == before
