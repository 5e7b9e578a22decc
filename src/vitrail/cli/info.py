"""`vitrail info`: what a model folder holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    words: Annotated[bool, typer.Option("--words", help="List the vocabulary, an id and its token a line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Check a model folder and describe it: shape, size, vocabulary, languages, how its training went."""
    from vitrail.folder import ModelFolder

    folder = ModelFolder.open(model)
    if words:
        target = folder.tokenizers.target
        for token_id in range(target.size):
            print(f"{token_id}\t{target.token(token_id)}")
        return
    facts = describe(folder.path)
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        width = max(map(len, facts))
        for name, value in facts.items():
            print(f"{name:<{width}}  {value:,}" if isinstance(value, int) else f"{name:<{width}}  {value}")


def describe(path: Path) -> dict[str, object]:
    """The facts about a model folder, each under its name."""
    from vitrail.folder import ModelFolder
    from vitrail.train import LOG, list_steps, read_log

    folder = ModelFolder.open(path)
    shape, tokenizers = folder.config.model, folder.tokenizers
    model = folder.new_model()
    facts: dict[str, object] = {
        "folder": str(path),
        "layers": f"{shape.encoder_layers} encoder + {shape.decoder_layers} decoder",
        "d_model": shape.d_model,
        "heads": shape.heads if shape.kv_heads == shape.heads else f"{shape.heads} ({shape.kv_heads} key-value)",
        "d_k": shape.d_k,
        "d_ff": shape.d_ff,
        "norm": shape.norm,
        "positions": shape.positions,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "vocabulary": f"{tokenizers.target.kind}, {tokenizers.source.size:,} source, {tokenizers.target.size:,} target",
        "languages": ", ".join(tokenizers.languages) or "one direction",
        "weights": "ready" if folder.has_weights else "none yet",
        "checkpoints": ", ".join(str(step) for step in list_steps(path)) or "none",
    }
    looks = [event for event in read_log(path / LOG) if event["event"] == "validation"]
    if looks:
        best = min(looks, key=lambda look: look["loss"])
        bleu = f", BLEU {best['bleu']:.1f}" if best["bleu"] is not None else ""
        facts["best validation"] = f"loss {best['loss']:.3f}{bleu} at step {best['step']}"
    return facts
