"""Search settings with some of them changed."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from vitrail.config.checks import setting_error
from vitrail.config.sections import DecodeConfig
from vitrail.errors import DecodeError, did_you_mean


def change_settings(config: DecodeConfig, changes: dict[str, Any]) -> DecodeConfig:
    """Decoding settings with some of them changed, validated again."""
    try:
        return DecodeConfig.model_validate({**config.model_dump(), **changes})
    except ValidationError as error:
        first = error.errors()[0]
        refused = setting_error(first)
        if refused is not None:
            raise DecodeError(refused.what, where="the search settings", fix=refused.fix) from None
        name = ".".join(str(part) for part in first["loc"])
        said = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        if first["type"] == "extra_forbidden":
            raise DecodeError(
                f"unknown search setting '{name}'",
                where="the search settings",
                fix=did_you_mean(name, DecodeConfig.model_fields) or f"known: {', '.join(DecodeConfig.model_fields)}",
            ) from None
        raise DecodeError(
            f"{name} = {changes[name]!r}: {said}" if name in changes else said,
            where="the search settings",
            fix=f"the model's own value is {getattr(config, name, None)!r}",
        ) from None
