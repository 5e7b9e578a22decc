"""JSON that anyone may have written: a model may come from a stranger, and so may every file of its folder.

`parse_json` returns plain, bounded values or raises a ValueError. A `Document` declares the fields of a file, each with
its type and range; a ValueError names the first field that is wrong.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Annotated, Any, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

DEEPEST = 50  # nested objects and lists; our own files have fewer than ten levels
LARGEST = (1 << 63) - 1

# A name is joined to its folder's path. With these characters it cannot lead out of the folder.
_PLAIN = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"
FileName = Annotated[str, Field(pattern=rf"^{_PLAIN}\z")]
FileInFolder = Annotated[str, Field(pattern=rf"^{_PLAIN}(/{_PLAIN}){{0,3}}\z")]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]


class Document(BaseModel):
    """An object of a JSON file. Types are strict: "1" is not a number, and 1 is not true.

    Unknown keys are ignored, since a later version may write more of them.
    """

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a document; a ValueError names the first thing that is wrong and its place."""
        return cls.of(parse_json(text))

    @classmethod
    def of(cls, value: object) -> Self:
        """Check values that were parsed before."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            message = first["msg"][:1].lower() + first["msg"][1:]
            raise ValueError(f"{place}: {message}" if place else message) from None


def parse_json(text: str | bytes) -> Any:
    """Parse JSON of bounded depth, with finite numbers of at most 64 bits; anything else raises a ValueError."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("objects and lists nest too deeply") from None
    refuse_extremes(value)
    return value


def refuse_extremes(value: object, *, infinite: bool = False) -> None:
    """Raise a ValueError for values that nest too deeply and for numbers out of range; `infinite` allows 1e999."""
    level = [value]  # level by level: a recursive function would itself fail on deep nesting
    for _ in range(DEEPEST):
        if any(isinstance(one, int) and abs(one) > LARGEST for one in level):
            raise ValueError("a number has more than 64 bits")
        if not infinite and any(isinstance(one, float) and not isfinite(one) for one in level):
            raise ValueError("a number is too large")
        inside = [one for one in level if isinstance(one, dict | list)]
        level = [each for one in inside for each in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return
    raise ValueError(f"objects and lists nest more than {DEEPEST} deep")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
