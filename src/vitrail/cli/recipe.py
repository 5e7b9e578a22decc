"""What the commands that take a recipe have in common: their options, and how these change it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vitrail.config import Config, load_config

SourceFile = Annotated[Path | None, typer.Option(help="Sentences to translate, one a line.")]
TargetFile = Annotated[Path | None, typer.Option(help="Their translations, line by line.")]
ValidationSource = Annotated[Path | None, typer.Option(help="Sentences to measure on while training.")]
ValidationTarget = Annotated[Path | None, typer.Option(help="Their translations.")]
Strict = Annotated[bool, typer.Option("--strict", help="A pair that would be left out is an error.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a setting; may be repeated.")
]


def data_options(
    source: Path | None,
    target: Path | None,
    validation_source: Path | None,
    validation_target: Path | None,
    strict: bool,
) -> dict[str, Path | str | bool | None]:
    """The options above by the keys they stand for."""
    return {
        "data.source": source,
        "data.target": target,
        "data.validation_source": validation_source,
        "data.validation_target": validation_target,
        "data.strict": strict,
    }


def read_recipe(recipe: Path | None, options: dict[str, Path | str | bool | None], changes: list[str] | None) -> Config:
    """The settings of a recipe, with the options that were given, by the keys they stand for, and `--set` above all."""
    given = {key: str(value) if isinstance(value, Path) else value for key, value in options.items() if value}
    return load_config(recipe, given=given, overrides=changes or [])
