"""Protobuf's wire format against the bytes of its own documentation, and messages that are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrail.text.wire import bytes_field, fields, number_field

numbers = st.integers(1, (1 << 29) - 1)


def test_the_examples_of_the_format():
    """From protobuf's documentation of its encoding: a field 1 that is 150, and a field 2 that is "testing"."""
    assert number_field(1, 150) == b"\x08\x96\x01"
    assert bytes_field(2, b"testing") == b"\x12\x07testing"


@given(st.lists(st.tuples(numbers, st.binary(max_size=300) | st.integers(0, (1 << 63) - 1)), max_size=5))
def test_the_fields_that_hold_bytes_are_found_among_the_others(held):
    message = b""
    for number, value in held:
        message += bytes_field(number, value) if isinstance(value, bytes) else number_field(number, value)
    wanted = [one for one in held if isinstance(one[1], bytes)]
    assert list(fields(message)) == wanted
    eight, four = b"\x19" + bytes([0xFF] * 8), b"\x1d" + bytes([0xFF] * 4)  # numbers of a fixed width
    assert list(fields(message + eight + four + bytes_field(1, b"x") + eight + message + four)) == [
        *wanted,
        (1, b"x"),
        *wanted,
    ]


@given(st.integers(0, (1 << 64) - 1), st.binary(max_size=9))
def test_a_message_that_is_cut_is_refused(value, content):
    for whole in (number_field(1, value), bytes_field(1, content), b"\x19" + bytes(8), b"\x1d" + bytes(4)):
        assert list(fields(whole)) in ([], [(1, content)])
        for length in range(1, len(whole)):
            with pytest.raises(ValueError, match="ends"):
                list(fields(whole[:length]))


@pytest.mark.parametrize("kind", [3, 4, 6, 7])
def test_other_kinds_of_fields_are_refused(kind):
    with pytest.raises(ValueError, match="not a message"):
        list(fields(bytes([8 | kind]) + bytes(20)))


def test_a_number_has_at_most_ten_bytes():
    assert list(fields(b"\x08" + b"\xff" * 9 + b"\x01")) == []
    with pytest.raises(ValueError, match="within a number"):
        list(fields(b"\x08" + b"\xff" * 10 + b"\x01"))
