"""`vitrail prepare`: read, filter and encode corpora once, for several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.recipe import (
    Changes,
    SourceFile,
    Strict,
    TargetFile,
    ValidationSource,
    ValidationTarget,
    data_options,
    read_recipe,
)


def prepare(
    recipe: Annotated[
        Path | None,
        typer.Argument(metavar="RECIPE", help=r"Recipe in TOML; only \[data], train.seed and train.start_from matter."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write. Recipes use it as data.prepared.")] = ...,  # type: ignore[assignment]
    source: SourceFile = None,
    target: TargetFile = None,
    validation_source: ValidationSource = None,
    validation_target: ValidationTarget = None,
    strict: Strict = False,
    changes: Changes = None,
) -> None:
    """Build the vocabulary and the encoded corpus of a recipe, and report skipped pairs."""
    from vitrail.cli.progress import progressing
    from vitrail.data import prepare as prepare_data

    options = data_options(source, target, validation_source, validation_target, strict)
    config = read_recipe(recipe, options, changes)
    vocabulary = None
    if config.train.start_from is not None:
        from vitrail.train.start import Start, inherit

        start = Start.of(config)
        assert start is not None
        config, vocabulary = inherit(config, start.folder.config), start.vocabulary
    with progressing() as progress:
        prepared = prepare_data(
            config.data, out, seed=config.train.seed, report=progress.working, vocabulary=vocabulary
        )
        for line in prepared.report.lines():
            progress.say(line)
    pairs = sum(len(shard) for shard in prepared.train)
    print(f"{pairs:,} pairs, vocabulary of {prepared.tokenizers.target.size:,}: {out}")
