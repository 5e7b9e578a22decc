"""A model folder: reading returns what was written, and damage is reported by file name."""

import json
import shutil

import pytest
import torch

from vitrail.config import parse_config
from vitrail.errors import FolderError
from vitrail.folder import ModelFolder
from vitrail.text import Tokenizers, WordVocabulary


def make_folder(path, *, d_model=16, words="a b c d e"):
    config = parse_config(
        {
            "model": {"d_model": d_model, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 1},
            "data": {"vocabulary": "word"},
        },
        where="test",
    )
    vocabulary = WordVocabulary.build([words], 100, [])
    folder = ModelFolder.create(path, config, Tokenizers(vocabulary, vocabulary, ()))
    folder.write_weights(folder.new_model().state_dict())
    return folder


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path / "model")


def refusal(path):
    with pytest.raises(FolderError) as caught:
        ModelFolder.open(path).model()
    return str(caught.value)


def test_what_was_written_comes_back(folder):
    again = ModelFolder.open(folder.path)
    assert again.config == folder.config
    assert again.tokenizers.encode_target("b a") == folder.tokenizers.encode_target("b a")
    model, once_more = again.model(), again.model()
    assert not model.training
    for (name, weight), other in zip(model.state_dict().items(), once_more.state_dict().values(), strict=True):
        assert torch.equal(weight, other), name


def test_weights_can_be_replaced_and_are_then_the_ones_in_use(folder):
    other = folder.new_model().state_dict()
    folder.write_weights(other)
    for name, weight in ModelFolder.open(folder.path).model().state_dict().items():
        assert torch.equal(weight, other[name])


def test_a_path_that_is_no_model_folder_is_said_to_be_none(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    assert "no such folder" in refusal(tmp_path / "nothing")
    assert "a file, not a model folder" in refusal(tmp_path / "file")
    assert "not a model" in refusal(tmp_path / "empty")


def test_a_folder_without_weights_says_that_they_are_to_come(tmp_path):
    made = make_folder(tmp_path / "model")
    (made.path / "model.safetensors").unlink()
    made.write_config(made.config)  # as before the first checkpoint
    assert "no weights yet" in refusal(made.path)


@pytest.mark.parametrize("name", ["config.toml", "model.safetensors", "tokenizer/words.json"])
@pytest.mark.parametrize("harm", ["missing", "truncated", "altered", "empty"])
def test_a_file_that_is_not_what_was_written_is_named(folder, name, harm):
    file = folder.path / name
    content = file.read_bytes()
    file.write_bytes(
        {
            "missing": content,
            "truncated": content[: len(content) // 2],
            "altered": content[:-1] + bytes([content[-1] ^ 1]),
            "empty": b"",
        }[harm]
    )
    if harm == "missing":
        file.unlink()
    said = refusal(folder.path)
    assert file.name in said
    assert "missing" in said if harm == "missing" else "damaged" in said


def test_files_of_two_models_cannot_be_mixed(tmp_path):
    one, other = make_folder(tmp_path / "one"), make_folder(tmp_path / "other", d_model=32)
    shutil.copy(other.path / "model.safetensors", one.path / "model.safetensors")
    assert "from another model" in refusal(one.path)


def test_weights_of_another_shape_are_refused_even_with_a_manifest_that_admits_them(tmp_path):
    one, other = make_folder(tmp_path / "one"), make_folder(tmp_path / "other", words="a b c d e f g")
    shutil.copy(other.path / "model.safetensors", one.path / "model.safetensors")
    one.write_config(one.config)  # writes a fresh manifest
    assert "the settings and the vocabulary require" in refusal(one.path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 1}', '{"format": "x", "version": "1", "files": {}}'])
def test_a_damaged_manifest_is_named(folder, content):
    (folder.path / "manifest.json").write_text(content)
    assert "manifest" in refusal(folder.path)


def test_a_folder_of_a_newer_program_says_so(folder):
    manifest = folder.path / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 99, "version": "9.0"}))
    assert "newer" in refusal(folder.path)
    assert "upgrade" in refusal(folder.path)


def test_killed_between_new_weights_and_new_manifest_the_folder_is_still_whole(folder, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    other = folder.new_model().state_dict()
    write = ModelFolder._write_manifest
    calls = []

    def once(self, **changes):
        if calls:
            killed()
        calls.append(1)
        write(self, **changes)

    monkeypatch.setattr(ModelFolder, "_write_manifest", once)
    with pytest.raises(KeyboardInterrupt):
        folder.write_weights(other)
    ModelFolder.open(folder.path).model()
