"""A model folder with packed weights equals a float32 folder with the unpacked values, wherever it is read."""

import pytest
import torch
from safetensors.torch import save_file

from vitrail.config import parse_config
from vitrail.errors import FolderError
from vitrail.folder import ModelFolder, load_weights
from vitrail.text import Tokenizers, WordVocabulary
from vitrail.translator import load
from vitrail.weights import pack, read_weights, stored_precision, unpack

SENTENCES = ["a b c", "e d", "c c a b d e"]


def write(path, tensors):
    config = parse_config(
        {
            "model": {"d_model": 16, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 2},
            "data": {"vocabulary": "word"},
            "decode": {"max_extra": 5},
        },
        where="test",
    )
    vocabulary = WordVocabulary.build(["a b c d e"], 100, [])
    folder = ModelFolder.create(path, config, Tokenizers(vocabulary, vocabulary, ()))
    folder.write_weights(tensors or folder.new_model().state_dict())
    return folder


@pytest.fixture(params=["float16", "int8"])
def packed(request, tmp_path):
    """A model with packed weights, and one with the unpacked values in float32."""
    torch.manual_seed(3)
    before = write(tmp_path / "before", None).model().state_dict()
    stored = pack(before, request.param)
    one = write(tmp_path / "packed", stored)
    other = write(tmp_path / "whole", unpack(stored, where="here"))
    assert (stored_precision(one.path / "model.safetensors"), stored_precision(other.path / "model.safetensors")) == (
        request.param,
        "float32",
    )
    return load(one.path), load(other.path)


def test_it_is_smaller_and_runs_in_float32(packed):
    one, other = packed
    sizes = [(translator.folder.path / "model.safetensors").stat().st_size for translator in packed]
    assert sizes[0] < sizes[1]
    for (name, value), wanted in zip(one.model.state_dict().items(), other.model.state_dict().values(), strict=True):
        assert value.dtype == torch.float32 and torch.equal(value, wanted), name


def test_it_translates_and_scores_as_the_same_numbers_in_float32(packed):
    one, other = packed
    assert one.translate(SENTENCES, top_beams=3) == other.translate(SENTENCES, top_beams=3)
    assert one.score(SENTENCES, SENTENCES) == other.score(SENTENCES, SENTENCES)


def test_its_trace_is_of_the_numbers_that_it_computes_with(packed):
    one, other = (translator.trace("a b c", layers=["all"]).document for translator in packed)
    assert one["target"] == other["target"] and one["search"] == other["search"]
    for kind in ("arrays", "weights"):
        assert one[kind].keys() == other[kind].keys()
        assert all((one[kind][name] == other[kind][name]).all() for name in one[kind])
    held = packed[0].model.state_dict()
    assert all((held[name].numpy() == value).all() for name, value in one["weights"].items())


def test_a_matrix_without_its_scales_is_named(tmp_path):
    whole = pack({"a.weight": torch.ones(3, 2), "a.bias": torch.ones(3)}, "int8")
    for harmed in (
        {name: value for name, value in whole.items() if name != "a.weight.scale"},
        whole | {"a.weight.scale": torch.ones(2)},
        whole | {"a.weight": torch.ones(3, 2, dtype=torch.int32)},
        whole | {"a.bias": torch.ones(3, dtype=torch.int8)},
    ):
        save_file(harmed, tmp_path / "weights")
        with pytest.raises(FolderError, match=r"'a\.(weight|bias)'") as refusal:
            read_weights(tmp_path / "weights")
        assert refusal.value.where == str(tmp_path / "weights") and refusal.value.fix


def test_packed_weights_of_another_model_are_refused_as_whole_ones_are(tmp_path):
    folder = write(tmp_path / "model", None)
    tensors = folder.new_model().state_dict()
    del tensors["embeddings.shared"]
    save_file(pack(tensors, "int8"), tmp_path / "weights")
    with pytest.raises(FolderError, match=r"lack 'embeddings\.shared'"):
        load_weights(folder.new_model(), tmp_path / "weights")
