"""`vitrail import`: a model of another toolkit as a Vitrail model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_model(
    model: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a Marian model of Hugging Face, such as one of OPUS-MT.")
    ],
    out: Annotated[Path, typer.Option(help="New model folder.")],
    punctuation: Annotated[
        bool, typer.Option(help="Normalise punctuation in every text, as in OPUS-MT's training data.")
    ] = True,
) -> None:
    """Make a Vitrail model of a Marian model: translate with it, look inside, train it further."""
    from vitrail.interop import import_model

    folder = import_model(model, out, punctuation=punctuation)
    settings, words = folder.config.model, folder.tokenizers
    print(
        f"{out}: {settings.encoder_layers}+{settings.decoder_layers} layers, d_model {settings.d_model}, "
        f"{words.target.size:,} target ids"
    )
    if words.languages:
        print(f"target languages (--to): {', '.join(words.languages)}")
