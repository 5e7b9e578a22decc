"""`vitrail score`: the probability that a model assigns to given translations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.formats import Format
from vitrail.cli.model import Ensemble, Model, Threads, To
from vitrail.cli.search import without_effect
from vitrail.cli.test_set import Pairs, SourceField


def score(
    model: Model,
    source: Annotated[Path | None, typer.Option(help="Source sentences, one per line.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    pairs: Pairs = None,
    source_field: SourceField = None,
    target_field: Annotated[
        str | None, typer.Option(help="Targets in --pairs, likewise. Default: 2 or target.")
    ] = None,
    align: Annotated[
        bool,
        typer.Option(
            "--align", help="Also print which word of the source each word of the target is from: ||| 0-0 1-2."
        ),
    ] = False,
    to: To = None,
    ensemble: Ensemble = None,
    threads: Threads = None,
    style: Annotated[Format, typer.Option("--format", help="text, or json: one object per line.")] = Format.TEXT,
) -> None:
    """Print the log-probability of each translation given its source, summed over its tokens."""
    from vitrail.alignment import pharaoh
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
    translator = load(model, threads=threads, ensemble=ensemble or ())
    found = translator.score(sources, targets, to=to)
    links = [pharaoh(one) for one in translator.align(sources, targets, to=to)] if align else None
    for number, (one, other, log_probability) in enumerate(zip(sources, targets, found, strict=True)):
        if style is Format.JSON:
            aligned = {} if links is None else {"alignment": links[number]}
            fact = {"source": one, "target": other, "score": log_probability, **aligned}
            print(json.dumps(fact, ensure_ascii=False))
        else:
            print(f"{log_probability:.6f}" if links is None else f"{log_probability:.6f} ||| {links[number]}")
