"""The model in the box: what the name `builtin` stands for, wherever a model is asked for."""

from __future__ import annotations

import warnings
from pathlib import Path

from vitrail.errors import FolderError
from vitrail.folder import MANIFEST

BUILTIN = "builtin"
PLACE = Path(__file__).with_name(BUILTIN)  # recipes/box.py fills it; nothing is ever written there after


def model_path(model: str | Path) -> Path:
    """The folder of a model. The bare word `builtin` is the box; `./builtin`, like any Path, is a folder."""
    if model != BUILTIN:
        return Path(model)
    if not (PLACE / MANIFEST).is_file():
        raise FolderError(
            "this installation has no model in the box",
            where=str(PLACE),
            fix="install vitrail again, from a wheel that has one; or train your own: `vitrail demo --out FOLDER`",
        )
    if (Path(BUILTIN) / MANIFEST).is_file():
        warnings.warn("'builtin' is the model in the box; the folder of that name here is './builtin'", stacklevel=2)
    return PLACE
