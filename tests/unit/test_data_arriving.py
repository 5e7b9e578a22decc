"""Lines in chunks: nothing lost, nothing read too far ahead, and from a pipe no waiting for a full chunk."""

import os
import threading
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrail.data import arriving_chunks, arriving_lines, count_lines, fixed_chunks, read_sentences

WAIT = 60  # seconds until a test gives up; it never waits that long unless something is broken


@given(lines=st.lists(st.integers(), max_size=100), size=st.integers(1, 40))
def test_every_line_comes_once_and_in_order(lines, size):
    fixed, arriving = list(fixed_chunks(lines, size)), list(arriving_chunks(lines, size))
    for chunks in (fixed, arriving):
        assert [line for chunk in chunks for line in chunk] == lines
        assert all(len(chunk) <= size for chunk in chunks)
    assert all(len(chunk) == size for chunk in fixed[:-1]) and all(fixed)


def test_a_line_is_given_before_the_next_one_is_there():
    next_line = threading.Event()

    def slow():
        yield "first"
        assert next_line.wait(WAIT)
        yield "second"

    chunks = arriving_chunks(slow(), 10)
    assert next(chunk for chunk in chunks if chunk) == ["first"]
    assert next(chunks) == [], "the caller is told that the next line has to be waited for"
    next_line.set()
    assert [chunk for chunk in chunks if chunk] == [["second"]]


@pytest.mark.parametrize("chunks", [fixed_chunks, arriving_chunks])
def test_an_endless_input_is_read_only_so_far_ahead_and_left_when_nobody_takes_more(chunks):
    numbers = count()
    before = threading.active_count()
    taking = chunks(numbers, 8)
    taken = [line for chunk in islice(taking, 50) for line in chunk]
    assert taken == list(range(len(taken)))
    taking.close()
    for thread in threading.enumerate()[before:]:
        thread.join(WAIT)
    assert threading.active_count() == before
    assert next(numbers) <= len(taken) + 8 + 1  # what was taken, what waits, and the line in the reader's hand


@pytest.mark.parametrize("chunks", [fixed_chunks, arriving_chunks])
def test_an_error_of_the_reader_follows_the_lines_before_it(chunks):
    def broken():
        yield from "ab"
        raise ValueError("line 3")

    taken = []
    with pytest.raises(ValueError, match="line 3"):
        for chunk in chunks(broken(), 5):
            taken += chunk
    assert taken == ["a", "b"]


@given(pieces=st.lists(st.binary(min_size=1, max_size=20) | st.just(b"a\nb\n\nc"), max_size=8))
def test_lines_of_a_pipe_do_not_depend_on_how_it_was_written(pieces):
    reading, writing = os.pipe()
    try:
        for piece in pieces:
            os.write(writing, piece)
        os.close(writing)
        assert b"".join(lines := list(arriving_lines(reading))) == b"".join(pieces)
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines[:-1])
    finally:
        os.close(reading)


@given(st.text("a\n\r\u2028", max_size=20))
def test_lines_are_counted_as_they_are_read(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("count") / "in"
    path.write_bytes(text.encode())
    assert count_lines(path) == len(list(read_sentences(path)))
