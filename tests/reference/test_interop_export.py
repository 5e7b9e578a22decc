"""Exported models: transformers and CTranslate2, used as anybody uses them, find the same translations."""

import json
import sys

import ctranslate2
import numpy as np
import onnxruntime
import pytest
import torch
from sentencepiece import SentencePieceProcessor
from transformers import MarianMTModel, MarianTokenizer

from marian_folders import write_marian
from our_folders import SOURCES, write_ours
from vitrail.config import change_settings
from vitrail.errors import VitrailError
from vitrail.folder import ModelFolder
from vitrail.interop import export_model, import_model
from vitrail.text.special import BOS
from vitrail.translator import load

# Of these, every target can express all.
MODELS = {
    "as in the paper": {},
    "languages": {"languages": ("en", "fr")},
    "halves, gelu, output bias": {"positions": "sinusoidal-halves", "activation": "gelu", "output_bias": True},
    "two vocabularies, silu": {"joint": False, "activation": "silu", "languages": ("fr", "de")},
    "nothing tied, no bias": {"tie_embeddings": "none", "bias": False, "kind": "unigram"},
    "shared heads": {"kv_heads": 2, "embedding_scale": False},
}


@pytest.fixture(scope="module", params=[*MODELS, "imported"])
def ours(request, tmp_path_factory) -> ModelFolder:
    folder = tmp_path_factory.mktemp("ours")
    if request.param == "imported":
        theirs = write_marian(folder / "theirs", languages=("fra", "deu"))
        return import_model(theirs, folder / "imported", punctuation=False)
    return write_ours(folder / "ours", **MODELS[request.param])


def greedy(folder: ModelFolder, text: str, *, to: str | None) -> tuple[list[int], str]:
    """Our own translation by torch: the ids, and the text."""
    translator = load(folder.path, threads=1)
    decode = change_settings(translator.config, {"beam_size": 1, "engine": "torch", "max_extra": 20})
    _, found = translator.search(text, to=to, decode=decode)
    return [*found[0].ids], translator.tokenizers.decode(found[0].ids)


def test_transformers_finds_the_same_translations(ours, tmp_path):
    export_model(ours, "marian", tmp_path / "marian")
    model = MarianMTModel.from_pretrained(tmp_path / "marian").eval()
    tokenizer = MarianTokenizer.from_pretrained(tmp_path / "marian")
    languages = ours.tokenizers.languages or (None,)
    ours_in_torch = ours.model()
    for text, to in zip(SOURCES[:2], (languages * 2)[:2], strict=True):
        source = tokenizer((f">>{to}<< " if to else "") + text, return_tensors="pt")
        row = ours.tokenizers.encode_source(text, to)
        assert source.input_ids.tolist() == [row]
        prefix = torch.tensor([[BOS, 7, 9, 8]])
        with torch.no_grad():
            logits = model(**source, decoder_input_ids=prefix).logits
            torch.testing.assert_close(ours_in_torch(source.input_ids, prefix), logits, atol=1e-4, rtol=1e-4)
            found = model.generate(**source, num_beams=1, early_stopping=False, max_new_tokens=len(row) + 20)[0]
        ids, said = greedy(ours, text, to=to)
        assert found.tolist()[1 : len(ids) + 1] == ids
        decoded = tokenizer.decode(found[1 : len(ids) + 1], skip_special_tokens=True, use_source_tokenizer=False)
        assert " ".join(decoded.split()) == said


def test_ctranslate2_finds_the_same_translations(ours, tmp_path):
    export_model(ours, "ctranslate2", tmp_path / "ct2")
    translator = ctranslate2.Translator(str(tmp_path / "ct2"), inter_threads=1, intra_threads=1)
    source, target = (
        SentencePieceProcessor(model_file=str(tmp_path / "ct2" / f"{side}.spm")) for side in ("source", "target")
    )
    languages = ours.tokenizers.languages or (None,)
    for text, to in zip(SOURCES[:2], (languages * 2)[:2], strict=True):
        ids, said = greedy(ours, text, to=to)
        pieces = [*([f">>{to}<<"] if to else []), *source.encode(text, out_type=str)]
        limit = len(pieces) + 1 + 20
        forbidden = [["<pad>"], ["<s>"], ["<unk>"], *([f">>{one}<<"] for one in languages if one)]
        (found,) = translator.translate_batch(
            [pieces], beam_size=1, max_decoding_length=limit, suppress_sequences=forbidden, return_end_token=True
        )
        assert found.hypotheses[0] == [{"<eos>": "</s>"}.get(token, token) for token in ours.tokenizers.tokens(ids)]
        words = [token for token in found.hypotheses[0] if token != "</s>"]
        assert " ".join(target.decode(words).replace("▁", " ").split()) == said


def test_ctranslate2_reads_a_quantised_model(tmp_path):
    folder = write_ours(tmp_path / "ours")
    sizes = {}
    for quantization in ("float32", "float16", "int8"):
        out = tmp_path / quantization
        export_model(folder, "ctranslate2", out, quantization=quantization)
        translator = ctranslate2.Translator(str(out))
        assert len(translator.translate_batch([["▁the", "▁c", "a", "t"]], max_decoding_length=5)[0].hypotheses[0]) <= 5
        sizes[quantization] = (out / "model.bin").stat().st_size
    assert max(sizes["int8"], sizes["float16"]) < sizes["float32"]


@pytest.mark.parametrize(
    "options",
    [
        MODELS["languages"],
        MODELS["nothing tied, no bias"],
        {"joint": False, "kv_heads": 2, "activation": "silu", "positions": "sinusoidal-halves", "output_bias": True},
        {"norm": "pre", "positions": "learned", "d_k": 8, "activation": "gelu"},
        {"kind": "word", "positions": "sinusoidal-concat"},
    ],
)
def test_onnxruntime_finds_the_same_translations(tmp_path, options):
    folder = write_ours(tmp_path / "ours", **options)
    export_model(folder, "onnx", tmp_path / "onnx")
    encoder, decoder = (
        onnxruntime.InferenceSession(tmp_path / "onnx" / f"{name}.onnx") for name in ("encoder", "decoder")
    )
    said = json.loads((tmp_path / "onnx" / "config.json").read_text())
    to = (folder.tokenizers.languages or (None,))[-1]
    rows = [folder.tokenizers.encode_source(text, to) for text in SOURCES[:2]]  # of different lengths
    source = np.array([row + [said["pad"]] * (max(map(len, rows)) - len(row)) for row in rows])
    memory = dict(zip([one.name for one in encoder.get_outputs()], encoder.run(None, {"source": source}), strict=True))
    shape = (len(rows), said["heads"], 0, said["d_k"])
    past = {one.name: np.zeros(shape, np.float32) for one in decoder.get_inputs() if one.name.startswith("past")}
    ids = np.full((len(rows), 1), said["start"])
    written, model = ids, folder.model()
    for _ in range(8):
        found = decoder.run(None, {"ids": ids, **memory, **past})
        log_probs, *present = found
        with torch.no_grad():
            wanted = model.log_probs(torch.tensor(source), torch.tensor(written))[:, -1]
        torch.testing.assert_close(torch.tensor(log_probs), wanted, atol=1e-4, rtol=1e-4)
        names = [one.name.replace("present", "past") for one in decoder.get_outputs()[1:]]
        past = dict(zip(names, present, strict=True))
        log_probs[:, said["never"]] = -np.inf
        ids = log_probs.argmax(-1, keepdims=True)
        written = np.concatenate([written, ids], axis=1)
    for text, row in zip(SOURCES, written.tolist(), strict=False):
        wanted, _ = greedy(folder, text, to=to)
        assert row[1:][: len(wanted)] == wanted[: len(row) - 1]


def test_what_is_exported_and_imported_again_is_the_same_model(tmp_path):
    folder = write_ours(tmp_path / "ours", languages=("en", "fr"), decode={"beam_size": 3, "alpha": 0.7})
    export_model(folder, "marian", tmp_path / "marian")
    again = import_model(tmp_path / "marian", tmp_path / "again", punctuation=False)
    assert again.tokenizers.languages == ("en", "fr")
    assert (again.config.decode.beam_size, again.config.decode.alpha) == (3, 0.7)
    for text in (*SOURCES, "é ☃ 1"):
        row = folder.tokenizers.encode_source(text, "fr")
        assert again.tokenizers.encode_source(text, "fr") == row
        source, target = torch.tensor([row]), torch.tensor([[BOS, *row[1:]]])
        torch.testing.assert_close(again.model()(source, target), folder.model()(source, target), atol=1e-4, rtol=1e-4)
        assert again.tokenizers.decode(row) == folder.tokenizers.decode(row)


@pytest.mark.parametrize(
    ("options", "target", "what"),
    [
        ({"norm": "pre"}, "marian", "norms come after the sublayers, and this model has norm = 'pre'"),
        ({"positions": "learned"}, "marian", "Marian has no positions like 'learned'"),
        ({"positions": "alibi"}, "ctranslate2", "CTranslate2 has no positions like 'alibi'"),
        ({"positions": "rope"}, "onnx", "positions like 'rope', inside attention"),
        ({"d_k": 8}, "marian", "needs d_k = d_model / heads"),
        ({"d_k": 8}, "ctranslate2", "needs d_k = d_model / heads"),
        ({"kind": "word"}, "marian", "of subwords, and this one is of kind 'word'"),
    ],
)
def test_what_a_target_cannot_express_is_refused_by_name(tmp_path, options, target, what):
    with pytest.raises(VitrailError, match=what):
        export_model(write_ours(tmp_path / "ours", **options), target, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_the_package_for_onnx_its_name_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(VitrailError, match="needs the package onnx") as caught:
        export_model(write_ours(tmp_path / "ours"), "onnx", tmp_path / "out")
    assert "vitrail[onnx]" in caught.value.fix
    assert not (tmp_path / "out").exists()


def test_a_target_or_quantization_that_does_not_exist_is_refused(tmp_path):
    folder = write_ours(tmp_path / "ours")
    with pytest.raises(VitrailError, match="cannot be exported to 'marain'") as caught:
        export_model(folder, "marain", tmp_path / "out")
    assert caught.value.fix == "did you mean 'marian'?"
    with pytest.raises(VitrailError, match="'marian' cannot be written in int8"):
        export_model(folder, "marian", tmp_path / "out", quantization="int8")
    (tmp_path / "out").write_text("mine")
    with pytest.raises(VitrailError, match="something here already"):
        export_model(folder, "marian", tmp_path / "out")
