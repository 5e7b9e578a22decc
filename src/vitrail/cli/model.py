"""What the commands that take a model have in common: how it is named."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model folder, or builtin: the one in the box.")]
