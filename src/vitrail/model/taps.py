"""Taps: listen to every value the post draws, by name, or put another in its place.

A name is a path through the model: `encoder.0.self_attention.weights`. Every part is handed a tap that already
knows the way to it, and offers its values under their last names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from torch import Tensor

from vitrail.errors import VitrailError

Listener = Callable[[str, Tensor], Tensor | None]


class Tap:
    """Offers values to a listener, which may read one (return None) or return another, which then flows on."""

    active: bool = True

    def __init__(self, listener: Listener, path: str = "") -> None:
        self._listener = listener
        self._path = path

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """Offer a value, and give back the one to go on with."""
        full_name = f"{self._path}{name}"
        replacement = self._listener(full_name, value)
        if replacement is None:
            return value
        if replacement.shape != value.shape:
            raise VitrailError(
                f"a listener replaced a value of shape {tuple(value.shape)} by one of {tuple(replacement.shape)}",
                where=full_name,
                fix="return a tensor of the same shape, or None to leave the value as it is",
            )
        return replacement

    def at(self, *parts: str | int) -> Tap:
        """The tap of a part further in: `tap.at("encoder", 0)`."""
        return Tap(self._listener, self._path + "".join(f"{part}." for part in parts))


class _NoTap(Tap):
    """Nobody listens: no name is ever put together."""

    active = False

    def __init__(self) -> None:
        super().__init__(lambda _name, _value: None)

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return value

    def at(self, *parts: str | int) -> Tap:
        return self


NO_TAP: Final[Tap] = _NoTap()
