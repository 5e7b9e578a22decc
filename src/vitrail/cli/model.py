"""The MODEL argument that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model folder, or builtin for the built-in model.")]
