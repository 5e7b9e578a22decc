"""Probes: which sentences, when, what is recorded, and that recording does not change a run."""

import json
import shutil
from itertools import pairwise

import numpy as np
import pytest
import torch

from vitrail.config import TrainConfig, parse_config
from vitrail.data import ValidationSet
from vitrail.errors import ConfigError, TrainingError
from vitrail.trace import Trace
from vitrail.trace.format import decode_array
from vitrail.trace.lines import spread
from vitrail.trace.probes import MOST_PROBABLE, PROBES, log_sum, read_probes
from vitrail.trace.record import listen
from vitrail.trace.run import POINTS, read_run
from vitrail.train import probes as writing
from vitrail.train import train
from vitrail.train.probes import GREEDY, LONGEST, Probe, ProbeLog, choose_probes, record_probes
from vitrail.translator import load

SETS = (
    ValidationSet("one", "en", ["w9 w9", "w1 unheard-of", "w2 w3", "w4"], ["w9", "w1", "w2 w3 w3", "w4 w4"]),
    ValidationSet("two", "fr", ["w5 " * LONGEST, "w6 w7"], ["w5", "w7 w6"]),
)


def sentences(config, translator, sets=SETS):
    return choose_probes(translator.tokenizers, config, sets)


def test_the_first_short_sentences_of_every_set_that_the_model_can_read_in_turn(small_translator):
    found = sentences(TrainConfig(probes=3), small_translator())
    assert found == (Probe("w9 w9", "w9", "en"), Probe("w6 w7", "w7 w6", "fr"), Probe("w2 w3", "w2 w3 w3", "en"))
    assert sentences(TrainConfig(probes=0), small_translator()) == ()
    assert sentences(TrainConfig(), small_translator(), sets=()) == ()


def test_the_users_own_sentences_with_and_without_a_reference(small_translator):
    table = {"train": {"probe_sentences": [{"source": "w1", "reference": "w2", "to": "fr"}]}}
    assert sentences(parse_config(table, where="here").train, small_translator()) == (Probe("w1", "w2", "fr"),)
    with pytest.raises(TrainingError, match="several languages"):
        sentences(parse_config({"train": {"probe_sentences": ["w1"]}}, where="here").train, small_translator())
    for own in ({"source": "w1 nonsense", "to": "en"}, {"source": "w1", "reference": "nonsense", "to": "en"}):
        with pytest.raises(TrainingError, match="'nonsense' is not in the vocabulary"):
            sentences(parse_config({"train": {"probe_sentences": [own]}}, where="here").train, small_translator())
    with pytest.raises(ConfigError, match="'source' is"):
        parse_config({"train": {"probe_sentences": [{"sauce": "w1"}]}}, where="here")


@pytest.mark.parametrize("every", [None, 4])
def test_the_steps_to_look_at(small_translator, tmp_path, every):
    log = ProbeLog(tmp_path, TrainConfig(probe_every=every))
    log.begin(small_translator(), SETS)
    due = [step for step in range(300) if log.is_due(step)]
    if every is None:
        assert due[:9] == [0, 1, 2, 3, 5, 7, 10, 20, 30]
        gaps = [after - before for before, after in pairwise(due)]
        assert max(gaps) == gaps[-1], "they grow"
    else:
        assert due == list(range(0, 300, 4))


def test_what_is_written_down_is_what_the_model_says(small_translator):
    translator, probe = small_translator(), Probe("w1 w2 w3", "w4 w5", "fr")
    (said,) = record_probes(translator, [probe], 7)["sentences"]
    best = translator.translate(probe.source, to="fr", decode=GREEDY)
    assert said["translation"] == best.text
    source = translator.tokenizers.encode_source(probe.source, "fr")
    heard = listen(translator.model, source, translator.target_row(probe.reference))
    assert said["columns"] is None
    np.testing.assert_array_equal(decode_array(said["log_probs"], "here"), heard["log_probs"])
    attention = decode_array(said["attention"], "here")
    assert attention.shape == (3, 5)
    np.testing.assert_allclose(attention.sum(axis=1), 1, rtol=1e-5)


def test_a_large_vocabulary_is_cut_and_its_probabilities_still_sum_to_one(small_translator, monkeypatch):
    monkeypatch.setattr(writing, "WHOLE_VOCABULARY", 5)
    monkeypatch.setattr(writing, "MOST_PROBABLE", 2)
    translator, probe = small_translator(), Probe("w1 w2 w3", "w4 w5", "fr")
    (said,) = record_probes(translator, [probe], 0)["sentences"]
    wanted = translator.target_row(probe.reference)
    assert set(wanted) <= set(said["columns"])
    log_probs, rest = decode_array(said["log_probs"], "here"), decode_array(said["rest"], "here")
    source = translator.tokenizers.encode_source(probe.source, "fr")
    whole = listen(translator.model, source, wanted)["log_probs"]
    np.testing.assert_array_equal(log_probs, whole[:, said["columns"]])
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1) + np.exp(rest), 1, rtol=1e-5)


def test_looking_draws_no_random_numbers_and_leaves_the_weights(small_translator):
    translator = small_translator(dropout=0.5)
    random, weights = torch.get_rng_state(), {n: v.clone() for n, v in translator.model.state_dict().items()}
    record_probes(translator, [Probe("w1", "w2", "en"), Probe("w3", None, "fr")], 0)
    assert torch.equal(random, torch.get_rng_state())
    assert all(torch.equal(value, weights[name]) for name, value in translator.model.state_dict().items())


def test_the_log_goes_back_to_where_it_stood_and_begins_anew_with_other_sentences(small_translator, tmp_path):
    translator = small_translator()
    log = ProbeLog(tmp_path, TrainConfig())
    log.begin(translator, SETS)
    log.look(translator, 0)
    size, kept = log.size(), log.path.read_bytes()
    log.look(translator, 1)
    again = ProbeLog(tmp_path, TrainConfig(), keep_bytes=size)
    again.begin(translator, SETS)
    assert log.path.read_bytes() == kept
    assert not again.is_due(0)
    assert again.is_due(1)
    other = ProbeLog(tmp_path, TrainConfig(probes=1), keep_bytes=size)
    other.begin(translator, SETS)
    assert len(read_probes(tmp_path)["sentences"]) == 1
    assert read_probes(tmp_path)["records"] == []
    none = ProbeLog(tmp_path, TrainConfig(probes=0), keep_bytes=size)
    none.begin(translator, SETS)
    assert read_probes(tmp_path) is None


def test_in_a_trace_there_are_fewer_columns_and_nothing_of_the_probability_is_lost(small_translator, tmp_path):
    translator = small_translator()
    log = ProbeLog(tmp_path, TrainConfig())
    log.begin(translator, SETS)
    for step in (0, 1, 2):
        log.look(translator, step)
    lines = [json.loads(line) for line in log.path.read_text(encoding="utf-8").splitlines()]
    found = read_probes(tmp_path)
    assert [record["step"] for record in found["records"]] == [0, 1, 2]
    assert found["sentences"] == lines[0]["sentences"]
    for number, asked in enumerate(found["sentences"]):
        for record, line in zip(found["records"], lines[1:], strict=True):
            said, whole = record["sentences"][number], line["sentences"][number]
            values, all_values = decode_array(said["log_probs"], "here"), decode_array(whole["log_probs"], "here")
            columns = said["columns"] if said["columns"] is not None else range(all_values.shape[1])
            assert set(asked["reference"]["ids"]) <= set(columns)
            assert len(columns) <= MOST_PROBABLE + len(asked["reference"]["ids"])
            np.testing.assert_array_equal(values, all_values[:, list(columns)])
            rest = 0 if said["rest"] is None else np.exp(decode_array(said["rest"], "here"))
            np.testing.assert_allclose(np.exp(values).sum(axis=1) + rest, 1, rtol=1e-5)


def test_sums_of_logarithms():
    values = np.log(np.array([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]], dtype=np.float32), where=[[True] * 3, [False] * 3],
                    out=np.full((2, 3), -np.inf, dtype=np.float32))  # fmt: skip
    np.testing.assert_allclose(log_sum(values), [np.log(0.6), -np.inf], rtol=1e-6)


def test_spreading_keeps_both_ends_and_the_order():
    assert spread(range(5), 10) == [0, 1, 2, 3, 4]
    chosen = spread(range(1000), 7)
    assert (chosen[0], chosen[-1], len(chosen)) == (0, 999, 7)
    assert chosen == sorted(set(chosen))


@pytest.mark.parametrize("content", ["", "{", "[1]\n", '{"probes": 99}\n', '{"probes": 1}\n', "no json\n"])
def test_probes_and_logs_that_cannot_be_read_are_left_out(tmp_path, content):
    (tmp_path / PROBES).write_text(content, encoding="utf-8")
    (tmp_path / "log.jsonl").write_text(content, encoding="utf-8")
    assert read_probes(tmp_path) is None
    assert read_run(tmp_path) is None


def test_a_run_is_thinned_out_and_keeps_its_order(tmp_path):
    events = [{"event": "start"}]
    for step in range(1, 2001):
        events.append({"event": "step", "step": step, "loss": 1 / step})
        if step % 100 == 0:
            events.append({"event": "validation", "step": step, "loss": 1, "samples": []})
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events) + '{"half', "utf-8")
    found = read_run(tmp_path)["events"]
    steps = [event["step"] for event in found if event["event"] == "step"]
    assert len(steps) == POINTS
    assert (steps[0], steps[-1]) == (1, 2000)
    assert [event for event in found if event["event"] == "validation"] == [e for e in events if "samples" in e]
    assert [event.get("step", 0) for event in found] == sorted(event.get("step", 0) for event in found)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a few steps with its probes."""
    folder = tmp_path_factory.mktemp("run")
    pairs = "".join(f"a{n % 7} b{n % 5} c{n % 3}\tc{n % 3} b{n % 5} a{n % 7}\n" for n in range(105))
    (folder / "pairs.tsv").write_text(pairs, encoding="utf-8")
    table = {
        "model": {"preset": "tiny", "d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1},
        "data": {
            "pairs": str(folder / "pairs.tsv"),
            "validation_pairs": str(folder / "pairs.tsv"),
            "vocabulary": "word",
            "vocabulary_size": 100,
        },
        "train": {"max_steps": 6, "batch_tokens": 64, "log_every": 1, "validate_every": 3, "threads": 1},
    }
    train(parse_config(table, where="here"), folder / "run")
    return table, folder / "run"


def test_a_run_keeps_its_way_from_untrained_to_trained_and_traces_carry_it(run):
    _, out = run
    found = read_probes(out)
    assert [record["step"] for record in found["records"]] == [0, 1, 2, 3, 5, 6]
    trace = load(out).trace("a1 b1 c1")
    assert trace.document["probes"] == found
    assert [event["step"] for event in trace.document["run"]["events"] if event["event"] == "step"] == [*range(1, 7)]
    assert Trace.from_dict(json.loads(trace.to_json())).document["probes"] == found


def test_a_run_that_is_made_longer_is_the_run_that_was_meant_to_be_longer(run, tmp_path):
    table, out = run
    longer = {**table, "train": {**table["train"], "max_steps": 8}}
    shutil.copytree(out, tmp_path / "longer")
    train(parse_config(longer, where="here"), tmp_path / "longer")
    train(parse_config(longer, where="here"), tmp_path / "whole")
    both = [(tmp_path / name / PROBES).read_bytes() for name in ("longer", "whole")]
    assert both[0] == both[1]
    train(parse_config(longer, where="here"), tmp_path / "whole")  # already over: nothing is added or lost
    assert (tmp_path / "whole" / PROBES).read_bytes() == both[0]


def test_probes_off_is_the_same_run_without_them(run, tmp_path):
    table, out = run
    off = {**table, "train": {**table["train"], "probes": 0}}
    train(parse_config(off, where="here"), tmp_path / "off")
    assert not (tmp_path / "off" / PROBES).exists()
    assert (tmp_path / "off" / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()
