"""A Vitrail model as a CTranslate2 model for any program: tokens have names, and sentencepiece comes along."""

from __future__ import annotations

from pathlib import Path

from vitrail.folder import ModelFolder
from vitrail.interop.files import SOURCE_PIECES, TARGET_PIECES
from vitrail.interop.spelling import sentencepiece_of, spelled, spelled_twice
from vitrail.runtime import convert

QUANTIZATIONS = ("float32", "float16", "int8")


def why_not(folder: ModelFolder) -> str | None:
    """Why CTranslate2 cannot express a model; None if it can."""
    words = folder.tokenizers
    for side in (words.source, words.target):
        if (name := spelled_twice(side, words.languages)) is not None:
            return f"its vocabulary has a piece '{name}', which is a special symbol there"
    return convert.why_not(folder.config.model)


def write(folder: ModelFolder, out: Path, *, quantization: str) -> None:
    """Write the model into the folder `out`, which exists."""
    words = folder.tokenizers
    named = convert.Names(spelled(words.source, words.languages), spelled(words.target, words.languages), adds_end=True)
    convert.convert(folder, precision=quantization, out=out, named=named)
    for name, side in ((SOURCE_PIECES, words.source), (TARGET_PIECES, words.target)):
        if (pieces := sentencepiece_of(side)) is not None:
            (out / name).write_bytes(pieces)
