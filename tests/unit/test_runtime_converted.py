"""Where the converted form of a model is kept, and which one is used."""

import json
import shutil
import subprocess
import sys

import pytest
import torch

from vitrail.config import Config, DataConfig, DecodeConfig, ModelConfig
from vitrail.errors import FolderError
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.model import Transformer
from vitrail.runtime import Job, Runtime, convert, converted
from vitrail.text import BOS, EOS, PAD, UNK, Tokenizers, WordVocabulary

ROWS = [[5, 7, EOS], [9, EOS]]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vitrail"


@pytest.fixture
def folder(tmp_path):
    words = WordVocabulary([f"w{number}" for number in range(20)], [])
    model = ModelConfig(d_model=16, heads=2, d_ff=32, encoder_layers=1, decoder_layers=1, output_bias=True)
    config = Config(model=model, data=DataConfig(vocabulary="word"))
    made = ModelFolder.create(tmp_path / "model", config, Tokenizers(words, words))
    write(made, seed=1)
    return made


def write(folder, seed):
    torch.manual_seed(seed)
    size = folder.tokenizers.source.size
    weights = Transformer(folder.config.model, size, size).state_dict()
    weights["output_bias"][[PAD, UNK, BOS]] = -50.0  # as in a trained model, special symbols are not generated
    folder.write_weights(weights)


def found(folder, **options):
    return Runtime.of_folder(folder).search(Job(ROWS, DecodeConfig(engine="ctranslate2", max_extra=4, **options)))


@pytest.fixture
def conversions(monkeypatch):
    """Count how often a model is converted."""
    done = []
    original = convert.convert

    def counting(*arguments, **options):
        done.append(arguments)
        original(*arguments, **options)

    monkeypatch.setattr(convert, "convert", counting)
    return done


def test_it_is_made_once_and_kept_beside_the_model(folder, cache, conversions):
    first = found(folder)
    assert (folder.path / "engines" / "ctranslate2-float32" / "model.bin").exists()
    assert found(ModelFolder.open(folder.path)) == first
    assert len(conversions) == 1


def test_it_is_made_again_when_the_weights_change(folder, cache, conversions):
    before = found(folder)
    write(folder, seed=2)
    assert found(ModelFolder.open(folder.path)) != before
    assert len(conversions) == 2


def test_each_precision_has_its_own(folder, cache):
    found(folder, precision="float32")
    found(folder, precision="int8")
    kept = {path.name: (path / "model.bin").stat().st_size for path in (folder.path / "engines").iterdir()}
    assert kept["ctranslate2-int8"] < kept["ctranslate2-float32"]


@pytest.mark.parametrize("change", ["other bytes", "another file", "nothing at all"])
def test_what_somebody_else_has_put_there_is_not_used(folder, cache, conversions, change):
    wanted = found(folder)
    kept = folder.path / "engines" / "ctranslate2-float32"
    if change == "other bytes":
        data = bytearray((kept / "model.bin").read_bytes())
        data[-100] ^= 255
        (kept / "model.bin").write_bytes(data)
    elif change == "another file":
        (kept / "vmap.txt").write_text("5\t6\n")
    else:  # a folder that came with its converted form, to a user who has not made it
        shutil.rmtree(cache)
    assert found(ModelFolder.open(folder.path)) == wanted
    assert len(conversions) == 2
    assert {path.name for path in kept.iterdir()} == {"model.bin", "config.json", "shared_vocabulary.json"}


def test_a_folder_that_cannot_be_written_has_it_in_the_cache(folder, cache, conversions, monkeypatch):
    monkeypatch.setattr(converted.os, "access", lambda *_: False)
    first = found(folder)
    assert not (folder.path / "engines").exists() and list((cache / "engines").iterdir())
    assert found(ModelFolder.open(folder.path)) == first
    assert len(conversions) == 1


def test_without_any_place_it_is_made_at_each_start(folder, tmp_path, conversions, monkeypatch):
    wanted = found(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    shutil.rmtree(folder.path / "engines")
    assert found(folder) == found(folder) == wanted
    assert len(conversions) == 3


def test_weights_of_another_shape_are_refused(folder, cache):
    torch.manual_seed(1)
    other = folder.config.model.model_copy(update={"d_ff": 40})
    folder.write_weights(Transformer(other, 24, 24).state_dict())
    with pytest.raises(FolderError, match="has shape") as raised:
        found(folder)
    assert raised.value.where == str(folder.path / WEIGHTS)


@pytest.mark.parametrize("change", ["lack", "have"])
def test_missing_and_extra_weights_are_refused(folder, cache, change):
    weights = folder.model().state_dict()
    if change == "lack":
        weights.pop("encoder.layers.0.feed_forward.inner.bias")
    else:
        weights["more"] = torch.zeros(1)
    folder.write_weights(weights)
    with pytest.raises(FolderError, match=f"the weights {change} '"):
        found(folder)


def test_translating_does_not_import_torch(folder, cache, tmp_path):
    """Neither when the model is converted nor afterwards; and another program can import what we kept out."""
    code = (
        "import sys, vitrail, json\n"
        "done = vitrail.load(sys.argv[1]).translate(['w1 w2', 'w3'])\n"
        "before = 'torch' in sys.modules\n"
        "from ctranslate2.specs import model_spec\n"
        "print(json.dumps([before, [one.text for one in done], model_spec.torch_is_available]))\n"
    )
    for _ in range(2):
        out = subprocess.run([sys.executable, "-c", code, folder.path], capture_output=True, text=True, check=True)
        has_torch, texts, available = json.loads(out.stdout)
        assert not has_torch and len(texts) == 2 and available
