"""What several commands share: the model, its target language, and how much of the machine to use."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model folder, or builtin for the built-in model.")]
To = Annotated[str | None, typer.Option(help="Target language, if the model has several.")]

# Models that translate together with MODEL.
Ensemble = Annotated[
    list[str] | None,
    typer.Option(
        "--ensemble",
        metavar="MODEL",
        help="Translate together with this model, by the mean of the probabilities; it needs the same vocabulary. "
        "Repeatable.",
    ),
]

Coverage = Annotated[
    float | None,
    typer.Option(help="Weight of the coverage penalty, for translations that leave words unread; 0.2 is usual."),
]

# How much of the machine a command uses.
Threads = Annotated[int | None, typer.Option(min=1, help="Number of cores to use. Default: all of them.")]

# What computes translations, and in which numbers.
Engine = Annotated[str | None, typer.Option(help="What computes it: auto, ctranslate2 or torch.")]
Precision = Annotated[str | None, typer.Option(help="float32, or int8: faster, and nearly as good.")]
