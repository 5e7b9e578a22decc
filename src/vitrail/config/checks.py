"""How a section of the settings refuses a value: with what is wrong and how to fix it, typed where it is raised.

pydantic adds the place: it wraps a SettingError, like any ValueError, together with the path to the setting.
`config/toml.py` turns both into a ConfigError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError


class SettingError(ValueError):
    """A setting that is impossible, or that cannot go with another."""

    def __init__(self, what: str, *, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what = what
        self.fix = fix


def setting_error(found: Mapping[str, Any]) -> SettingError | None:
    """The SettingError behind one entry of `ValidationError.errors()`; None if pydantic found the problem itself."""
    raised = found.get("ctx", {}).get("error")
    return raised if isinstance(raised, SettingError) else None


def one_of(known: Iterable[str]) -> BeforeValidator:
    """Accept only these names. For a table of kinds, its keys are the names."""

    def check(value: object) -> object:
        names = list(known)
        if value in names:
            return value
        *others, last = map(repr, names)
        expected = f"{', '.join(others)} or {last}" if others else last
        # Worded like pydantic's own error for a Literal. `known` is for "did you mean".
        raise PydanticCustomError("unknown_name", "Input should be {expected}", {"expected": expected, "known": names})

    return BeforeValidator(check)
