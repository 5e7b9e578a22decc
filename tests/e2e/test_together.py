"""Several processes train one model: the gradients of one process, the same run after a kill, one output for all."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from door import command
from safetensors.torch import load_file
from same_run import assert_same_run, events
from together import Strike, Together

from vitrail.data.phrasebook import training_pairs
from vitrail.train.checkpoint import check_checkpoint

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")

SETTINGS = {
    "model.d_model": 16,
    "model.heads": 2,
    "model.d_ff": 24,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "data.vocabulary_size": 450,
    "train.batch_tokens": 200,
    "train.warmup_steps": 20,
    "train.max_steps": 24,
    "train.checkpoint_every": 6,
    "train.validate_every": 12,
    "train.log_every": 1,
    "train.bleu_sentences": 2,
    "train.samples": 1,
    "train.probes": 1,
    "train.subword_dropout": 0.2,
    "train.ema": 0.9,
    "train.threads": 1,
}
# Without randomness, so that it does not matter which process sees what.
PLAIN = {"model.dropout": 0.0, "train.max_steps": 1, "train.checkpoint_every": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A small corpus, prepared once."""
    folder = tmp_path_factory.mktemp("corpus")
    pairs = [pair for pair in training_pairs(1200, seed=3) if pair.target_language == "en"][:310]
    for name, chosen in (("pairs", pairs[:300]), ("validation_pairs", pairs[300:])):
        lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in chosen)
        (folder / f"{name}.tsv").write_text(lines, encoding="utf-8")
    files = {f"data.{name}": folder / f"{name}.tsv" for name in ("pairs", "validation_pairs")}
    size = f"data.vocabulary_size={SETTINGS['data.vocabulary_size']}"
    changes = [part for key, value in files.items() for part in ("--set", f"{key}={value}")]
    command("prepare", "--out", folder / "prepared", "--set", size, *changes)
    return folder / "prepared"


@pytest.fixture
def typed(data):
    """The command line of a run."""

    def command_line(out, **changes):
        changed = {key.replace("__", "."): value for key, value in changes.items()}
        settings = {**SETTINGS, "data.prepared": data, **changed}
        return [
            "train",
            "--out",
            out,
            *(part for key, value in settings.items() for part in ("--set", f"{key}={value}")),
        ]

    return command_line


@pytest.fixture(scope="module")
def untouched(data, tmp_path_factory):
    """A function that returns the folder of an uninterrupted run with that many processes."""
    done = {}

    def run(count):
        if count not in done:
            done[count] = tmp_path_factory.mktemp("untouched") / "run"
            changes = {**SETTINGS, "data.prepared": data}
            options = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
            finish(Together(count, ["train", "--out", done[count], *options], done[count].parent / "said"))
        return done[count]

    return run


def finish(together):
    codes, said = together.end()
    assert codes == [0] * len(codes), said
    assert not any(said[1:]), "only the first one reports"
    return said[0]


def lines(out):
    log = out / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


# the gradients


def gradients(out, step=1):
    """Adam's running mean of the gradients."""
    tensors = load_file(out / "checkpoints" / f"step-{step:06d}" / "optimizer.safetensors")
    found = {name: value for name, value in tensors.items() if name.endswith("exp_avg")}
    assert all(value.abs().max() > 0 for value in found.values())
    return found


@pytest.mark.parametrize(
    ("count", "changes"),
    [
        pytest.param(2, {"train.subword_dropout": 0.1}, marks=pytest.mark.slow),
        (
            2,
            {"train.accumulate": 3, "train.clip_norm": 0.1, "model.positions": "relative", "model.output_bias": "true"},
        ),
        (3, {"train.batch_tokens": 25, "train.accumulate": 2, "model.positions": "learned"}),  # too few rows for three
    ],
)
def test_several_processes_have_the_gradients_of_one(typed, tmp_path, count, changes):
    one, several = tmp_path / "one", tmp_path / "several"
    command(*typed(one, **PLAIN, **changes))
    finish(Together(count, typed(several, **PLAIN, **changes), tmp_path / "said"))
    wanted, found = gradients(one), gradients(several)
    assert wanted.keys() == found.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, atol=1e-6, rtol=1e-6, msg=name)
    (wanted,), (found,) = ([event for event in events(run) if event["event"] == "step"] for run in (one, several))
    assert found["loss"] == pytest.approx(wanted["loss"], rel=1e-6)


@pytest.mark.slow
def test_after_some_steps_weights_are_still_those_of_one_process(typed, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    # Without biases: key biases have no effect, and Adam amplifies their noise.
    changes = {**PLAIN, "train.max_steps": 8, "train.checkpoint_every": 8, "model.bias": "false"}
    command(*typed(one, **changes))
    finish(Together(2, typed(two, **changes), tmp_path / "said"))
    wanted, found = (load_file(run / "model.safetensors") for run in (one, two))
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, atol=1e-6, rtol=1e-5, msg=name)


@pytest.mark.slow
def test_several_processes_start_from_the_same_model_as_one(typed, untouched, tmp_path):
    one, two, start = tmp_path / "one", tmp_path / "two", untouched(1)
    changes = {"train.start_from": start, "train.freeze": "['encoder']", "model.bias": "true"}
    steps = {**PLAIN, "train.max_steps": 3, "train.checkpoint_every": 3}
    command(*typed(one, **steps, **changes))
    finish(Together(2, typed(two, **steps, **changes), tmp_path / "said"))
    before, wanted, found = (load_file(run / "model.safetensors") for run in (start, one, two))
    for name, value in wanted.items():
        if "key.bias" not in name:  # without effect, so that Adam amplifies their noise
            torch.testing.assert_close(found[name], value, atol=1e-5, rtol=1e-4, msg=name)
        assert torch.equal(found[name], before[name]) == name.startswith("encoder.")


# the same run


@pytest.mark.parametrize(("count", "victim"), [(2, 1), pytest.param(3, 0, marks=pytest.mark.slow)])
def test_one_is_killed_the_others_say_so_and_resumed_it_is_the_same_run(typed, untouched, tmp_path, count, victim):
    out = tmp_path / "run"
    strike = Strike(victim, signal.SIGKILL, after=10)
    codes, said = Together(count, typed(out), tmp_path / "said", strike).end()
    for rank in range(count):
        if rank == victim:
            assert codes[rank] == -signal.SIGKILL
            continue
        assert codes[rank] == 2
        assert "Traceback" not in said[rank]
        assert f"another of the run's {count} processes died" in said[rank]
        assert f"at {out}" in said[rank] and "run the same command again" in said[rank]
    for checkpoint in (out / "checkpoints").glob("step-*"):
        check_checkpoint(checkpoint)
    assert "resuming from step 6" in finish(Together(count, typed(out), tmp_path / "said"))
    assert_same_run(untouched(count), out)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_to_any_of_them_stops_all_with_a_checkpoint(typed, untouched, tmp_path, number):
    out, strike = tmp_path / "run", Strike(int(number == signal.SIGTERM), number, after=9)
    codes, said = Together(2, typed(out), tmp_path / "said", strike).end()
    assert codes == [130, 130], said
    assert "run the same command again to resume" in said[0] and not said[1]
    assert json.loads((out / "checkpoints" / "step-000010" / "state.json").read_text())["processes"] == 2
    finish(Together(2, typed(out), tmp_path / "said"))
    assert_same_run(untouched(2), out)


@pytest.mark.slow
def test_all_stop_when_the_first_has_lost_its_patience(typed, tmp_path):
    changes = {"train.patience": 1, "train.validate_every": 1, "train.schedule": "constant", "train.peak_rate": 1e-12}
    said = finish(Together(2, typed(tmp_path / "run", **changes), tmp_path / "said"))
    assert "(patience)" in said


@pytest.mark.slow
def test_going_on_with_another_number_of_processes_is_said(typed, tmp_path):
    out = tmp_path / "run"
    finish(Together(2, typed(out, train__max_steps=6), tmp_path / "said"))
    said = command(*typed(out, train__max_steps=8)).stderr
    assert "the run started with 2 processes and resumes with 1: equally good, but not identical to the last" in said


# one output


def test_what_is_wrong_before_training_is_said_once(typed, tmp_path):
    out = tmp_path / "run"
    for wrong, words in (
        (typed(out, model__heads=3), "do not divide d_model"),
        (typed(out, data__prepared=tmp_path / "nothing"), "there is no such folder"),
    ):
        codes, said = Together(2, wrong, tmp_path / "said").end()
        assert codes == [2, 2]
        assert words in said[0] and "Traceback" not in said[0] and not said[1]
        assert not (out / "checkpoints").exists()


@pytest.mark.slow
def test_what_goes_wrong_in_training_is_said_once_with_the_lines_of_all(typed, tmp_path):
    changes = {"train.schedule": "constant", "train.peak_rate": 1e30, "train.warmup_steps": 0, "train.probes": 0}
    codes, said = Together(2, typed(tmp_path / "run", **changes), tmp_path / "said").end()
    assert codes == [2, 2]
    assert said[0].count("error: ") == 1 and said[0].count("epoch 0, batch") == 2
    assert not said[1]


# torchrun itself


def torchrun(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        **options,
    )


@pytest.mark.slow
def test_torchrun_starts_them_and_ctrl_c_stops_them_with_a_checkpoint(typed, tmp_path):
    out = tmp_path / "run"
    process = torchrun("--nproc-per-node", 2, "-m", "vitrail", *typed(out, train__max_steps=100_000))
    while process.poll() is None and lines(out) < 8:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()
    assert "run the same command again to resume" in said
    assert list((out / "checkpoints").glob("step-*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")
def test_torchrun_brings_back_one_that_died(typed, untouched, tmp_path):
    out = tmp_path / "run"
    process = torchrun("--nproc-per-node", 2, "--max-restarts", 1, "-m", "vitrail", *typed(out))
    while process.poll() is None and lines(out) < 10:
        time.sleep(0.001)
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(workers[-1]), signal.SIGKILL)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert "resuming from step" in said and "finished at step 24" in said
    assert_same_run(untouched(2), out)
