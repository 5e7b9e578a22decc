"""Commands that a user can copy into a shell and run as printed."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from vitrail.box import BUILTIN


def program() -> str:
    """How to call this program again: `vitrail` if the shell finds it, else `.venv/bin/vitrail` or the like."""
    if Path(sys.argv[0]).name == "__main__.py":
        return f"{_callable(sys.executable)} -m vitrail"
    return _callable(sys.argv[0])


def model_argument(folder: Path) -> str:
    """A model folder, quoted for a shell, that no command mistakes for an option or the built-in model."""
    text = str(folder)
    return shlex.quote(f"./{text}" if text.startswith("-") or text == BUILTIN else text)


def _callable(path: str) -> str:
    name = Path(path).name
    found = shutil.which(name)
    # Not resolved: in a virtual environment python is a link to the one outside, which has no vitrail.
    is_on_path = found is not None and os.path.abspath(found) == os.path.abspath(path)  # noqa: PTH100
    return shlex.quote(name if is_on_path else path)
