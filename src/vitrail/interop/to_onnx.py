"""A Vitrail model as two ONNX graphs: the encoder, and one step of the decoder with its cache.

encoder.onnx: `source` (batch, source) -> `source_mask` and, for each decoder layer, `memory_key_N`, `memory_value_N`.
decoder.onnx: `ids` (batch, 1), all of these, and `past_key_N`, `past_value_N` (of length 0 at first) -> `log_probs` of
the next id (batch, vocabulary), and `present_key_N`, `present_value_N`, which are the past of the next step.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

from vitrail.errors import VitrailError
from vitrail.folder import ModelFolder
from vitrail.interop import files
from vitrail.interop.onnx_model import decoder, encoder
from vitrail.interop.spelling import sentencepiece_of, spelled
from vitrail.runtime.convert import SINUSOIDS
from vitrail.storage import write_text
from vitrail.text.special import BOS, EOS, PAD

QUANTIZATIONS = ("float32",)
LARGEST = 2_000_000_000  # bytes of a file in protobuf's format


def why_not(folder: ModelFolder) -> str | None:
    """Why ONNX cannot express a model; None if it can."""
    model = folder.config.model
    if model.positions not in (*SINUSOIDS, "learned"):
        return f"positions like '{model.positions}', inside attention, are not written as ONNX yet"
    size = 4 * sum(prod(shape) for shape in folder.shapes().values())
    return f"an ONNX file has less than 2 GB, and its weights {size / 1e9:.1f}" if size > LARGEST else None


def write(folder: ModelFolder, out: Path, *, quantization: str) -> None:
    """Write the model into the folder `out`, which exists."""
    try:
        import onnx
    except ImportError:
        raise VitrailError(
            "writing ONNX needs the package onnx", where="--to onnx", fix="install it: pip install 'vitrail[onnx]'"
        ) from None
    weights = {name: value.numpy() for name, value in folder.model().state_dict().items()}
    model, words = folder.config.model, folder.tokenizers
    for name, build in (("encoder", encoder), ("decoder", decoder)):
        onnx.save(build(model, weights).model(), out / f"{name}.onnx")
    settings = {
        **{"pad": PAD, "start": BOS, "end": EOS, "never": list(words.forbidden)},
        **{"decoder_layers": model.decoder_layers, "heads": model.heads, "d_k": model.d_k},
    }
    for name, table in (
        (files.CONFIG, settings),
        (files.VOCABULARY, spelled(words.source, words.languages)),
        (files.TARGET_VOCABULARY, spelled(words.target, words.languages)),
    ):
        write_text(out / name, json.dumps(table, ensure_ascii=False, indent=1) + "\n")
    for name, side in ((files.SOURCE_PIECES, words.source), (files.TARGET_PIECES, words.target)):
        if (pieces := sentencepiece_of(side)) is not None:
            (out / name).write_bytes(pieces)
