"""Record one translation: the search with all its candidates, then one pass over the result with every tap open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import torch
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.model import Tap, Transformer
from vitrail.text import BOS, Tokenizers
from vitrail.trace.format import Array, Document, Trace, same_numbers
from vitrail.trace.habits import read_habits
from vitrail.trace.left_out import left_out
from vitrail.trace.lens import lens
from vitrail.trace.probes import read_probes
from vitrail.trace.run import read_run
from vitrail.trace.search import SearchRecord
from vitrail.trace.seen import seen_in_training
from vitrail.trace.weights import (
    as_array,
    check_parts,
    count_parameters,
    embedding_rows,
    encoded_size,
    fitting_parts,
    layer_weights,
    norm_weights,
    parts_of,
)
from vitrail.trace.words import word_numbers

if TYPE_CHECKING:
    from vitrail.translator import Translator

MAX_MB = 4.0  # layer weights are included only up to this size; 1 MB is a million bytes


class TraceOptions(TypedDict, total=False):
    """The options of `record`, which explains them."""

    to: str | None
    decode: DecodeConfig | None
    prefix: str
    heads_off: Mapping[str, Iterable[int]] | None
    reference: str | None
    layers: Sequence[str] | None
    max_mb: float


_WITHOUT_BATCH = ("source.position", "target.position")  # one table for the whole batch


def record(
    translator: Translator,
    text: str,
    *,
    to: str | None = None,
    decode: DecodeConfig | None = None,
    prefix: str = "",
    heads_off: Mapping[str, Iterable[int]] | None = None,
    reference: str | None = None,
    layers: Sequence[str] | None = None,
    max_mb: float = MAX_MB,
) -> Trace:
    """Translate `text` and record everything that led to the best translation.

    `decode` replaces the model's own search settings, `prefix` is the forced start of the translation, `heads_off`
    switches attention heads off. `reference` is a translation to compute the loss on. `layers` lists the parts whose
    weights to include ("encoder.0", "output", "all"); by default, as many as keep the JSON below `max_mb`.
    """
    chosen = check_parts(translator.model, layers) if layers is not None else None
    off = {name: sorted(set(heads)) for name, heads in (heads_off or {}).items()}
    changed = translator.without_heads(off) if off else translator
    config = (decode or translator.config).model_copy(
        update={"shortlist": False, "coverage": 0.0}  # a trace has the whole vocabulary, and the search alone
    )
    searched = SearchRecord(config)
    source, found = changed.search(text, to=to, decode=config, prefix=prefix, listener=searched)
    target = list(found[0].row)
    arrays = listen(changed.model, source, target)
    tokenizers, folder = translator.tokenizers, translator.folder
    words = word_numbers(tokenizers.source, source, len(tokenizers.languages))
    compared = _compare(changed, source, reference) if reference is not None else None
    document: Document = {
        "model": describe(translator),
        "source": {
            "text": text,
            "ids": source,
            "tokens": tokenizers.source_tokens(source),
            "words": words,
        },
        "target": {"text": tokenizers.decode(found[0].ids), **_target(tokenizers, target)},
        "to": to if to is not None else translator.target_language,
        "settings": config.model_dump(mode="json"),
        "what_if": {"heads_off": off, "prefix": prefix},
        "vocabulary": tokenizers.tokens(range(tokenizers.target.size)),
        "arrays": arrays,
        "weights": norm_weights(translator.model),
        "weights_of": [],
        "embeddings": embedding_rows(translator.model, source, _inputs(target)),
        "search": searched.to_dict(found, tokenizers),
        "reference": compared,
        "probes": read_probes(folder.path) if folder is not None else None,
        "run": read_run(folder.path) if folder is not None else None,
        "habits": _habits(translator, to),
        "lens": lens(changed.model, arrays, target),
        "left_out": left_out(changed.model, source, words, target),
        "seen": seen_in_training(translator, source),
    }
    _add_weights(document, translator.model, chosen, max_mb * 1e6)
    return Trace(document)


def listen(model: Transformer, source: Sequence[int], target: Sequence[int]) -> dict[str, Array]:
    """Feed the decoder a given target and return the value of every tap, without the batch axis."""
    heard: dict[str, Array] = {}

    def listener(name: str, value: Tensor) -> None:
        heard[name] = as_array(value if name in _WITHOUT_BATCH else value[0])

    device = next(model.parameters()).device
    source_BS = torch.tensor([list(source)], device=device)
    input_BT = torch.tensor([_inputs(target)], device=device)
    with torch.inference_mode():
        model.log_probs(source_BS, input_BT, tap=Tap(listener))
    return heard


def _inputs(target: Sequence[int]) -> list[int]:
    """The decoder's input: the target shifted right by one position."""
    return [BOS, *target[:-1]]


def _target(tokenizers: Tokenizers, row: Sequence[int]) -> dict[str, Any]:
    return {
        "ids": list(row),
        "tokens": tokenizers.tokens(row),
        "words": word_numbers(tokenizers.target, row, len(tokenizers.languages)),
        "input_ids": _inputs(row),
        "input_tokens": tokenizers.tokens(_inputs(row)),
    }


def _compare(translator: Translator, source: Sequence[int], reference: str) -> dict[str, Any]:
    """The model's predictions when its decoder is fed a reference translation (teacher forcing)."""
    row = translator.target_row(reference)
    heard = listen(translator.model, source, row)
    folder = translator.folder
    return {
        "text": reference,
        **_target(translator.tokenizers, row),
        "label_smoothing": folder.config.train.label_smoothing if folder is not None else 0.0,
        "logits": heard["logits"],
        "log_probs": heard["log_probs"],
    }


def describe(translator: Translator) -> dict[str, Any]:
    """The model of a trace: its settings, its size and its languages."""
    return {
        "name": translator.name,
        "config": translator.model.config.model_dump(mode="json"),
        "parameters": count_parameters(translator.model),
        "languages": list(translator.languages),
        "source_vocabulary": translator.tokenizers.source.size,
        "target_vocabulary": translator.tokenizers.target.size,
    }


def _habits(translator: Translator, to: str | None) -> dict[str, Any] | None:
    """What the heads and hidden units usually do when the model translates into this language."""
    if translator.folder is None:
        return None
    found = read_habits(translator.folder).get(translator.asked_language(to) or "")
    return found.model_dump() if found is not None else None


def _add_weights(document: Document, model: Transformer, chosen: Sequence[str] | None, max_bytes: float) -> None:
    if chosen is None:
        bare = Trace({**document, "arrays": {}, "weights": {}, "weights_of": parts_of(model)}).to_json()
        earlier = same_numbers(document["arrays"])
        stored = {**document["arrays"], **document["weights"]}
        used = len(bare.encode()) + sum(
            encoded_size(name, array.shape, same=earlier.get(name)) for name, array in stored.items()
        )
        chosen = fitting_parts(model, max_bytes - used)
    for part in chosen:
        document["weights"] |= layer_weights(model, part)
    document["weights_of"] = list(chosen)
