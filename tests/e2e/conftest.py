"""A corpus and a model small enough to make in seconds, and the product's door: the command line."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from vitrail.data.phrasebook import held_out, training_pairs

# Small enough for a test, deep enough that every kind of weight is there.
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
    """Run the command line as a user does; `check` expects it to go well."""
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


def settings(*changes):
    """Options of `vitrail train` for a small model, with some settings changed."""
    return [option for change in (*SMALL, *changes) for option in ("--set", change)]


@dataclass(frozen=True)
class Corpus:
    source: Path
    target: Path
    validation_source: Path
    validation_target: Path

    def options(self):
        names = ("source", "target", "validation_source", "validation_target")
        return [part for name in names for part in (f"--{name.replace('_', '-')}", getattr(self, name))]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    corpus = Corpus(folder / "train.fr", folder / "train.en", folder / "val.fr", folder / "val.en")
    for pairs, source, target in (
        (training_pairs(2000, seed=1), corpus.source, corpus.target),
        (held_out(60, seed=1), corpus.validation_source, corpus.validation_target),
    ):
        chosen = [pair for pair in pairs if pair.target_language == "en"]
        source.write_text("".join(f"{pair.source}\n" for pair in chosen), encoding="utf-8")
        target.write_text("".join(f"{pair.target}\n" for pair in chosen), encoding="utf-8")
    return corpus


@pytest.fixture(scope="session")
def trained(corpus, tmp_path_factory) -> Path:
    """A run that was never disturbed."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    vitrail("train", *corpus.options(), "--out", out, *settings())
    return out


@pytest.fixture
def run_command(corpus):
    """The command line of the undisturbed run, into another folder."""

    def command(out, *changes):
        return ["train", *corpus.options(), "--out", out, *settings(*changes)]

    return command
