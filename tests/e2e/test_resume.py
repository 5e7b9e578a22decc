"""A run that was killed and resumed is the same run: equal weights to the last bit, equal logs except for the clock."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from same_run import assert_same_run


def start(command):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "vitrail", *map(str, command)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=environment,
    )


def disturb(command, out, number, has_come):
    """Start the run, signal it once `has_come` is true, and return its exit code and error output."""
    process = start(command)
    while process.poll() is None and not has_come(out):
        time.sleep(0.001)
    process.send_signal(number)
    _, errors = process.communicate()
    return process.returncode, errors


def lines(out):
    log = out / "log.jsonl"
    return log.read_text(encoding="utf-8").count("\n") if log.exists() else 0


MOMENTS = {
    "before the first checkpoint": lambda out: lines(out) >= 1,
    "after a checkpoint": lambda out: (out / "checkpoints" / "step-000010").exists(),
    "while a checkpoint is being written": lambda out: any((out / "checkpoints").glob(".*20.partial")),
    "while the weights are being replaced": lambda out: (
        (out / "checkpoints" / "step-000020").exists() and any(out.glob(".*partial"))
    ),
    "in the middle of an epoch": lambda out: lines(out) >= 7,
}


def test_killed_at_many_moments_and_resumed_it_is_the_same_run(run_command, trained, tmp_path):
    out = tmp_path / "killed"
    for moment, has_come in MOMENTS.items():
        code, errors = disturb(run_command(out), out, signal.SIGKILL, has_come)
        assert code == -signal.SIGKILL, (moment, errors)
    process = start(run_command(out))
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert_same_run(trained, out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal_it_saves_says_how_to_go_on_and_is_the_same_run(run_command, trained, tmp_path, number):
    out = tmp_path / "stopped"
    code, errors = disturb(run_command(out), out, number, lambda out: lines(out) >= 3)
    assert code == 130
    assert "run the same command again to resume" in errors
    steps = [path.name for path in (out / "checkpoints").iterdir()]
    assert steps, "a checkpoint was written"
    process = start(run_command(out))
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "resuming from step" in errors
    assert_same_run(trained, out)


def test_a_run_goes_on_when_whoever_listened_has_left(run_command, trained, tmp_path):
    out = tmp_path / "unheard"
    process = start(run_command(out))
    assert process.stderr.readline()
    process.stderr.close()
    assert process.wait() == 0
    process.stdout.close()
    assert_same_run(trained, out)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
def test_a_run_goes_on_when_its_words_find_no_room(run_command, trained, tmp_path):
    out = tmp_path / "unheard"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "vitrail", *map(str, run_command(out))], stderr=full, check=False)
    assert done.returncode == 0
    assert_same_run(trained, out)
