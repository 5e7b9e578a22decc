"""`vitrail score`: the probability that a model assigns to given translations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.formats import Format
from vitrail.cli.model import Model
from vitrail.cli.search import without_effect


def score(
    model: Model,
    source: Annotated[Path | None, typer.Option(help="Source sentences, one per line.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Instead of both: one file of pairs, TSV or JSON lines.")] = None,
    source_field: Annotated[
        str | None, typer.Option(help="Sources in --pairs: a column, counted from 1, or a key. Default: 1 or source.")
    ] = None,
    target_field: Annotated[
        str | None, typer.Option(help="Targets in --pairs, likewise. Default: 2 or target.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Target language, if the model has several.")] = None,
    style: Annotated[Format, typer.Option("--format", help="text, or json: one object per line.")] = Format.TEXT,
) -> None:
    """Print the log-probability of each translation given its source, summed over its tokens."""
    from vitrail.data import read_aligned, read_pairs
    from vitrail.errors import DataError
    from vitrail.translator import load

    for option, field in (("--source-field", source_field), ("--target-field", target_field)):
        if field is not None and pairs is None:
            raise without_effect(option, "without --pairs", fix=f"give --pairs, or remove {option}")
    if pairs is not None and source is None and target is None:
        sources, targets = read_pairs(pairs, source_field=source_field, target_field=target_field)
    elif pairs is None and source is not None and target is not None:
        sources, targets = read_aligned(source, target)
    else:
        raise DataError(
            "the pairs to score are incomplete, or there is more than one set",
            where="--source, --target, --pairs",
            fix="give --source and --target, or --pairs",
        )
    found = load(model).score(sources, targets, to=to)
    for one, other, log_probability in zip(sources, targets, found, strict=True):
        if style is Format.JSON:
            print(json.dumps({"source": one, "target": other, "score": log_probability}, ensure_ascii=False))
        else:
            print(f"{log_probability:.6f}")
