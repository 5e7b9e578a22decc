"""The options that the commands with a recipe share, and how they change it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vitrail.config import Config, load_config

Options = dict[str, Path | str | bool | float | None]  # by setting
SourceFile = Annotated[Path | None, typer.Option(help="Source sentences, one per line.")]
TargetFile = Annotated[Path | None, typer.Option(help="Their translations, line by line.")]
ValidationSource = Annotated[Path | None, typer.Option(help="Source sentences to validate on.")]
ValidationTarget = Annotated[Path | None, typer.Option(help="Their translations.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first unusable pair instead of skipping it.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, e.g. data.max_length=80. Repeatable."),
]


def data_options(
    source: Path | None,
    target: Path | None,
    validation_source: Path | None,
    validation_target: Path | None,
    strict: bool,
) -> Options:
    """The options above, by setting."""
    return {
        "data.source": source,
        "data.target": target,
        "data.validation_source": validation_source,
        "data.validation_target": validation_target,
        "data.strict": strict,
    }


def read_recipe(recipe: Path | None, options: Options, changes: list[str] | None) -> Config:
    """Read a recipe and apply options to it, by setting. `--set` takes precedence over both."""
    given = {
        key: str(value) if isinstance(value, Path) else value
        for key, value in options.items()
        if value is not None and value is not False  # 0 is a value, to be judged like any other
    }
    return load_config(recipe, given=given, overrides=changes or [])
