"""A model as one file for the page, which can then translate without a server: `web/engine/model_file.js` reads it.

It is a safetensors file. Its metadata has one entry, "vitrail": everything that is not a weight, as JSON. Weights stay
as the folder stores them, in float16 or int8; float32 is rounded to float16, which halves the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vitrail import __version__
from vitrail.config import DecodeConfig
from vitrail.errors import TextError
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.trace.habits import read_habits
from vitrail.trace.probes import read_probes
from vitrail.trace.record import describe
from vitrail.trace.run import read_run
from vitrail.weights import Precision, pack, read_tensors, stored_precision, unpack

if TYPE_CHECKING:
    from torch import Tensor

    from vitrail.translator import Translator

VERSION = 1


@dataclass(frozen=True)
class ModelFile:
    """A model's file, and the translator that computes with exactly its weights: a page's trace must come from it."""

    content: bytes
    precision: Precision
    translator: Translator


def model_file(
    translator: Translator,
    precision: Precision | None = None,
    *,
    decode: DecodeConfig | None = None,
    with_run: bool = False,
) -> ModelFile:
    """Pack a translator into one file. `precision` is that of the weights; by default the folder's, or else float16.

    `decode` replaces its search settings; `with_run` adds the curves and probe sentences of the model's training.
    """
    from safetensors.torch import save

    stored = _stored(translator)
    if precision is None:
        precision = stored if stored in ("int8", "float16") else "float16"
    tensors, exact = _packed(translator, precision, is_stored=precision == stored)
    sheet = json.dumps(
        _sheet(exact, precision, decode or exact.config, with_run=with_run), ensure_ascii=False, separators=(",", ":")
    )
    return ModelFile(save(tensors, metadata={"vitrail": sheet}), precision, exact)


def fits_into_a_page(translator: Translator) -> bool:
    """Whether the page's own model can compute what this one does."""
    try:
        return bool(translator.tokenizers.source.table() and translator.tokenizers.target.table())
    except TextError:  # the vocabulary is of a kind that no page reads
        return False


def _stored(translator: Translator) -> Precision | None:
    """The precision of the weights that the translator's folder holds, if it has one."""
    if translator.folder is None or not translator.folder.has_weights:
        return None
    return stored_precision(translator.folder.path / WEIGHTS)


def _packed(translator: Translator, precision: Precision, *, is_stored: bool) -> tuple[dict[str, Tensor], Translator]:
    """The weights as the file holds them, and a translator with these weights."""
    from vitrail.runtime import Runtime
    from vitrail.translator import Translator

    if is_stored and translator.folder is not None and precision != "float32":
        return read_tensors(translator.folder.path / WEIGHTS), translator
    packed = {name: value.contiguous() for name, value in pack(translator.model.state_dict(), precision).items()}
    if precision == "float32":
        return packed, translator
    from vitrail.model import Transformer

    model = translator.model
    sizes = translator.tokenizers.source.size, translator.tokenizers.target.size
    rounded = Transformer(model.config, *sizes)
    rounded.load_state_dict(unpack(packed, where="the page's model"))
    exact = Translator(
        Runtime(folder=translator.folder, model=rounded.eval()),
        translator.tokenizers,
        translator.config,
        target_language=translator.target_language,
        folder=translator.folder,
    )
    return packed, exact


def _sheet(translator: Translator, precision: Precision, decode: DecodeConfig, *, with_run: bool) -> dict[str, Any]:
    """Everything that is not a weight."""
    tokenizers, folder = translator.tokenizers, translator.folder
    return {
        "version": VERSION,
        "vitrail": __version__,
        "model": describe(translator),
        "decode": decode.model_dump(mode="json"),
        "precision": precision,
        "label_smoothing": folder.config.train.label_smoothing if folder is not None else 0.0,
        "target_language": translator.target_language,
        "languages": list(tokenizers.languages),
        "source": tokenizers.source.table(),
        "target": None if tokenizers.joint else tokenizers.target.table(),
        "habits": _habits(folder),
        "probes": read_probes(folder.path) if folder is not None and with_run else None,
        "run": read_run(folder.path) if folder is not None and with_run else None,
    }


def _habits(folder: ModelFolder | None) -> dict[str, Any]:
    """The habits of the model's heads, by target language; empty if nobody has measured them."""
    if folder is None:
        return {}
    return {language: habits.model_dump(mode="json") for language, habits in read_habits(folder).items()}
