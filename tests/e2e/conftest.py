"""A corpus and two models that take seconds to train."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from door import settings, vitrail
from page_fixtures import album, browser, leave_pictures, open_page, screenshots, street  # noqa: F401  (for tests of the page)

from vitrail.config import load_config
from vitrail.data.phrasebook import held_out, training_pairs
from vitrail.folder import ModelFolder


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
    """A run that was never interrupted."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    vitrail("train", *corpus.options(), "--out", out, *settings())
    return out


@pytest.fixture
def run_command(corpus):
    """The command line of the uninterrupted run, for another folder."""

    def command(out, *changes):
        return ["train", *corpus.options(), "--out", out, *settings(*changes)]

    return command


@pytest.fixture(scope="session")
def phrases(tmp_path_factory) -> Path:
    """A model that has learnt something: French to English and back, whole words, with a target-language symbol."""
    from vitrail.train import train

    folder = tmp_path_factory.mktemp("phrases")
    for to in ("en", "fr"):
        pairs = [pair for pair in training_pairs(3000, seed=2) if pair.target_language == to]
        (folder / f"to-{to}.tsv").write_text(
            "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8"
        )
    recipe = folder / "recipe.toml"
    recipe.write_text(PHRASES.format(folder=folder.as_posix()), encoding="utf-8")
    train(load_config(recipe), folder / "model")
    return folder / "model"


@pytest.fixture(scope="session")
def teacher(phrases, tmp_path_factory) -> Path:
    """The same model, but it ends its translations soon, which it has not learnt to do."""
    copy = tmp_path_factory.mktemp("teacher") / "model"
    shutil.copytree(phrases, copy, ignore=shutil.ignore_patterns("checkpoints", "data", "engines"))
    folder = ModelFolder.open(copy)
    decode = folder.config.decode.model_copy(update={"max_extra": 2})
    folder.write_config(folder.config.model_copy(update={"decode": decode}))
    return copy


PHRASES = """
[model]
preset = "tiny"
encoder_layers = 1
decoder_layers = 1
norm = "pre"
dropout = 0.0

[data]
vocabulary = "word"

[[data.corpora]]
pairs = "{folder}/to-en.tsv"
source_language = "fr"
target_language = "en"

[[data.corpora]]
pairs = "{folder}/to-fr.tsv"
source_language = "en"
target_language = "fr"
weight = 2.0

[train]
schedule = "constant"
peak_rate = 0.003
warmup_steps = 10
max_steps = 80
batch_tokens = 1024
"""
