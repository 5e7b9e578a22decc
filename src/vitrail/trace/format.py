"""A trace as an object and as JSON, version 1. docs/trace.md describes every field.

Arrays are stored as base64 of their little-endian float32 bytes. They stay exact to the last bit, including -inf, which
JSON cannot write. If two steps have the same numbers (with pre-norm, a layer's last sum is its output), the second one
refers to the first by name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from vitrail import __version__
from vitrail.documents import parse_json, refuse_extremes
from vitrail.errors import TraceError, did_you_mean
from vitrail.storage import read_text, write_text

FORMAT = "vitrail-trace"
VERSION = 1
MOST_COPIED = 1 << 26  # bytes of arrays that repeat another one; on top, four times those with data of their own
LARGEST = 1 << 29  # bytes of a file; a trace of 256 tokens and a `base` model has some 200 MB
MOST_AXES = 8  # no array of a model has more than four
LONGEST_EMPTY = 1 << 20  # the longest axis of an array without numbers, whose shape its data cannot contradict

Array = NDArray[np.float32]
Document = dict[str, Any]

_SURROGATE = re.compile("[\ud800-\udfff]")
COPY = "copy the file again, or record the sentence again"
# Required fields and their types. Optional fields are not listed.
_SECTIONS: Mapping[str, Mapping[str, type]] = {
    "model": {"name": str, "config": dict, "parameters": dict, "languages": list},
    "source": {"text": str, "ids": list, "tokens": list, "words": list},
    "target": {"text": str, "ids": list, "tokens": list, "words": list, "input_ids": list, "input_tokens": list},
    "settings": {},
    "what_if": {"heads_off": dict, "prefix": str},
    "arrays": {},
    "weights": {},
    "search": {"kind": str, "steps": list, "results": list},
}


class Trace:
    """One translation with everything that led to it: `trace["encoder.0.self_attention.weights"]` is an array.

    `document` has the fields of the JSON, with decoded arrays.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    def __getitem__(self, name: str) -> Array:
        """The array that the model computed under this name, without the batch axis."""
        arrays: dict[str, Array] = self.document["arrays"]
        if name not in arrays:
            near = did_you_mean(name, arrays)
            raise TraceError(
                f"this trace has no array '{name}'", where="trace[…]", fix=near or "trace.names() lists the arrays"
            )
        return arrays[name]

    def __repr__(self) -> str:
        return f"<Trace {self.source!r} → {self.text!r}, {len(self.names())} arrays>"

    @property
    def source(self) -> str:
        """The sentence that was translated."""
        return str(self.document["source"]["text"])

    @property
    def text(self) -> str:
        """Its translation."""
        return str(self.document["target"]["text"])

    @property
    def weights(self) -> dict[str, Array]:
        """The model parameters that the trace includes, by their names in the model."""
        return dict(self.document["weights"])

    def names(self) -> list[str]:
        """The names that `trace[name]` accepts, in the order in which the model computed them."""
        return list(self.document["arrays"])

    def to_dict(self) -> Document:
        """The trace as plain values, ready for JSON."""
        arrays: dict[str, Array] = self.document["arrays"]
        earlier = same_numbers(arrays)
        encoded = {
            name: encode_array(array) if earlier[name] is None else {"shape": [*array.shape], "same": earlier[name]}
            for name, array in arrays.items()
        }
        return {
            "format": FORMAT,
            "version": VERSION,
            "vitrail": __version__,
            **{key: encoded if key == "arrays" else _encode(value) for key, value in self.document.items()},
        }

    @classmethod
    def from_dict(cls, document: Document, *, where: str = "this trace") -> Trace:
        """Read the output of `to_dict`. A malformed document raises a `TraceError` that names the faulty field."""
        try:
            refuse_extremes(document, infinite=True)
        except ValueError as error:
            raise TraceError(f"the trace is damaged: {error}", where=where, fix=COPY) from None
        _check(document, where)
        arrays = _decode_arrays(document["arrays"], where)
        meta = ("format", "version", "vitrail")
        plain = {key: value for key, value in document.items() if key not in meta}
        return cls({key: arrays if key == "arrays" else _decode(value, key, where) for key, value in plain.items()})

    def to_json(self) -> str:
        """The trace as a JSON string."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # JSON can escape a lone surrogate (Python makes them from bytes that are not UTF-8); UTF-8 cannot encode one.
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

    def save(self, path: str | Path) -> None:
        """Write the trace as a JSON file."""
        write_text(Path(path), self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a JSON file that `save` wrote."""
        where = str(path)
        try:
            document = parse_json(read_text(Path(path), most=LARGEST))
        except FileNotFoundError:
            raise TraceError("there is no such file", where=where, fix="check the path") from None
        except OSError as error:
            raise TraceError(
                f"cannot read this file: {error.strerror}", where=where, fix="check its permissions"
            ) from None
        except ValueError as error:
            raise TraceError(f"this file is not JSON in UTF-8: {error}", where=where, fix=COPY) from None
        return cls.from_dict(document, where=where)


def encode_array(array: Array) -> Document:
    """Encode an array for JSON."""
    data = np.ascontiguousarray(array, dtype="<f4").tobytes()
    return {"shape": list(array.shape), "data": base64.b64encode(data).decode("ascii")}


def decode_array(value: Document, where: str) -> Array:
    """Decode an array from JSON; `where` is its place in the file."""
    shape, data = value["shape"], value["data"]
    if not isinstance(shape, list) or len(shape) > MOST_AXES or not all(map(_is_size, shape)):
        raise TraceError(f"the shape {shape!r} is not a list of sizes", where=where, fix=COPY)
    try:
        content = base64.b64decode(data, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise TraceError("the data is not valid base64", where=where, fix=COPY) from None
    if not content and any(size > LONGEST_EMPTY for size in shape):
        raise TraceError(f"the shape {shape!r} is too large for an empty array", where=where, fix=COPY)
    if len(content) != 4 * prod(shape):
        raise TraceError(
            f"{len(content):,} bytes of data do not make a float32 array of shape {' × '.join(map(str, shape))}",
            where=where,
            fix=COPY,
        )
    return np.frombuffer(content, dtype="<f4").reshape(shape).astype(np.float32)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def same_numbers(arrays: Mapping[str, Array]) -> dict[str, str | None]:
    """Map each array to the first earlier one with the same shape and bits, or to None."""
    first: dict[tuple[tuple[int, ...], bytes], str] = {}
    found: dict[str, str | None] = {}
    for name, array in arrays.items():
        key = (array.shape, hashlib.sha256(array.tobytes()).digest())
        found[name] = first.get(key)
        first.setdefault(key, name)
    return found


def _decode_arrays(encoded: Document, where: str) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    held = copied = 0  # bytes
    for name, value in encoded.items():
        if "same" not in value:
            arrays[name] = decode_array(value, f"{where}, arrays.{name}")
            held += arrays[name].nbytes
            continue
        earlier = arrays.get(value["same"]) if isinstance(value["same"], str) else None
        if earlier is None or list(earlier.shape) != value["shape"]:
            raise TraceError(
                f"this array should equal '{value['same']}', but no earlier array has that name and this shape",
                where=f"{where}, arrays.{name}",
                fix=COPY,
            )
        copied += earlier.nbytes
        if copied > MOST_COPIED + 4 * held:  # or a small file could fill the memory
            raise TraceError("too many arrays repeat another one", where=f"{where}, arrays.{name}", fix=COPY)
        arrays[name] = earlier.copy()
    return arrays


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return encode_array(value)
    if isinstance(value, dict):
        return {key: _encode(inner) for key, inner in value.items()}
    return value


def _decode(value: Any, place: str, where: str) -> Any:
    """Decode every object with a shape and data into an array; leave other values as they are."""
    if not isinstance(value, dict):
        return value
    if value.keys() == {"shape", "data"}:
        return decode_array(value, f"{where}, {place}")
    return {key: _decode(inner, f"{place}.{key}", where) for key, inner in value.items()}


def _check(document: object, where: str) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise TraceError("this is not a Vitrail trace", where=where, fix="pass a file that `trace.save` wrote")
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise TraceError(f"the version is {version!r}, not a number", where=f"{where}, version", fix=COPY)
    if version > VERSION:
        raise TraceError(
            f"this trace has version {version} and was written by vitrail {document.get('vitrail', '?')}; "
            f"this program ({__version__}) reads versions up to {VERSION}",
            where=where,
            fix="upgrade vitrail",
        )
    for name, fields in _SECTIONS.items():
        section = document.get(name)
        if not isinstance(section, dict):
            _refuse(name, section, dict, where)
        for field, kind in fields.items():
            if not isinstance(section.get(field), kind):
                _refuse(f"{name}.{field}", section.get(field), kind, where)
    for name in ("arrays", "weights"):
        for key, value in document[name].items():
            kinds = [{"shape", "data"}, {"shape", "same"}] if name == "arrays" else [{"shape", "data"}]
            if not isinstance(value, dict) or value.keys() not in kinds:
                raise TraceError("expected an array with 'shape' and 'data'", where=f"{where}, {name}.{key}", fix=COPY)
    if not isinstance(document.get("vocabulary"), list):
        _refuse("vocabulary", document.get("vocabulary"), list, where)


def _refuse(place: str, value: object, kind: type, where: str) -> NoReturn:
    words: dict[type, str] = {str: "a string", dict: "an object", list: "a list"}
    found = "nothing" if value is None else words.get(type(value), repr(value))
    raise TraceError(
        f"the trace is damaged: expected {words[kind]}, found {found}",
        where=f"{where}, {place}",
        fix=COPY,
    )
