"""A file of lines that outlives its writer: what is complete stays, and only the same job continues it."""

import json
import os
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.cli import resumable
from vitrail.cli.resumable import ResumableFile
from vitrail.errors import DataError, StorageError

JOB = {"model": "abc", "beam_size": 4, "alpha": 0.6, "to": None}
LINES = [f"line {number}" for number in range(10)]


class InterruptedHere(BaseException):
    """Whatever ends the block."""


def work(path, *, lines=LINES, chunk=3, until=None, resume=False, job=JOB):
    """Write a line for each line, upper case, and be interrupted after `until` of them; return how many were done."""
    with ResumableFile(path, job, resume=resume) as out:
        given = iter(lines)
        out.skip(given, "in")
        skipped = out.lines
        while held := list(islice(given, chunk)):
            for line in held:
                if out.lines == until:
                    raise InterruptedHere
                out.write(line, line.upper())
            out.end_chunk()
        return skipped


def interrupted(path, until, **options):
    with pytest.raises(InterruptedHere):
        work(path, until=until, **options)


def left(folder):
    return sorted(path.name for path in folder.iterdir())


@settings(deadline=None, max_examples=40)  # it waits for the disk
@given(until=st.lists(st.integers(0, 9), max_size=4).map(sorted), chunk=st.integers(1, 11))
def test_interrupted_any_number_of_times_it_ends_as_if_it_never_was(tmp_path_factory, until, chunk):
    folder = tmp_path_factory.mktemp("out")
    for stop in until:
        interrupted(folder / "out", stop, chunk=chunk, resume=True)
        assert not (folder / "out").exists()
    whole = until[-1] // chunk * chunk if until else 0
    assert work(folder / "out", chunk=chunk, resume=True) == whole
    assert (folder / "out").read_text() == "".join(f"{line.upper()}\n" for line in LINES)
    assert left(folder) == ["out"]


def test_an_interruption_right_after_a_record_is_written_removes_nothing(tmp_path, monkeypatch):
    real = resumable.write_text

    def interrupting(path, text):
        real(path, text)
        if '"lines": 3' in text:
            raise InterruptedHere

    monkeypatch.setattr(resumable, "write_text", interrupting)
    with pytest.raises(InterruptedHere):
        work(tmp_path / "out")
    monkeypatch.undo()
    assert work(tmp_path / "out", resume=True) == 3


def test_nothing_stays_if_nothing_is_complete(tmp_path):
    interrupted(tmp_path / "out", 2)
    assert left(tmp_path) == []


def test_without_resume_a_partial_file_is_not_touched(tmp_path, capsys):
    interrupted(tmp_path / "out", 4)
    assert "3 lines are complete" in (said := capsys.readouterr().err) and "--resume" in said
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(StorageError, match="interrupted after 3 lines") as caught:
        work(tmp_path / "out")
    assert "--resume" in caught.value.fix and "delete" in caught.value.fix
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "out.partial").unlink()  # as the message says
    assert work(tmp_path / "out") == 0
    assert left(tmp_path) == ["out"]


@pytest.mark.parametrize("change", [{"model": "def"}, {"beam_size": 5}, {"to": "en"}, {"further": 1}])
def test_another_job_is_refused_by_what_differs(tmp_path, change):
    interrupted(tmp_path / "out", 4)
    with pytest.raises(StorageError, match=f"not the job that was interrupted: {next(iter(change))} was") as caught:
        work(tmp_path / "out", resume=True, job={**JOB, **change})
    assert caught.value.fix
    assert work(tmp_path / "out", resume=True) == 3


@pytest.mark.parametrize("lines", [["other", *LINES[1:]], LINES[:2], []])
def test_another_input_is_refused(tmp_path, lines):
    interrupted(tmp_path / "out", 4)
    with pytest.raises(DataError, match="its first 3 lines differ"):
        work(tmp_path / "out", resume=True, lines=lines)
    assert work(tmp_path / "out", resume=True) == 3


def test_lines_after_those_that_are_done_may_change(tmp_path):
    """A malformed line further down ended the job: it is corrected, and the job continues."""
    interrupted(tmp_path / "out", 4)
    assert work(tmp_path / "out", resume=True, lines=[*LINES[:4], "corrected", *LINES[5:], "more"]) == 3
    assert len((tmp_path / "out").read_text().splitlines()) == 11


def test_what_follows_the_last_record_is_cut_off(tmp_path):
    interrupted(tmp_path / "out", 5)
    assert work(tmp_path / "out", resume=True, lines=LINES[:4]) == 3
    assert len((tmp_path / "out").read_text().splitlines()) == 4


def test_a_partial_file_of_someone_else_is_not_overwritten(tmp_path):
    (tmp_path / "out.partial").write_text("half a download")
    for resume in (False, True):
        with pytest.raises(StorageError, match="in the way"):
            work(tmp_path / "out", resume=resume)
    assert (tmp_path / "out.partial").read_text() == "half a download"


@pytest.mark.parametrize("harm", ["", "{", "[]", json.dumps({"job": JOB, "lines": -1, "size": 2, "source": ""})])
def test_a_damaged_record_is_refused(tmp_path, harm):
    interrupted(tmp_path / "out", 4)
    (tmp_path / "out.partial.json").write_text(harm)
    with pytest.raises(StorageError, match="cannot be continued"):
        work(tmp_path / "out", resume=True)


def test_a_partial_file_that_became_shorter_is_refused(tmp_path):
    interrupted(tmp_path / "out", 4)
    os.truncate(tmp_path / "out.partial", 5)
    with pytest.raises(StorageError, match="complete lines are missing"):
        work(tmp_path / "out", resume=True)


def test_two_writers_do_not_meet(tmp_path):
    with ResumableFile(tmp_path / "out", JOB, resume=False) as out:
        with pytest.raises(StorageError, match="another process is writing"):
            work(tmp_path / "out", resume=True)
        out.write("a", "b")
    assert (tmp_path / "out").read_text() == "b\n"


def test_the_target_of_a_link_is_replaced_and_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    work(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and len((tmp_path / "file").read_text()) > 3
    with pytest.raises(StorageError, match="Is a directory"):
        work(tmp_path)
    assert left(tmp_path) == ["file", "link"]
