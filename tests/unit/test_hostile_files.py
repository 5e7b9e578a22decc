"""Files of a run folder that are no files, or are far too large: every reader refuses them, at once."""

import os
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_hostile_run import files_of, little_memory, make_run, readers

from vitrail.errors import ConfigError, FolderError, StorageError, VitrailError, did_you_mean
from vitrail.folder import ModelFolder
from vitrail.storage import cut_back, remove_folder
from vitrail.trace.lines import read_spread
from vitrail.train import list_steps, read_log
from vitrail.translator import load

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names"),
]

KINDS = {
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "hollow": lambda path: path.open("wb").truncate(1 << 40),
    "folder": lambda path: path.mkdir(),
}


@contextmanager
def at_once():
    """A reader that waits for a pipe would wait for ever; one that reads a terabyte, for an hour."""

    def stop(*_):
        raise AssertionError("it did not come to an end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("odd"), "words")


def attempt(original, name, kind, scratch):
    """Replace one file, and return how every reader ended."""
    run = scratch / "run"
    for leftover in (run, scratch / "mean"):
        shutil.rmtree(leftover, ignore_errors=True)
    shutil.copytree(original.path, run)
    (run / name).unlink()
    KINDS[kind](run / name)
    ended = []
    for reader, read in readers(original, run, scratch).items():
        try:
            with at_once(), little_memory():
                read()
            ended.append("read")
        except VitrailError as error:
            assert error.where
            ended.append("refused")
        except Exception as error:
            raise AssertionError(f"{reader} fell over {name} as a {kind}") from error
    return ended


def test_what_is_no_file_is_refused_at_once(original, tmp_path):
    names = files_of(original.path)
    found = [attempt(original, name, [*KINDS][number % 4], tmp_path) for number, name in enumerate(names)]
    assert sum(one.count("refused") for one in found) > len(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_refused_at_once_wherever_it_is(original, tmp_path, kind):
    for name in files_of(original.path):
        attempt(original, name, kind, tmp_path)


def test_weights_that_the_manifest_does_not_list_are_looked_at_too(original, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(original.path, run)
    manifest = (run / "manifest.json").read_text().replace('"model.safetensors"', '"config.toml "')
    (run / "manifest.json").write_text(manifest.replace('"config.toml "', '"tokenizer/words.json"', 1))
    (run / "model.safetensors").unlink()
    os.mkfifo(run / "model.safetensors")
    with at_once(), pytest.raises(VitrailError):
        load(run).translate("a1")


def test_a_folder_that_may_not_be_read_is_named(original, tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    shutil.copytree(original.path, closed)

    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    for method in ("is_dir", "exists", "is_file"):  # the tests may run as root, who may read everything
        with monkeypatch.context() as patch:
            patch.setattr(Path, method, refuse)
            with pytest.raises(FolderError, match="Permission denied") as caught:
                ModelFolder.open(closed)
            assert str(closed) in caught.value.where
    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", refuse)
        with pytest.raises(FolderError, match="Permission denied"):
            list_steps(closed)


def test_a_log_of_too_many_bytes_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "log.jsonl"
    KINDS["hollow"](path)
    with pytest.raises(FolderError, match=r"1,099,511,627,776 bytes"):
        read_log(path)
    cut_back(path, 1 << 50)  # a checkpoint said so
    assert path.stat().st_size == 0


def test_a_log_is_cut_back_to_a_whole_line_without_reading_all_of_it(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"first\n" + b"x" * 3_000_000 + b"\nlast\nhalf")
    for size, kept in ((10**9, 3_000_012), (3_000_010, 3_000_007), (3_000_000, 6), (3, 0)):
        cut_back(path, size)
        assert path.stat().st_size == kept


def test_lines_are_chosen_without_holding_the_others(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f'{{"n": {n}}}\n' for n in range(100)) + '{"n": 1')
    assert [line["n"] for line in read_spread(path, 3)] == [0, 1, 50, 99]
    assert [line["n"] for line in read_spread(path, 1)] == [0, 99]
    path.write_bytes(b"x" * (1 << 25))
    with pytest.raises(ValueError, match="line 1 has more than"):
        read_spread(path, 3)


def test_a_word_of_a_hundred_thousand_letters_is_not_compared():
    assert did_you_mean("num_head", ["heads", "layers"]) == "did you mean 'heads'?"
    assert did_you_mean("a" * 100_000, ["a" * 64]) is None
    assert did_you_mean("_" * 100_000, ["heads"]) is None


def test_a_disk_that_is_full_while_a_folder_is_removed_is_explained(tmp_path, monkeypatch):
    (tmp_path / "tokenizer").mkdir()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StorageError, match="the disk is full") as caught:
        remove_folder(tmp_path / "tokenizer")
    assert "tokenizer" in caught.value.where


def test_settings_in_a_pipe_are_refused(tmp_path):
    os.mkfifo(tmp_path / "recipe.toml")
    from vitrail.config import load_config

    with at_once(), pytest.raises(ConfigError, match="not a regular file"):
        load_config(tmp_path / "recipe.toml")
