"""A Vitrail model as a Marian model of Hugging Face, with the same predictions: `transformers` loads it.

Ids stay as they are: config.json says which are padding, start and end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitrail.config import ModelConfig
from vitrail.folder import ModelFolder
from vitrail.interop import files
from vitrail.interop.names import BIAS, TABLES, their_name
from vitrail.interop.spelling import END, PADDING, UNKNOWN, sentencepiece_of, spelled, spelled_twice
from vitrail.interop.tensors import SAFE
from vitrail.storage import save_tensors, write_text
from vitrail.text.special import BOS, EOS, PAD

if TYPE_CHECKING:
    from torch import Tensor

QUANTIZATIONS = ("float32",)
_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "swish"}
_POSITIONS = 1100  # a source has 1,024 tokens at most, its translation usually 50 more


def why_not(folder: ModelFolder) -> str | None:
    """Why Marian cannot express a model; None if it can."""
    model, words = folder.config.model, folder.tokenizers
    if model.norm != "post":
        return f"Marian's norms come after the sublayers, and this model has norm = '{model.norm}'"
    if model.positions not in ("sinusoidal", "sinusoidal-halves"):
        return f"Marian has no positions like '{model.positions}'"
    if model.d_k * model.heads != model.d_model:
        return f"Marian needs d_k = d_model / heads, which is not {model.d_k}"
    for side in (words.source, words.target):
        if sentencepiece_of(side) is None:
            return f"Marian's vocabularies are of subwords, and this one is of kind '{side.kind}'"
        if (name := spelled_twice(side, words.languages)) is not None:
            return f"its vocabulary has a piece '{name}', which is a special symbol there"
    return None


def write(folder: ModelFolder, out: Path, *, quantization: str) -> None:
    """Write the model into the folder `out`, which exists."""
    words = folder.tokenizers
    for name, table in (
        (files.CONFIG, _config(folder)),
        (files.GENERATION, _generation(folder)),
        (files.TOKENIZER, _tokenizer(folder)),
        (files.VOCABULARY, _ids(spelled(words.source, words.languages))),
    ):
        _write(out / name, table)
    if not words.joint:
        _write(out / files.TARGET_VOCABULARY, _ids(spelled(words.target, words.languages)))
    for name, side in ((files.SOURCE_PIECES, words.source), (files.TARGET_PIECES, words.target)):
        (out / name).write_bytes(sentencepiece_of(side) or b"")
    save_tensors(_weights(folder), out / SAFE, {"format": "pt"})


def _config(folder: ModelFolder) -> dict[str, Any]:
    model, words = folder.config.model, folder.tokenizers
    sides = {
        f"{side}_{name}": value
        for side, layers in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers))
        for name, value in (("layers", layers), ("attention_heads", model.heads), ("ffn_dim", model.d_ff))
    }
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": words.source.size,
        "decoder_vocab_size": words.target.size,
        "d_model": model.d_model,
        **sides,
        "activation_function": _ACTIVATIONS[model.activation],
        "dropout": model.dropout,
        "attention_dropout": model.attention_dropout,
        "activation_dropout": model.activation_dropout,
        "scale_embedding": model.embedding_scale,
        "share_encoder_decoder_embeddings": model.tie_embeddings == "all",
        "tie_word_embeddings": model.tie_embeddings != "none",
        "max_position_embeddings": _POSITIONS,
        "static_position_embeddings": True,
        **_symbols(),
    }


def _generation(folder: ModelFolder) -> dict[str, Any]:
    """How transformers should search: as near to our settings as it can."""
    decode = folder.config.decode
    return {
        "num_beams": decode.beam_size,
        "length_penalty": decode.alpha if decode.penalty == "length" else 1.0,
        "early_stopping": decode.beam_size > 1,
        "max_length": 512,
        "bad_words_ids": [[number] for number in folder.tokenizers.forbidden],
        **_symbols(),
    }


def _symbols() -> dict[str, int | None]:
    ids = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "decoder_start_token_id": BOS}
    return {**ids, "forced_eos_token_id": None}


def _tokenizer(folder: ModelFolder) -> dict[str, Any]:
    directions = folder.config.data.directions()
    languages = dict(zip(("source_lang", "target_lang"), directions[0], strict=True)) if len(directions) == 1 else {}
    return {
        "tokenizer_class": "MarianTokenizer",
        **{"unk_token": UNKNOWN, "eos_token": END, "pad_token": PADDING},
        "model_max_length": 1024,
        "separate_vocabs": not folder.tokenizers.joint,
        **languages,
    }


def _ids(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _write(path: Path, table: dict[str, Any]) -> None:
    write_text(path, json.dumps(table, ensure_ascii=False, indent=1) + "\n")


def _weights(folder: ModelFolder) -> dict[str, Tensor]:
    """The weights under Marian's names. Marian always has biases, and a key and a value for each head."""
    import torch

    model = folder.config.model
    theirs = {name: _complete(name, value, model) for name, value in folder.model().state_dict().items()}
    if not model.bias:
        wide = [name for name in theirs if name.endswith(".weight") and not name.startswith("embeddings.")]
        theirs |= {f"{name.removesuffix('weight')}bias": torch.zeros(len(theirs[name])) for name in wide}
    if model.positions == "sinusoidal":
        order = torch.cat([torch.arange(0, model.d_model, 2), torch.arange(1, model.d_model, 2)])
        theirs = {name: _reordered(name, value, order) for name, value in theirs.items()}
    bias = theirs.pop("output_bias", torch.zeros(folder.tokenizers.target.size))
    return {their_name(name): value.contiguous() for name, value in theirs.items()} | {BIAS: bias[None]}


def _complete(name: str, value: Tensor, model: ModelConfig) -> Tensor:
    """Keys and values that several heads share, once for each of them."""
    if ".key." not in name and ".value." not in name:
        return value
    shared_by = model.heads // model.kv_heads
    return value.view(model.kv_heads, 1, model.d_k, -1).expand(-1, shared_by, -1, -1).reshape(-1, *value.shape[1:])


def _reordered(name: str, value: Tensor, order: Tensor) -> Tensor:
    """A weight with the numbers of a word's vector in another order.

    The paper's positions are sines and cosines in turn, Marian's are all sines, then all cosines: the same numbers. A
    model does not care in which order it keeps the numbers of a vector, as long as all its parts keep them alike.
    """
    reads_words = (".query.", ".key.", ".value.", ".inner.")
    if name in TABLES and name != "output_bias":
        return value[:, order]
    if any(part in name for part in reads_words):
        return value[:, order] if name.endswith("weight") else value
    return value if name == "output_bias" else value[order]  # what writes words, and norms
