"""`vitrail train`: two text files, or a recipe, to a model folder."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.processes import is_first, told_once
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
from vitrail.config import Config


def train(
    recipe: Annotated[
        Path | None, typer.Argument(help="A recipe in TOML; recipes/recipe.toml explains every key.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write; a run that is already there goes on.")] = ...,  # type: ignore[assignment]
    source: SourceFile = None,
    target: TargetFile = None,
    validation_source: ValidationSource = None,
    validation_target: ValidationTarget = None,
    preset: Annotated[str | None, typer.Option(help="tiny, small, base or big.")] = None,
    strict: Strict = False,
    changes: Changes = None,
) -> None:
    """Train a translator. Stop it with Ctrl-C, run the same command again, and it goes on."""
    options = data_options(source, target, validation_source, validation_target, strict)
    with told_once():
        config = read_recipe(recipe, {**options, "model.preset": preset}, changes)
    run(config, out)


def run(config: Config, out: Path) -> None:
    """Train with progress on the screen; end with how to go on or what to do next."""
    from vitrail.cli.progress import TrainingProgress
    from vitrail.train import HeardError, keep_memory
    from vitrail.train import train as start_or_go_on

    keep_memory()
    with TrainingProgress() if is_first() else nullcontext() as progress:
        try:
            outcome = start_or_go_on(config, out, progress)
        except HeardError:
            with told_once():
                raise
    if not is_first():
        raise typer.Exit(130 if outcome.reason == "interrupted" else 0)
    if outcome.reason == "interrupted":
        print(f"stopped at step {outcome.step:,}; run the same command again to go on", file=sys.stderr)
        raise typer.Exit(130)
    every = config.train.validate_every
    if outcome.has_validation and outcome.best_loss is None and outcome.step < every:
        print(
            f"note: the run ended before its first look at the validation data (validate_every = {every:,})",
            file=sys.stderr,
        )
    best = f", best validation loss {outcome.best_loss:.3f}" if outcome.best_loss is not None else ""
    print(f"finished at step {outcome.step:,} ({outcome.reason}){best}: {out}")
