"""Machine failures. A run that is killed again and again equals one that never was. A full or read-only disk and
missing data are reported, and the last good checkpoint stays intact."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import dying
import pytest
from door import command
from dying import Fault
from same_run import assert_same_run

from vitrail import storage
from vitrail.data import Prepared
from vitrail.data.phrasebook import training_pairs
from vitrail.errors import FolderError
from vitrail.train.checkpoint import check_checkpoint

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")

SETTINGS = {
    "model.d_model": 16,
    "model.heads": 2,
    "model.d_ff": 24,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "model.attention_dropout": 0.1,
    "data.vocabulary_size": 450,
    "train.batch_tokens": 200,
    "train.warmup_steps": 40,
    "train.max_steps": 100,
    "train.checkpoint_every": 5,
    "train.keep_checkpoints": 3,
    "train.average": 2,
    "train.validate_every": 20,
    "train.log_every": 1,
    "train.bleu_sentences": 2,
    "train.samples": 1,
    "train.probes": 1,
    "train.ema": 0.9,
    "train.use": "ema",
    "train.subword_dropout": 0.2,
    "train.threads": 1,
}
# A lower bound on how often each happens per checkpoint, so that a fault occurs within two checkpoints.
PER_CHECKPOINT = {"write": 5, "flush": 12, "rename": 4, "remove": 1}


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Settings for a run of some hundred fast steps, several epochs of a small corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    pairs = [pair for pair in training_pairs(1200, seed=3) if pair.target_language == "en"][:310]
    for name, chosen in (("pairs", pairs[:300]), ("validation_pairs", pairs[300:])):
        lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in chosen)
        (folder / f"{name}.tsv").write_text(lines, encoding="utf-8")
    return {**SETTINGS, **{f"data.{name}": str(folder / f"{name}.tsv") for name in ("pairs", "validation_pairs")}}


@pytest.fixture(scope="module")
def untouched(settings, tmp_path_factory):
    """A function that returns the folder of an uninterrupted run of that many steps."""
    done = {}

    def run(steps):
        if steps not in done:
            done[steps] = tmp_path_factory.mktemp("untouched") / "run"
            finish({**settings, "train.max_steps": steps}, done[steps])
        return done[steps]

    return run


def finish(settings, out):
    process = dying.start(settings, out)
    process.join()
    assert process.exitcode == 0


def lines(out):
    log = out / "log.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def kill_at_random(settings, out, draw):
    """Start the run and kill it at any moment after a few more steps, or before the first."""
    process, wanted = dying.start(settings, out), lines(out) + draw.randint(0, 8)
    while process.is_alive() and lines(out) < wanted:
        time.sleep(0.001)
    time.sleep(draw.uniform(0, 0.05))
    process.kill()
    process.join()
    return process.exitcode


def kill_by_fault(settings, out, draw, kind):
    fault = Fault(kind, draw.randint(1, 2 * PER_CHECKPOINT[kind]), after=draw.random() < 0.5)
    process = dying.start(settings, out, fault)
    process.join()
    return process.exitcode


def survive(settings, out, kinds, *, seed):
    """Die once in each way, in random order, then finish."""
    draw = random.Random(seed)
    draw.shuffle(kinds)
    for kind in kinds:
        by_chance = kind == "chance"
        code = kill_at_random(settings, out, draw) if by_chance else kill_by_fault(settings, out, draw, kind)
        assert code == -signal.SIGKILL, f"{kind}: the run ended by itself before it was killed"
    finish(settings, out)


def test_killed_five_times_it_is_the_run_that_was_never_touched(settings, untouched, tmp_path):
    survive(settings, tmp_path / "run", ["chance", "write", "flush", "rename", "remove"], seed=1)
    assert_same_run(untouched(100), tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_killed_thirty_times_it_is_the_run_that_was_never_touched(settings, untouched, tmp_path, seed):
    long = {**settings, "train.max_steps": 400}
    survive(long, tmp_path / "run", ["chance", "write", "flush", "rename", "remove", "chance"] * 5, seed=seed)
    assert_same_run(untouched(400), tmp_path / "run")


# system errors


def typed(settings, out):
    return ["train", "--out", out, *(part for key, value in settings.items() for part in ("--set", f"{key}={value}"))]


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(done, *said):
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    for words in (*said, "  at ", "  fix: "):
        assert words in done.stderr[done.stderr.index("error: ") :]


def assert_good(out):
    """Every checkpoint with a final name is complete, and so is the model."""
    found = [path for path in (out / "checkpoints").iterdir() if not path.name.startswith(".")]
    assert found
    for checkpoint in found:
        check_checkpoint(checkpoint)
    assert command("translate", out, "merci").returncode == 0


class Refusing:
    """Makes a system call fail for files of certain names, once armed."""

    def __init__(self, monkeypatch, owner, act, code, names):
        self.active, real = False, getattr(owner, act)

        def refusing(target, *arguments, **options):
            if self.active and any(name in os.fspath(target) for name in names):
                raise OSError(code, os.strerror(code), str(target))
            return real(target, *arguments, **options)

        monkeypatch.setattr(owner, act, refusing)


REFUSALS = {
    "full while writing": (Path, "write_text", errno.ENOSPC, ["state.json"], "the disk is full"),
    "full while flushing": (storage, "flush", errno.ENOSPC, ["optimizer.safetensors"], "the disk is full"),
    "full while logging": (Path, "open", errno.ENOSPC, ["log.jsonl"], "the disk is full"),
    "quota used up by the weights": (storage, "flush", errno.EDQUOT, [".model.safetensors"], "the quota is used up"),
    "read-only for new folders": (Path, "mkdir", errno.EROFS, ["step-"], "Read-only file system"),
    "read-only for renaming": (Path, "replace", errno.EROFS, ["step-"], "Read-only file system"),
    "read-only for removing": (shutil, "rmtree", errno.EROFS, [".leaving"], "Read-only file system"),
    "read-only from the start": (os, "open", errno.EROFS, [".lock"], "Read-only file system"),
    "a disk that fails": (storage, "flush", errno.EIO, ["model.safetensors"], "Input/output error"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_of_the_system_is_named_and_the_run_goes_on_when_it_is_over(
    settings, untouched, tmp_path, monkeypatch, refusal
):
    owner, act, code, names, said = REFUSALS[refusal]
    out, short = tmp_path / "run", {**settings, "train.max_steps": 20, "train.checkpoint_every": 4}
    refusing = Refusing(monkeypatch, owner, act, code, names)
    command(*typed({**short, "train.max_steps": 14}, out))
    before = files(out / "checkpoints")
    refusing.active = True
    done = command(*typed(short, out), check=False)
    refusing.active = False
    assert_refused(done, said, str(out))
    assert_good(out)
    last_good = {path: content for path, content in before.items() if path.parent.name == "step-000014"}
    assert len(last_good) > 4 and last_good.items() <= files(out / "checkpoints").items()
    command(*typed(short, out))
    assert (out / "model.safetensors").read_bytes() == (untouched(20) / "model.safetensors").read_bytes()


@pytest.fixture
def small_disk(tmp_path):
    """A separate disk of 1 MB, if the test may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("may not mount a disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def remount(disk, option):
    subprocess.run(["mount", "-o", f"remount,{option}", disk], check=True)


def test_a_disk_that_is_full_or_read_only_costs_nothing(settings, untouched, small_disk, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)  # its thread would add a traceback
    out = small_disk / "run"
    hoarding = {**settings, "train.keep_checkpoints": 1000}
    assert_refused(command(*typed(hoarding, out), check=False), "the disk is full", str(out))
    assert_good(out)
    remount(small_disk, "size=20m")
    remount(small_disk, "ro")
    before = files(out)
    assert_refused(command(*typed(settings, out), check=False), "Read-only file system", str(out))
    assert files(out) == before
    remount(small_disk, "rw")
    done = command(*typed(settings, out))
    assert "resuming from step" in done.stderr
    assert_same_run(untouched(100), out)


def test_data_that_goes_away_is_named_and_the_run_goes_on_when_it_is_back(settings, untouched, tmp_path):
    out, shard = tmp_path / "run", tmp_path / "run" / "data" / "train-0.tokens"
    short = {**settings, "train.max_steps": 20}
    command(*typed({**short, "train.max_steps": 10}, out))
    checkpoints, aside = files(out / "checkpoints"), shard.rename(tmp_path / "aside")
    assert_refused(command(*typed(short, out), check=False), "train-0.tokens is missing", str(shard))
    assert files(out / "checkpoints") == checkpoints
    assert_good(out)

    aside.rename(shard)
    prepared = Prepared.open(out / "data")  # intact, until
    shard.rename(aside)
    with pytest.raises(FolderError, match="can no longer be read: No such file") as caught:
        prepared.train[0].rows(0)
    assert caught.value.where == str(shard)

    aside.rename(shard)
    command(*typed(short, out))
    assert_same_run(untouched(20), out)
