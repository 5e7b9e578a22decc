"""A damaged model folder: every file truncated, flipped, emptied, or another model's. Never a traceback or other words.

Checksums are left as they are: these are accidents. What a stranger may write is in test_hostile_run.py.
"""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_hostile_run import SENTENCE, make_run

from vitrail.confidence import CONFIDENCE, Curve, write_curves
from vitrail.errors import TextError, VitrailError
from vitrail.folder import ModelFolder
from vitrail.runtime.shortlist import FILE, Shortlist
from vitrail.text import Subwords
from vitrail.train.start import Origin, read_origin, write_origin
from vitrail.translator import change_settings, load
from vitrail.weights import read_weights

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = ["config.toml", "manifest.json", "model.safetensors", "tokenizer", FILE, CONFIDENCE, "origin.json"]


@dataclass(frozen=True)
class Pair:
    """Two models of the same kind."""

    ours: Path
    other: Path


def make_model(folder: Path, kind: str, slope: float) -> Path:
    """A run without what only training needs, and with everything that can lie beside a model."""
    run = make_run(folder, kind).path
    for name in ("checkpoints", "data", "tensorboard"):
        shutil.rmtree(run / name, ignore_errors=True)
    write_origin(run, Origin(model="x", weights="a" * 64, vocabulary=f"{slope}"))
    model = ModelFolder.open(run)
    weights = read_weights(run / "model.safetensors")
    model.write_weights({name: value + slope / 100 for name, value in weights.items()})
    curve = Curve(slope=slope, bias=0.5, sentences=3, good=2, auc=0.5)
    write_curves(model, {"": curve})
    size = model.tokenizers.source.size
    lists = [{number % model.tokenizers.target.size, 5} for number in range(size)]
    Shortlist.of_lists(lists).save(run / FILE, vocabulary=model.vocabulary)
    return run


@pytest.fixture(scope="module", params=[pytest.param("words", marks=pytest.mark.slow), "bpe"])
def pair(request, tmp_path_factory):
    folders = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("other")
    ours, other = (make_model(folder, request.param, slope) for folder, slope in zip(folders, (1.5, 2.5), strict=True))
    settings = (other / "config.toml").read_text()
    assert settings != (ours / "config.toml").read_text()  # its files have other names
    return Pair(ours, other)


def said(run: Path) -> Any:
    """Everything that a model says about a few sentences."""
    model = load(run)
    settings = [model.config, change_settings(model.config, {"shortlist": True})]
    found = [model.translate([SENTENCE, "c1"], decode=one, on_unknown="skip") for one in settings]
    words = [[(one.text, one.score, one.confidence) for one in each] for each in found]
    return words, model.score([SENTENCE], [SENTENCE]), read_origin(run)


def damages(file: Path, other: Path, seed: int) -> list[bytes]:
    content, dice = file.read_bytes(), random.Random(f"{file.name} {seed}")
    found = [b"", content[:-1], content[: len(content) // 2], content[: dice.randrange(len(content))], content + b"\0"]
    if other.read_bytes() != content:
        found.append(other.read_bytes())
    for _ in range(14):
        flipped = bytearray(content)
        flipped[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        found.append(bytes(flipped))
    return found


def check(pair: Pair, scratch: Path, seeds: range) -> tuple[int, int]:
    """Damage every file; return how many of the damaged models were refused, and how many there were."""
    run, refused, tried = scratch / "run", 0, 0
    shutil.copytree(pair.ours, run)
    wanted = [said(run)]
    (run / CONFIDENCE).unlink()
    wanted.append(said(run))  # a curve of other weights is not used
    files = [file for file in sorted(pair.ours.rglob("*")) if file.is_file()]
    files = [file for file in files if file.relative_to(pair.ours).parts[0] in NAMES]
    for file in files:
        name = file.relative_to(pair.ours)
        for content in [each for seed in seeds for each in damages(file, pair.other / name, seed)]:
            shutil.rmtree(run, ignore_errors=True)
            shutil.copytree(pair.ours, run)
            (run / name).write_bytes(content)
            tried += 1
            try:
                found = said(run)
            except VitrailError as error:
                refused += 1
                # A damaged manifest accuses the file that it no longer describes, or names its folder.
                assert name.name in str(error) or name.name == "manifest.json", f"{name}: {error}"
                continue
            assert found in wanted[: 1 + (name.name == CONFIDENCE)], f"{name} says something else: {content[:200]!r}"
    return refused, tried


def test_a_damaged_model_is_refused_by_the_name_of_its_file_or_says_the_same(pair, tmp_path):
    refused, tried = check(pair, tmp_path, range(1))
    assert tried > 100
    assert refused > 0.9 * tried


@pytest.mark.slow
def test_a_damaged_model_is_refused_in_many_more_ways(pair, tmp_path):
    check(pair, tmp_path, range(1, 6))


def test_a_sentencepiece_model_that_would_write_broken_text_is_refused(tmp_path):
    model = tmp_path / "subwords.model"
    whole = Subwords.train(["a b c d e f g h i j k l m n o p"] * 20, "bpe", 300, [])
    whole.save(model)
    content = model.read_bytes()
    place = content.index(b" <unk>")  # how an unknown word is written, which begins with a space
    model.write_bytes(content[: place + 2] + b"\xff" + content[place + 3 :])
    with pytest.raises(TextError, match="not a sentencepiece model"):
        Subwords.load(model, "bpe")
