"""The search options of a command, applied to the model's own settings. An option without effect is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vitrail.config import DecodeConfig
    from vitrail.errors import DecodeError

_FOR_SAMPLING = ("temperature", "top_k", "top_p", "seed")


def search_settings(
    own: DecodeConfig, given: Mapping[str, int | float | str | bool | None], *, align: bool = False
) -> DecodeConfig:
    """The model's own settings with the given options, by setting; None means that an option was not given."""
    from vitrail.config import change_settings

    changes = {name: value for name, value in given.items() if value is not None}
    decode = change_settings(own, changes)
    for name in changes:
        option = f"--{name.replace('_', '-')}"
        if name in _FOR_SAMPLING and not decode.sample:
            raise without_effect(option, "without --sample", fix=f"add --sample, or remove {option}")
        if name == "alignment_heads" and not (align or decode.coverage):
            raise without_effect(option, "without --align or --coverage", fix=f"add one of them, or remove {option}")
        if name in ("beam_size", "coverage") and decode.sample:
            whose = "or remove --sample" if "sample" in changes else "because the model's own settings sample"
            raise without_effect(option, "when sampling", fix=f"remove {option}, {whose}")
    return decode


def without_effect(option: str, when: str, *, fix: str) -> DecodeError:
    """The error for an option that would be ignored."""
    from vitrail.errors import DecodeError

    return DecodeError(f"{option} has no effect {when}", where="the command line", fix=fix)
