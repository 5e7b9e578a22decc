"""Translating on Ray: what can be checked without a cluster. With one: tests/e2e/test_ray.py."""

import pickle
import socket
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from vitrail import on_ray
from vitrail.cli import app
from vitrail.errors import DataError, FolderError, TextError, VitrailError
from vitrail.on_ray import Work, stream_on_ray
from vitrail.translator import CHUNK, change_settings, load

LINES = ["je suis fatigué", "", "merci", "bonjour à tous"]


@pytest.fixture(scope="module")
def translator():
    return load("builtin", threads=1)


@pytest.fixture
def work(translator):
    greedy = change_settings(translator.config, {"beam_size": 1})
    return Work(("builtin",), (translator.folder.fingerprint,), 1, greedy, {"to": "en"})


def test_a_shard_is_translated_as_it_is_here(translator, work):
    row = work.of_row({"number": 7, "lines": LINES})
    assert row["number"] == 7
    assert pickle.loads(row["found"]) == list(translator.stream(LINES, to="en", decode=work.decode))


def test_an_error_of_the_user_comes_back_from_a_worker_as_it_was(work):
    error = pickle.loads(
        replace(work, demands={**work.demands, "to": "xx"}).of_row({"number": 0, "lines": LINES})["found"]
    )
    assert isinstance(error, TextError)
    assert "does not translate into 'xx'" in error.what
    assert "--to" in error.where
    assert "choose one of" in error.fix


def test_a_computer_with_another_model_is_refused(work):
    with pytest.raises(FolderError, match="another model"):
        replace(work, fingerprints=("0" * 16,)).translate(LINES)


@pytest.mark.parametrize("count", [0, 1, CHUNK, 2 * CHUNK + 1, 7 * CHUNK])
def test_windows_hold_every_line_once_in_the_shards_of_an_ordinary_job(count):
    lines = [str(number) for number in range(count)]
    windows = list(on_ray._windows(iter(lines), 3))
    shards = [shard for window in windows for shard in window]
    assert [line for shard in shards for line in shard] == lines
    assert all(len(shard) == CHUNK for shard in shards[:-1])  # like an ordinary job's chunks: --resume fits both
    assert all(len(window) == 3 for window in windows[:-1])


def test_lines_are_read_a_window_at_a_time():
    read = []
    next(on_ray._windows((read.append(number) or "x" for number in range(10 * CHUNK)), 3))
    assert len(read) == 3 * CHUNK


def test_lines_before_a_bad_one_are_not_lost():
    def lines():
        yield from ["a", "b"]
        raise DataError("bad")

    windows = on_ray._windows(lines(), 3)
    assert next(windows) == [["a", "b"]]
    with pytest.raises(DataError):
        next(windows)


def test_without_ray_the_error_says_how_to_install_it(translator, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(VitrailError, match="not installed") as raised:
        next(stream_on_ray(translator, LINES, to="en"))
    assert "vitrail[ray]" in raised.value.fix


def test_an_address_where_nobody_answers_is_an_error_at_once(translator, monkeypatch):
    pytest.importorskip("ray.data")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nobody listens
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(VitrailError, match="cannot reach the Ray cluster") as raised:
            next(stream_on_ray(translator, LINES, to="en"))
    assert "RAY_ADDRESS=127" in raised.value.where


def test_a_single_text_needs_no_cluster():
    result = CliRunner().invoke(app, ["translate", "builtin", "merci", "--to", "en", "--ray"])
    assert "--ray has no effect on TEXT" in result.exception.what
