"""Taps: listen to every value that the post draws, by name, or replace it.

A name is a path through the model: `encoder.0.self_attention.weights`. Every part gets a tap that already knows the
path to it, and offers its values under the last part of their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from torch import Tensor

from vitrail.errors import VitrailError

Listener = Callable[[str, Tensor], Tensor | None]


class Tap:
    """Offers values to a listener, which may read one (return None) or replace it (return another)."""

    active: bool = True

    def __init__(self, listener: Listener, path: str = "") -> None:
        self._listener = listener
        self._path = path

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """Offer a value, and return the one to continue with."""
        full_name = f"{self._path}{name}"
        replacement = self._listener(full_name, value)
        if replacement is None:
            return value
        if replacement.shape != value.shape:
            raise VitrailError(
                f"a listener replaced a value of shape {tuple(value.shape)} with one of {tuple(replacement.shape)}",
                where=full_name,
                fix="return a tensor of the same shape, or None to leave the value as it is",
            )
        return replacement

    def at(self, *parts: str | int) -> Tap:
        """The tap of a part further in: `tap.at("encoder", 0)`."""
        return Tap(self._listener, self._path + "".join(f"{part}." for part in parts))


class _NoTap(Tap):
    """Nobody listens, and no name is ever built."""

    active = False

    def __init__(self) -> None:
        super().__init__(lambda _name, _value: None)

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return value

    def at(self, *parts: str | int) -> Tap:
        return self


NO_TAP: Final[Tap] = _NoTap()
