"""One field of a row is translated, and the rest of the row is kept byte for byte."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrail.data import Column, Field, Whole, field_to_suggest, rows_of
from vitrail.errors import DataError

CELL = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]))
VALUE = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(cells=st.lists(CELL, min_size=1, max_size=5).filter(any), at=st.integers(0, 4), translation=TEXT)
def test_a_column_is_taken_out_and_its_translation_is_the_last_column(cells, at, translation):
    line, at = "\t".join(cells), at % len(cells)
    row = Column(at)
    assert row.text(line, "") == cells[at]
    joined = row.joined(line, translation)
    assert joined.split("\t")[:-1] == cells
    assert joined.split("\t")[-1] == translation.replace("\t", " ")


@given(
    rest=st.dictionaries(st.text(max_size=5), VALUE, max_size=4),
    text=TEXT,
    translation=TEXT | st.dictionaries(st.just("text"), TEXT),
    indent=st.sampled_from(["", " "]),
)
def test_a_json_field_is_taken_out_and_its_translation_is_added(rest, text, translation, indent):
    rest.pop("translation", None)
    line = f"{json.dumps({**rest, 'text': text})[:-1]}{indent}}}{indent}"
    row = Field("text")
    assert row.text(line, "") == text
    joined = row.joined(line, translation)
    assert list(json.loads(joined).items()) == [*{**rest, "text": text}.items(), ("translation", translation)]
    assert joined.startswith(line.rstrip()[:-1])
    assert "\n" not in joined


def test_dots_reach_into_nested_objects():
    assert Field("a.b").text('{"a": {"b": "x"}}', "") == "x"
    assert json.loads(Field("a.b").joined('{"a": {"b": "x"}}', "y")) == {"a": {"b": "x"}, "translation": "y"}


@pytest.mark.parametrize("row", [Whole(), Column(3), Field("text")])
def test_an_empty_line_stays_empty(row):
    assert row.text("", "") == row.joined("", "") == ""


@pytest.mark.parametrize(
    ("field", "name", "expected"),
    [
        (None, "a.tsv", Whole()),
        ("2", "a.tsv", Column(1)),
        ("2", "a.tab.gz", Column(1)),
        ("2", "a.txt", Column(1)),
        ("2", None, Column(1)),
        ("2", "a.jsonl", Field("2")),
        ("text", "a.jsonl.xz", Field("text")),
        ("text", None, Field("text")),
    ],
)
def test_the_name_decides_between_tsv_and_json_or_else_the_field(field, name, expected):
    assert rows_of(field, None if name is None else Path(name)) == expected


@pytest.mark.parametrize(
    ("row", "line", "what"),
    [
        (Column(2), "a\tb", "no column 3: the line has 2"),
        (Field("text"), "{", "not JSON"),
        (Field("text"), "[1]", "not an object"),
        (Field("text"), '{"txt": "a"}', "no field 'text'; the fields are: txt"),
        (Field("text"), '{"text": 1}', "not text: 1"),
        (Field("text"), r'{"text": "\ud800"}', "not valid Unicode"),
        (Field("text"), '{"text": "a", "translation": "b"}', "already has a field 'translation'"),
    ],
)
def test_a_malformed_row_is_refused_with_its_line(row, line, what):
    with pytest.raises(DataError) as caught:
        row.text(line, "in, line 7")
    assert what in caught.value.what
    assert caught.value.where == "in, line 7"
    assert caught.value.fix


def test_a_name_cannot_be_a_column():
    for field in ("text", "0", "-1", "9" * 5000):  # Python itself reads no number of 5,000 digits
        with pytest.raises(DataError, match="is not a column number"):
            rows_of(field, Path("a.tsv"))


def test_the_longest_field_is_suggested_and_plain_text_has_none():
    assert field_to_suggest("1\tJe suis là.\tx") == "2"
    assert field_to_suggest('{"id": "7", "text": "Je suis là."}') == "text"
    for line in ("", "Je suis là.", "{en} est un code", "{}", '{"n": 1}', "\tindented"):
        assert field_to_suggest(line) is None
