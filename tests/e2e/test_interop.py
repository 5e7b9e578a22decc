"""An imported model is a model like any other: every command takes it."""

import json

import pytest
from door import command

from marian_folders import SOURCES, TARGETS, write_marian


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imported")
    write_marian(folder / "theirs")
    command("import", folder / "theirs", "--out", folder / "ours")
    return folder / "ours"


def test_an_imported_model_is_trained_further(imported, tmp_path):
    (tmp_path / "a").write_text("\n".join([*SOURCES, ""]), encoding="utf-8")
    (tmp_path / "b").write_text("\n".join([*TARGETS, ""]), encoding="utf-8")
    settings = ["--set", "train.max_steps=3", "--set", "train.batch_tokens=200", "--set", "train.warmup_steps=1"]
    files = ["--source", tmp_path / "a", "--target", tmp_path / "b"]
    command("train", "--from", imported, *files, *settings, "--out", tmp_path / "run")
    said = command("translate", tmp_path / "run", SOURCES[0], "--format", "json").stdout
    before = command("translate", imported, SOURCES[0], "--format", "json").stdout
    assert json.loads(said)["score"] != json.loads(before)["score"]


def test_an_imported_model_is_explained_and_measured(imported, tmp_path):
    command("explain", imported, SOURCES[0], "--out", tmp_path / "page.html")
    assert SOURCES[0] in (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "a").write_text("\n".join([*SOURCES, ""]), encoding="utf-8")
    (tmp_path / "b").write_text("\n".join([*TARGETS, ""]), encoding="utf-8")
    assert "BLEU" in command("evaluate", imported, "--source", tmp_path / "a", "--reference", tmp_path / "b").stdout


def test_an_imported_model_is_exported(imported, tmp_path):
    said = command(
        "export", imported, "--to", "ctranslate2", "--quantization", "int8", "--out", tmp_path / "ct2"
    ).stdout
    assert "model.bin" in said and "source.spm" in said
    done = command("export", imported, "--to", "onyx", "--out", tmp_path / "x", check=False)
    assert done.returncode == 2 and "cannot be exported to 'onyx'" in done.stderr
