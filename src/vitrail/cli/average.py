"""`vitrail average`: the mean of a run's newest checkpoints as a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def average(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Folder that `vitrail train` wrote.")],
    last: Annotated[int, typer.Option(min=1, help="How many of the newest checkpoints to average.")] = 5,
    out: Annotated[Path | None, typer.Option(help="New model folder. Default: replace the weights of RUN.")] = None,
) -> None:
    """Average the newest checkpoints of RUN into one model."""
    from vitrail.box import model_path
    from vitrail.train import average_checkpoints

    folder, steps = average_checkpoints(model_path(run), last=last, out=out)
    if len(steps) < last:
        kept = "1 checkpoint" if len(steps) == 1 else f"{len(steps)} consecutive checkpoints"
        print(f"note: --last {last}, but the run keeps only {kept}", file=sys.stderr)
    print(f"averaged steps {', '.join(str(step) for step in steps)}: {folder}")
