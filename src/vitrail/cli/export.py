"""`vitrail export`: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.model import Model


def export(
    model: Model,
    to: Annotated[str, typer.Option(help="marian (Hugging Face), ctranslate2 or onnx.")],
    out: Annotated[Path, typer.Option(help="New folder.")],
    quantization: Annotated[
        str | None, typer.Option(help="For ctranslate2: float16 or int8 make it smaller. Default: float32.")
    ] = None,
) -> None:
    """Write MODEL in the format of another program. What that cannot express is refused."""
    from vitrail.box import model_path
    from vitrail.folder import ModelFolder
    from vitrail.interop import export_model

    export_model(ModelFolder.open(model_path(model)), to, out, quantization=quantization)
    print(f"{out}: {', '.join(sorted(file.name for file in out.iterdir()))}")
