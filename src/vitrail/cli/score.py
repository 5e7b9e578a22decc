"""`vitrail score`: the probability that a model assigns to given translations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.model import Model


def score(
    model: Model,
    source: Annotated[Path, typer.Option(help="Source sentences, one per line.")],
    target: Annotated[Path, typer.Option(help="Their translations, line by line.")],
    to: Annotated[str | None, typer.Option(help="Target language, if the model has several.")] = None,
) -> None:
    """Print the log-probability of each translation given its source, summed over its tokens."""
    from vitrail.data import read_aligned
    from vitrail.translator import load

    sources, targets = read_aligned(source, target)
    for log_probability in load(model).score(sources, targets, to=to):
        print(f"{log_probability:.6f}")
