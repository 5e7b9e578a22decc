"""Vitrail: a machine-translation toolkit you can run, own and see through."""

from __future__ import annotations

TYPE_CHECKING = (
    False  # as type checkers know it; importing typing takes long, and Ctrl-C is not handled before __main__
)
if TYPE_CHECKING:
    from typing import Any

    from vitrail.config import Config as Config
    from vitrail.errors import VitrailError as VitrailError
    from vitrail.glossary import Glossary as Glossary
    from vitrail.text.restriction import Restriction as Restriction
    from vitrail.trace import Trace as Trace
    from vitrail.translation import Translation as Translation
    from vitrail.translator import Translator as Translator
    from vitrail.translator import load as load

__version__ = "0.1.0"

# Imported on first use, to keep `import vitrail` and `vitrail --help` fast.
_HOMES = {
    "Config": "vitrail.config",
    "Glossary": "vitrail.glossary",
    "Restriction": "vitrail.text.restriction",
    "Trace": "vitrail.trace",
    "Translation": "vitrail.translation",
    "Translator": "vitrail.translator",
    "VitrailError": "vitrail.errors",
    "load": "vitrail.translator",
}
__all__ = ["Config", "Glossary", "Restriction", "Trace", "Translation", "Translator", "VitrailError", "load"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'vitrail' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
