"""`vitrail train`: from two text files, or a recipe, to a model folder."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.processes import is_first, report_once
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
        Path | None, typer.Argument(metavar="RECIPE", help="Recipe in TOML; recipes/recipe.toml explains every key.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Model folder to write. An existing run resumes.")] = ...,  # type: ignore[assignment]
    source: SourceFile = None,
    target: TargetFile = None,
    validation_source: ValidationSource = None,
    validation_target: ValidationTarget = None,
    preset: Annotated[
        str | None, typer.Option(help="Model size: tiny, small, student, base or big. Default: the recipe's, or base.")
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option("--from", metavar="MODEL", help="Model folder, or builtin, to start from: weights, vocabulary."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="Time budget: chooses the steps, and what neither the recipe nor an option gives."),
    ] = None,
    strict: Strict = False,
    changes: Changes = None,
) -> None:
    """Train a translator from two text files or a recipe.

    Stop it with Ctrl-C; the same command resumes it.
    """
    options = data_options(source, target, validation_source, validation_target, strict)
    with report_once():
        chosen = {"model.preset": preset, "train.start_from": start_from, "train.minutes": minutes}
        config = read_recipe(recipe, {**options, **chosen}, changes)
    run(config, out)


def run(config: Config, out: Path) -> None:
    """Train with progress on the screen, then print the result or how to resume."""
    from vitrail.cli.progress import TrainingProgress
    from vitrail.train import HeardError, keep_memory
    from vitrail.train import train as start_or_resume

    keep_memory()
    with TrainingProgress() if is_first() else nullcontext() as progress:
        try:
            outcome = start_or_resume(config, out, progress)
        except HeardError:
            with report_once():
                raise
    if not is_first():
        raise typer.Exit(130 if outcome.reason == "interrupted" else 0)
    if outcome.reason == "interrupted":
        print(f"stopped at step {outcome.step:,}; run the same command again to resume", file=sys.stderr)
        raise typer.Exit(130)
    every = config.train.validate_every
    if outcome.has_validation and outcome.best_loss is None and outcome.step < every:
        print(
            f"note: the run ended before its first validation (validate_every = {every:,})",
            file=sys.stderr,
        )
    best = f", best validation loss {outcome.best_loss:.3f}" if outcome.best_loss is not None else ""
    print(f"finished at step {outcome.step:,} ({outcome.reason}){best}: {out}")
