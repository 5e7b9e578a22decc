"""Two trainings into one folder: the second is refused, and the first is unaffected."""

import os
import signal
import subprocess
import sys
import time

import pytest
from door import command

from vitrail.errors import TrainingError
from vitrail.train.lock import LOCK, sole_writer


@pytest.fixture
def running(run_command, tmp_path):
    """The folder and process of a training that has written a checkpoint and is now paused."""
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-m", "vitrail", *map(str, run_command(out, "train.max_steps=1000000"))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while process.poll() is None and not (out / "model.safetensors").exists():
        time.sleep(0.005)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    yield out, process
    process.kill()
    process.wait()


def files(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_a_second_training_is_refused_and_touches_nothing(running, run_command, tmp_path):
    out, process = running
    before = files(out)
    for typed in (run_command(out), run_command(out, "train.seed=2"), ["average", out]):
        second = command(*typed, check=False)
        assert second.returncode == 2
        assert "another training is writing to this folder" in second.stderr
        assert f"at {out}" in second.stderr
        assert "wait for it to finish, or choose another --out" in second.stderr
    assert files(out) == before

    process.kill()
    process.wait()
    assert (out / LOCK).exists(), "a process that is killed removes nothing"
    over = command(*run_command(out, "train.max_steps=1"))  # it has already done more than that
    assert "resuming from step" in over.stderr and "finished at step" in over.stdout
    command("average", out)
    assert not (out / LOCK).exists()


def test_one_writer_after_another(tmp_path):
    out = tmp_path / "new" / "run"
    with sole_writer(out):
        with pytest.raises(TrainingError, match="another training"), sole_writer(out):
            pass
        assert out.is_dir()
    assert not out.exists(), "what was made for nothing is not left behind"
    with sole_writer(out):
        (out / "model").touch()
    with sole_writer(out):
        pass
    assert [path.name for path in out.iterdir()] == ["model"]


def test_a_lock_whose_file_was_just_removed_is_none(tmp_path, monkeypatch):
    """Between opening and locking the file, its owner may end and remove it; that lock would keep nobody out."""
    opened, real = [], os.open

    def open_late(path, *arguments):
        descriptor = real(path, *arguments)
        if not opened:
            path.unlink()
        opened.append(descriptor)
        return descriptor

    monkeypatch.setattr(os, "open", open_late)
    with sole_writer(tmp_path):
        monkeypatch.undo()
        assert len(opened) == 2
        with pytest.raises(TrainingError), sole_writer(tmp_path):
            pass
