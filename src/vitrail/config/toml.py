"""Settings from TOML and to TOML, and the errors about a wrong file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

import tomli_w
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from vitrail.config.checks import setting_error
from vitrail.config.sections import Config
from vitrail.documents import refuse_extremes
from vitrail.errors import ConfigError, did_you_mean
from vitrail.storage import read_text

FORMAT = 1


def load_config(
    path: Path | None, *, given: Mapping[str, object] | None = None, overrides: Iterable[str] = ()
) -> Config:
    """Read the settings in a TOML file, or the defaults if there is no path.

    `given` values, by `section.key`, replace those of the file. `overrides` are text like `section.key=value`, with a
    TOML value, and take precedence over both.
    """
    table = read_toml(path) if path is not None else {}
    where = str(path) if path is not None else "the command line"
    changed: dict[str, str] = {}  # from a key to the override that set it
    for key, value in (given or {}).items():
        _put(table, key, value)
    for change in overrides:
        key, sign, text = change.partition("=")
        if not sign or key.count(".") != 1:
            raise ConfigError(
                f"cannot read the change '{change}'",
                where="--set",
                fix="write section.key=value, for example train.seed=2",
            )
        _put(table, key.strip(), _value(text.strip()))
        changed[key.strip()] = f"--set {change}"
    return parse_config(table, where=where, changed=changed)


def parse_config(table: dict[str, Any], *, where: str, changed: Mapping[str, str] | None = None) -> Config:
    """Settings from a table that was read from `where`; `changed` says where else a `section.key` came from."""
    written_by = table.get("vitrail")
    if isinstance(written_by, dict):
        if not isinstance(written_by.get("format"), int) or written_by["format"] > FORMAT:
            raise ConfigError(
                f"these settings were written by a newer vitrail ({written_by.get('version', '?')})",
                where=where,
                fix="upgrade vitrail",
            )
        table = {key: value for key, value in table.items() if key != "vitrail"}
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        _explain(error, where, changed or {})


def dump_config(config: Config, *, version: str) -> str:
    """All settings as TOML, including defaults, with the version that wrote them."""
    written_by = {"vitrail": {"version": version, "format": FORMAT}}
    return tomli_w.dumps({**written_by, **config.model_dump(mode="json", exclude_none=True)})


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        table = tomllib.loads(read_text(path))
        refuse_extremes(table, infinite=True)
        return table
    except FileNotFoundError:
        raise ConfigError("there is no such file", where=str(path), fix="check the path") from None
    except OSError as error:
        raise ConfigError(f"cannot read it: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise ConfigError("this is not UTF-8 text", where=str(path), fix="save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"this is not TOML: {error}", where=str(path), fix="see recipes/recipe.toml") from None


def _put(table: dict[str, Any], key: str, value: object) -> None:
    section, _, name = key.partition(".")
    held = table.setdefault(section, {})
    if not isinstance(held, dict):
        raise ConfigError(f"'{section}' is not a section", where="--set", fix="write section.key=value")
    held[name] = value


def _value(text: str) -> Any:
    """A value as TOML reads it. A bare word is a string, so that it needs no quotes inside a shell's quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _explain(error: ValidationError, where: str, changed: Mapping[str, str]) -> NoReturn:
    """Report the first problem as what, where and how to fix it."""
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    typed = changed.get(".".join(path[:2]))  # the change on the command line that the problem came from
    refused = setting_error(first)
    if refused is not None:
        place = typed or (f"{where}, [{'.'.join(path)}]" if path else where)
        raise ConfigError(refused.what, where=place, fix=refused.fix) from None
    place = typed or (f"{where}, [{'.'.join(path[:-1])}]" if len(path) > 1 else where)
    if first["type"] == "extra_forbidden":
        known = list(_section_at(path[:-1]).model_fields)
        fix = did_you_mean(path[-1], known) or f"known here: {', '.join(known)}"
        raise ConfigError(f"unknown key '{path[-1]}'", where=place, fix=fix) from None
    what = f"'{path[-1]}' is {first['input']!r}: {_lower(first['msg'])}" if path else _lower(first["msg"])
    near = did_you_mean(str(first["input"]), _choices(first, path))
    raise ConfigError(
        what, where=place, fix=near or "recipes/recipe.toml explains every key, with its default"
    ) from None


def _choices(found: ErrorDetails, path: list[str]) -> list[str]:
    """The values that would have been right, if they can be listed: names of kinds, or those of a Literal."""
    if found["type"] == "unknown_name":
        return list(found["ctx"]["known"])
    if found["type"] == "literal_error":
        annotation = _section_at(path[:-1]).model_fields[path[-1]].annotation
        kinds = (annotation, *get_args(annotation))  # a Literal, or a Literal | None
        return [str(value) for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]
    return []


def _section_at(path: list[str]) -> type[BaseModel]:
    """The part of the settings at a place."""
    place: type[BaseModel] = Config
    for part in path:
        field = place.model_fields.get(part)
        if field is None:  # an index into a list of corpora
            continue
        inner = (field.annotation, *get_args(field.annotation))
        place = next((kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)), place)
    return place


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
