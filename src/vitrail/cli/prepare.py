"""`vitrail prepare`: read, filter and encode corpora once, for several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def prepare(
    recipe: Annotated[Path | None, typer.Argument(help="A recipe in TOML; only [data] and train.seed matter.")] = None,
    out: Annotated[Path, typer.Option(help="The folder to write. Name it in a recipe as data.prepared.")] = ...,  # type: ignore[assignment]
    source: Annotated[Path | None, typer.Option(help="Sentences to translate, one a line.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A pair that would be left out is an error.")] = False,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; may be repeated.")
    ] = None,
) -> None:
    """Make the vocabulary and the encoded corpus of a recipe, and say what was left out."""
    from vitrail.cli.progress import progressing
    from vitrail.config import load_config
    from vitrail.data import prepare as prepare_data

    options = {
        "data.source": source and str(source),
        "data.target": target and str(target),
        "data.strict": strict or None,
    }
    given = {key: value for key, value in options.items() if value is not None}
    config = load_config(recipe, given=given, overrides=changes or [])
    with progressing() as progress:
        prepared = prepare_data(config.data, out, seed=config.train.seed, report=progress.working)
        for line in prepared.report.lines():
            progress.say(line)
    pairs = sum(len(shard) for shard in prepared.train)
    print(f"{pairs:,} pairs, {prepared.tokenizers.target.size:,} ids in the vocabulary: {out}")
