"""Whether a sentencepiece model contains a table that rewrites text before it is split into pieces.

Our own models never do (`normalization_rule_name="identity"`). The table is a compiled structure full of offsets, and
not every version of the library checks them before it follows them, so a stranger's table must not reach it. The model
is a message in protobuf's wire format; only as much of it is read here as it takes to find the table.
"""

from __future__ import annotations

from collections.abc import Iterator

_NORMALIZERS = (3, 5)  # ModelProto.normalizer_spec, .denormalizer_spec
_TABLE = 2  # NormalizerSpec.precompiled_charsmap
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5  # wire types


def has_charsmap(model: bytes) -> bool:
    """Whether there is such a table; a ValueError if the bytes are not a message at all."""
    normalizers = (content for number, content in _fields(model) if number in _NORMALIZERS)
    return any(number == _TABLE and content for one in normalizers for number, content in _fields(one))


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that hold bytes, each with its number; the others are skipped."""
    place = 0
    while place < len(message):
        key, place = _number(message, place)
        kind, length = key & 7, 0
        if kind == _VARINT:
            _, place = _number(message, place)
        elif kind == _BYTES:
            length, place = _number(message, place)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError("this is not a message in protobuf's format")
        if place + length > len(message):
            raise ValueError("the message ends too early")
        if kind == _BYTES:
            yield key >> 3, message[place : place + length]
        place += length


def _number(message: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, and the place after it."""
    value = shift = 0
    while place < len(message) and shift < 64:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
    raise ValueError("the message ends within a number")
