"""A finished run becomes the built-in model, with a card that matches its receipt and validation set, or is refused."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import vitrail as package
from vitrail import load
from vitrail.data import Prepared
from vitrail.data.phrasebook import held_out, training_pairs
from vitrail.evaluate import measure
from vitrail.folder import ModelFolder

RECIPES = Path(__file__).parents[2] / "recipes"

RECIPE = """
[model]
d_model = 32
heads = 2
d_ff = 32
encoder_layers = 1
decoder_layers = 1
norm = "pre"
[data]
vocabulary_size = 400
[[data.corpora]]
pairs = "{folder}/train.en.tsv"
source_language = "fr"
target_language = "en"
[[data.corpora]]
pairs = "{folder}/train.fr.tsv"
source_language = "en"
target_language = "fr"
[[data.validation]]
pairs = "val.en.tsv"
source_language = "fr"
target_language = "en"
[[data.validation]]
pairs = "val.fr.tsv"
source_language = "en"
target_language = "fr"
[train]
max_steps = 60
log_every = 20
batch_tokens = 512
schedule = "constant"
peak_rate = 0.01
warmup_steps = 5
threads = 1
[decode]
max_extra = 5
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a run and its receipt, both made as for a real model."""
    folder = tmp_path_factory.mktemp("finished")
    tests = []
    for to in ("en", "fr"):
        for name, pairs in (("train", training_pairs(400, seed=1)), ("val", held_out(80, seed=1))):
            chosen = [pair for pair in pairs if pair.target_language == to]
            text = "".join(f"{pair.source}\t{pair.target}\n" for pair in chosen)
            (folder / f"{name}.{to}.tsv").write_text(text, encoding="utf-8")
        for side in ("source", "target"):
            (folder / f"test.{to}.{side}").write_text(
                "".join(f"{getattr(pair, side)}\n" for pair in chosen[:9]), encoding="utf-8"
            )
        tests.append(f'[[small]]\nsource = "test.{to}.source"\nreference = "test.{to}.target"\nto = "{to}"\n')
    (folder / "small.toml").write_text(RECIPE.format(folder=folder.as_posix()), encoding="utf-8")
    (folder / "tests.toml").write_text("".join(tests))
    command = [sys.executable, str(RECIPES / "receipt.py"), "small.toml", "--out", "run", "--tests", "tests.toml"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def box(tmp_path, monkeypatch, capsys):
    """Run the script with its own box; return the exit code and the output."""
    spec = importlib.util.spec_from_file_location("box_recipe", RECIPES / "box.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "PLACE", tmp_path / "builtin")
    script.out = tmp_path / "builtin"

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["box.py", *map(str, arguments)])
        try:
            script.main()
            code = 0
        except SystemExit as ended:
            code = ended.code
        return code, "".join(capsys.readouterr())

    script.run = run
    return script


def test_the_card_of_the_built_in_model_is_the_template_filled_in(box):
    texts = re.split(r"\{[^}]*\}", box.BLANK_CARD.read_text(encoding="utf-8"))
    card = Path(package.__file__).with_name("builtin") / box.CARD
    assert re.fullmatch("(.+?)".join(map(re.escape, texts)), card.read_text(encoding="utf-8"), re.DOTALL)


def asked(finished, *more):
    return [finished / "run", "--receipt", finished / "small.receipt.json", *more]


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_what_is_in_the_box_is_the_run_with_a_card_that_is_true(finished, box, precision, monkeypatch):
    code, said = box.run(*asked(finished, "--precision", precision))
    assert code == 0, said
    files = {path.relative_to(box.out).as_posix() for path in box.out.rglob("*") if path.is_file()}
    vocabulary = {f"tokenizer/{path.name}" for path in (finished / "run" / "tokenizer").iterdir()}
    model = {"config.toml", "manifest.json", "model.safetensors", "shortlist.safetensors", *vocabulary}
    assert files == {*model, "README.md", "receipt.json"}

    monkeypatch.setattr("vitrail.box.PLACE", box.out)
    whole, packed = load(finished / "run"), load("builtin")
    card = (box.out / "README.md").read_text(encoding="utf-8")
    receipt = json.loads((finished / "small.receipt.json").read_text(encoding="utf-8"))
    for test in receipt["tests"]:
        assert f"{test['bleu']['score']:.1f} ± {test['bleu']['interval']:.1f}" in card
        assert f"{test['chrf']['score']:.1f} ± {test['chrf']['interval']:.1f}" in card
        assert test["bleu"]["signature"] in card and test["chrf"]["signature"] in card
    for data in Prepared.open(finished / "run" / "data").validation:
        before, after = (
            [done.text for done in model.translate(data.sources, to=data.to, on_unknown="skip")]
            for model in (whole, packed)
        )
        scores = [measure(texts, data.references, resamples=0) for texts in (before, after)]
        row = " | ".join(f"{score:.2f}" for one in scores for score in (one["bleu"].score, one["chrf"].score))
        same = sum(one == other for one, other in zip(before, after, strict=True)) / len(before)
        assert f"| {len(before)} | {row} | {same:.1%} |" in card
    for fact in ("CC BY 2.0 FR", "tatoeba.org", "www.manythings.org/anki", *receipt["data"].values(), precision):
        assert fact in card
    assert "{" not in card


def test_no_path_of_this_machine_goes_along(finished, box):
    assert box.run(*asked(finished))[0] == 0
    settings = (box.out / "config.toml").read_text(encoding="utf-8")
    assert str(finished) not in settings + (box.out / "README.md").read_text(encoding="utf-8")
    before, after = ModelFolder.open(finished / "run").config, ModelFolder.open(box.out).config
    assert [corpus.pairs for corpus in after.data.corpora] == ["train.en.tsv", "train.fr.tsv"]
    assert after.data.validation == before.data.validation
    assert (after.model, after.train, after.decode) == (before.model, before.train, before.decode)
    assert after.data.directions() == before.data.directions()


def test_a_second_model_takes_the_place_of_the_first(finished, box):
    for precision in ("float16", "int8"):
        assert box.run(*asked(finished, "--precision", precision))[0] == 0
    assert "stored in int8" in (box.out / "README.md").read_text(encoding="utf-8")


def refused(box, arguments, *words):
    code, said = box.run(*arguments)
    assert code == 2, said
    assert all(word in said for word in ("error: ", "  at ", "  fix: ", *words)), said


def test_a_model_that_is_too_large_is_refused_and_the_old_one_stays(finished, box, monkeypatch):
    assert box.run(*asked(finished, "--precision", "int8"))[0] == 0
    before = {path: path.read_bytes() for path in box.out.rglob("*") if path.is_file()}
    monkeypatch.setattr(box, "MOST", 10_000)
    refused(box, asked(finished), "the limit is 0.01 MB", "int8")
    assert {path: path.read_bytes() for path in box.out.rglob("*") if path.is_file()} == before
    assert [path.name for path in box.out.parent.iterdir()] == ["builtin"]


def test_a_receipt_of_other_weights_is_refused(finished, box, tmp_path):
    receipt = json.loads((finished / "small.receipt.json").read_text(encoding="utf-8"))
    receipt["tests"][1]["weights"] = "0" * 64
    (tmp_path / "other.json").write_text(json.dumps(receipt))
    refused(box, [finished / "run", "--receipt", tmp_path / "other.json"], "no test of these weights into fr")
    (tmp_path / "other.json").write_text("{}")
    refused(box, [finished / "run", "--receipt", tmp_path / "other.json"], "the receipt lacks data")
    refused(box, [finished / "run", "--receipt", tmp_path / "none.json"], "cannot read the receipt")


def test_a_run_without_weights_or_data_is_refused(finished, box, tmp_path):
    run, receipt = tmp_path / "run", finished / "small.receipt.json"
    shutil.copytree(finished / "run", run)
    shutil.rmtree(run / "data")
    refused(box, [run, "--receipt", receipt], str(run / "data"))
    refused(box, [tmp_path / "nothing", "--receipt", receipt], "no such folder")
    refused(box, asked(finished, "--out", run), "already exists")
