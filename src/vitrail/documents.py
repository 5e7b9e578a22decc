"""JSON that anyone may have written: a model comes from a stranger, and so does every file of its folder.

`parse_json` gives plain values without surprises, or a ValueError. A `Document` says which fields a file has, and of
which type and range each is; whatever else a file says is an error with its place.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Annotated, Any, NoReturn, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

DEEPEST = 50  # objects and lists inside each other; what we write has fewer than ten
LARGEST = (1 << 63) - 1

# Names are joined to the folder that they are in. With these characters none leads out of it.
_PLAIN = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"
FileName = Annotated[str, Field(pattern=rf"^{_PLAIN}\z")]
FileInFolder = Annotated[str, Field(pattern=rf"^{_PLAIN}(/{_PLAIN}){{0,3}}\z")]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]


class Document(BaseModel):
    """An object of a JSON file. Numbers in quotes are no numbers, and 1 is not true; keys it does not know are skipped.

    Later versions may write more keys, so that these are no error.
    """

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a document; a ValueError names the first thing that is wrong and its place."""
        return cls.of(parse_json(text))

    @classmethod
    def of(cls, value: object) -> Self:
        """The same from plain values."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            message = first["msg"][:1].lower() + first["msg"][1:]
            raise ValueError(f"{place}: {message}" if place else message) from None


def parse_json(text: str | bytes) -> Any:
    """The values of a JSON text, of bounded depth, with finite numbers of at most 64 bits; else a ValueError."""
    try:
        value = json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("objects and lists nest too deeply") from None
    _refuse_depth(value)
    return value


def _whole(digits: str) -> int:
    number = int(digits) if len(digits) < 30 else LARGEST + 1
    if abs(number) > LARGEST:
        raise ValueError(f"the number {digits[:30]}{'…' * (len(digits) > 30)} has more than 64 bits")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits[:30]} is too large")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _refuse_depth(value: object) -> None:
    """Level by level, since a function that calls itself would end where the depth does harm."""
    level = [value]
    for _ in range(DEEPEST):
        inside = [one for one in level if isinstance(one, dict | list)]
        level = [each for one in inside for each in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return
    raise ValueError(f"objects and lists nest more than {DEEPEST} deep")
