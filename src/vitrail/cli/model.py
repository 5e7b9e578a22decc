"""What several commands share: the MODEL argument, and how much of the machine to use."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model folder, or builtin for the built-in model.")]

# How much of the machine a command uses.
Threads = Annotated[int | None, typer.Option(min=1, help="Number of cores to use. Default: all of them.")]

# What computes translations, and in which numbers.
Engine = Annotated[str | None, typer.Option(help="What computes it: auto, ctranslate2 or torch.")]
Precision = Annotated[str | None, typer.Option(help="float32, or int8: faster, and nearly as good.")]
