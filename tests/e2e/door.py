"""Run the command line, in its own process or in the test's."""

import io
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass

import pytest

from vitrail.cli import main

# Small enough for a test, deep enough to have every kind of weight.
SMALL = [
    "model.d_model=32",
    "model.heads=2",
    "model.d_ff=64",
    "model.encoder_layers=1",
    "model.decoder_layers=2",
    "data.vocabulary_size=300",
    "train.batch_tokens=512",
    "train.max_steps=40",
    "train.warmup_steps=20",
    "train.checkpoint_every=10",
    "train.validate_every=20",
    "train.log_every=5",
    "train.keep_checkpoints=3",
    "train.average=2",
    "train.bleu_sentences=10",
    "train.threads=1",
]


def vitrail(*arguments, input=None, check=True, **options):
    """Run the command line as a user does; with `check`, it must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", "vitrail", *map(str, arguments)],
        input=input,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"},
        **options,
    )
    if check:
        assert done.returncode == 0, done.stderr
    return done


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments, input="", check=True):
    """The same in this process, which saves a second for importing torch."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    given = input if isinstance(input, bytes) else input.encode("utf-8")
    sys.argv = ["vitrail", *map(str, arguments)]
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.BytesIO(start), encoding="utf-8", newline="\n") for start in (given, b"", b"")
    )
    try:
        with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
            warnings.simplefilter("default")
            main()
        out, errors = (stream.buffer.getvalue().decode("utf-8") for stream in _flushed(sys.stdout, sys.stderr))
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
    done = Done(int(ended.value.code or 0), out, errors)
    if check:
        assert done.returncode == 0, done.stderr
    return done


def _flushed(*streams):
    for stream in streams:
        stream.flush()
    return streams


def settings(*changes):
    """Options of `vitrail train` for a small model, with some settings changed."""
    return [option for change in (*SMALL, *changes) for option in ("--set", change)]
