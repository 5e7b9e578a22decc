"""`vitrail info`: what a model folder holds."""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING, Annotated

import typer

from vitrail.cli.model import Model
from vitrail.cli.search import without_effect

if TYPE_CHECKING:
    from vitrail.folder import ModelFolder


def info(
    model: Model,
    words: Annotated[bool, typer.Option("--words", help="List the vocabulary, one id and token per line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a model folder and describe it: shape, size, vocabulary, languages, best validation."""
    from vitrail.box import model_path
    from vitrail.folder import ModelFolder

    if words and as_json:
        raise without_effect("--json", "with --words", fix="remove one of them")
    folder = ModelFolder.open(model_path(model))
    if words:
        target = folder.tokenizers.target
        for token_id in range(target.size):
            print(f"{token_id}\t{target.token(token_id)}")
        return
    facts = describe(folder)
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {_printed(value)}")


def describe(folder: ModelFolder) -> dict[str, object]:
    """The facts about a model folder, by name."""
    from vitrail.folder import WEIGHTS
    from vitrail.train import LOG, list_steps, read_log, read_origin
    from vitrail.weights import stored_precision

    shape, tokenizers = folder.config.model, folder.tokenizers
    validations = [event for event in read_log(folder.path / LOG) if event["event"] == "validation"]
    origin = read_origin(folder.path)
    best = min(validations, key=lambda event: event["loss"], default=None)
    return {
        "folder": str(folder.path),
        "encoder_layers": shape.encoder_layers,
        "decoder_layers": shape.decoder_layers,
        "d_model": shape.d_model,
        "heads": shape.heads,
        "kv_heads": shape.kv_heads,
        "d_k": shape.d_k,
        "d_ff": shape.d_ff,
        "norm": shape.norm,
        "positions": shape.positions,
        "parameters": sum(map(prod, folder.shapes().values())),
        "vocabulary": tokenizers.target.kind,
        "source_vocabulary": tokenizers.source.size,
        "target_vocabulary": tokenizers.target.size,
        "languages": list(tokenizers.languages),
        "has_weights": folder.has_weights,
        "precision": stored_precision(folder.path / WEIGHTS) if folder.has_weights else None,
        **_engine(folder),
        "started_from": origin and origin.model_dump(),
        "checkpoints": list_steps(folder.path),
        "best_validation": best and {name: best[name] for name in ("step", "loss", "bleu")},
    }


def _engine(folder: ModelFolder) -> dict[str, object]:
    """What computes translations by default, and what was measured about it on this machine."""
    from vitrail.runtime import Job, Runtime

    engine = Runtime.of_folder(folder).ctranslate2
    assert engine is not None
    reason = engine.why_not(Job([], folder.config.decode))
    known = engine.tuning(folder.config.decode)
    tuning = known.model_dump() if known is not None else None
    return {"engine": engine.name, "tuning": tuning} if reason is None else {"engine": f"torch ({reason})"}


def _printed(value: object) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_printed(part)}" for name, part in value.items())
    return str(value)
