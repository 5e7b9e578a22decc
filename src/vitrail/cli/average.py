"""`vitrail average`: the mean of a run's newest checkpoints as a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def average(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A folder that `vitrail train` wrote.")],
    last: Annotated[int, typer.Option(min=1, help="How many of the newest checkpoints, as far as they are kept.")] = 5,
    out: Annotated[Path | None, typer.Option(help="A new model folder. Unset: RUN's own weights are replaced.")] = None,
) -> None:
    """Average the newest checkpoints of RUN into one model."""
    from vitrail.box import model_path
    from vitrail.train import average_checkpoints

    folder, steps = average_checkpoints(model_path(run), last=last, out=out)
    if len(steps) < last:
        print(f"note: there are {len(steps)} in a row up to the newest, not {last}", file=sys.stderr)
    print(f"averaged steps {', '.join(str(step) for step in steps)}: {folder}")
