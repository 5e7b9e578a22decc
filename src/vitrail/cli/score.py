"""`vitrail score`: how probable a model finds given translations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.model import Model


def score(
    model: Model,
    source: Annotated[Path, typer.Option(help="Sentences, one a line.")],
    target: Annotated[Path, typer.Option(help="Their translations, line by line.")],
    to: Annotated[str | None, typer.Option(help="The target language, where the model has several.")] = None,
) -> None:
    """Print, for every pair, the log-probability of the target given the source: the sum over its tokens."""
    from vitrail.data import read_aligned
    from vitrail.translator import load

    sources, targets = read_aligned(source, target)
    for log_probability in load(model).score(sources, targets, to=to):
        print(f"{log_probability:.6f}")
