"""API keys: who may use a server that others can reach. A file holds their hashes, never the keys themselves."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from vitrail.documents import Document, parse_json
from vitrail.errors import DataError
from vitrail.storage import read_text, write_text

PREFIX = "vt_"  # lets a person, or a program that looks for secrets, recognise one


@dataclass(frozen=True)
class Key:
    """A key as the file has it."""

    name: str
    sha256: str  # of the key: it is random and long, so that guessing is hopeless, and a slow hash would gain nothing
    per_minute: int = 0  # requests; 0: as many as the server allows anyone


class _Line(Document):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    per_minute: Annotated[int, Field(ge=0, le=10**9)] = 0


class _File(Document):
    keys: list[_Line]


def read_keys(path: Path) -> list[Key]:
    """The keys in a file."""
    try:
        found = _File.of(parse_json(read_text(path))).keys
    except FileNotFoundError:
        raise DataError(
            "there is no such file", where=str(path), fix=f"make the first key: `vitrail keys {path} --add NAME`"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read it: {error.strerror}", where=str(path), fix="check its permissions") from None
    except ValueError as error:
        raise DataError(f"this is not a file of keys: {error}", where=str(path), fix="make a new one") from None
    return [Key(one.name, one.sha256, one.per_minute) for one in found]


def add_key(path: Path, name: str, *, per_minute: int = 0) -> str:
    """Add a key with this name to the file, which is made if it is missing. Returns the key: it is kept nowhere."""
    keys = read_keys(path) if path.exists() else []
    if any(key.name == name for key in keys):
        raise DataError(f"there is a key called '{name}' already", where=str(path), fix="remove it first: --remove")
    secret = PREFIX + secrets.token_urlsafe(32)
    _write(path, [*keys, Key(name, hash_of(secret), per_minute)])
    return secret


def remove_key(path: Path, name: str) -> None:
    """Remove the key with this name from the file."""
    keys = read_keys(path)
    left = [key for key in keys if key.name != name]
    if len(left) == len(keys):
        names = ", ".join(key.name for key in keys) or "none"
        raise DataError(f"there is no key called '{name}'", where=str(path), fix=f"there is: {names}")
    _write(path, left)


def find_key(keys: list[Key], given: str) -> Key | None:
    """The key that was given, if it is one. How long this takes says nothing about the keys."""
    wanted = hash_of(given)
    found = None
    for key in keys:
        if hmac.compare_digest(key.sha256.encode("ascii"), wanted.encode("ascii")):
            found = key
    return found


def hash_of(secret: str) -> str:
    """What the file holds of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _write(path: Path, keys: list[Key]) -> None:
    write_text(path, json.dumps({"keys": [asdict(key) for key in keys]}, indent=1) + "\n")
