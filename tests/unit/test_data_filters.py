import json

import pytest

from vitrail.config import CorpusConfig, DataConfig
from vitrail.data import Corpus, FilterReport, Pair, Reason
from vitrail.data.filters import ReportEntry, Tally, reason_in_lengths, reason_in_text
from vitrail.errors import DataError

CONFIG = DataConfig()


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("je suis", "i am", None),
        (None, "i am", Reason.BROKEN),
        ("je suis", None, Reason.BROKEN),
        ("", "i am", Reason.EMPTY),
        ("je suis", " \t\u00a0", Reason.EMPTY),
        ("je\x00suis", "i am", Reason.CONTROL),
        ("je suis", "i\ram", Reason.CONTROL),
        ("je suis", "i\x85am", Reason.CONTROL),
        ("je\tsuis", "i\u00a0am\u200d", None),
        ("same", " same ", Reason.IDENTICAL),
    ],
)
def test_what_is_wrong_with_a_text(source, target, reason):
    assert reason_in_text(Pair(1, source, target, None), CONFIG) == reason


def test_equal_sides_may_be_wanted():
    assert reason_in_text(Pair(1, "ok", "ok", None), DataConfig(drop_identical=False)) is None


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        (200, 200, None),
        (201, 180, Reason.LONG),
        (180, 201, Reason.LONG),
        (40, 10, None),
        (41, 10, Reason.RATIO),
        (10, 41, Reason.RATIO),
        (9, 1, None),  # short pairs may differ
        (0, 3, Reason.EMPTY),
    ],
)
def test_what_is_wrong_with_lengths(source, target, reason):
    assert reason_in_lengths(source, target, CONFIG) == reason


def corpus(name="a.tsv"):
    return Corpus(CorpusConfig(pairs=name))


def test_the_report_counts_and_names_the_first_lines():
    tally = Tally(strict=False)
    for line in range(1, 9):
        tally.leave_out(Reason.EMPTY, corpus(), line)
    tally.leave_out(Reason.LONG, corpus("b.tsv"), 3)
    report = tally.report(100, ["a note"])
    assert (report.read, report.kept) == (100, 91)
    assert report.left_out[0].count == 8
    assert report.left_out[0].first == tuple(("a.tsv", line) for line in range(1, 6))
    text = str(report)
    assert "a.tsv line 1, 2, 3, 4, 5, …" in text and "1 too long (b.tsv line 3)" in text and "a note" in text
    assert FilterReport.of(ReportEntry.parse(json.dumps(report.to_json()))) == report


def test_strict_makes_the_first_an_error():
    with pytest.raises(DataError, match="empty") as error:
        Tally(strict=True).leave_out(Reason.EMPTY, corpus(), 7)
    assert error.value.where == "a.tsv, line 7"


def test_broken_text_comes_with_its_fix():
    tally = Tally(strict=False)
    tally.leave_out(Reason.BROKEN, corpus(), 7)
    assert "save the file as UTF-8" in str(tally.report(8, []))
