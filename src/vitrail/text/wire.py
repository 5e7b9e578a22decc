"""Protobuf's wire format, as far as a sentencepiece model needs it: messages made of fields that hold bytes."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5  # wire types


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that hold bytes, each with its number; the others are skipped.

    A ValueError if this is not a message at all.
    """
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


def bytes_field(number: int, content: bytes) -> bytes:
    """A field that holds bytes."""
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    """A field that holds a whole number."""
    return _varint(number << 3 | _VARINT) + _varint(value)


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


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
