"""The built-in model: what the name `builtin` means wherever a command takes a model."""

from __future__ import annotations

import warnings
from pathlib import Path

from vitrail.errors import FolderError
from vitrail.folder import MANIFEST

BUILTIN = "builtin"
PLACE = Path(__file__).with_name(BUILTIN)  # filled by recipes/box.py; nothing else writes there


def model_path(model: str | Path) -> Path:
    """The folder of a model. The bare word `builtin` is the built-in model; `./builtin`, like any Path, is a folder."""
    if model != BUILTIN:
        return Path(model)
    if not (PLACE / MANIFEST).is_file():
        raise FolderError(
            "this installation has no built-in model",
            where=str(PLACE),
            fix="reinstall vitrail from a wheel that includes it, or train your own: `vitrail demo --out FOLDER`",
        )
    if (Path(BUILTIN) / MANIFEST).is_file():
        warnings.warn("'builtin' is the built-in model; to use the folder of that name, pass './builtin'", stacklevel=2)
    return PLACE
