"""Writing files: atomically, with a helpful error if the disk is full."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from vitrail import storage
from vitrail.errors import StorageError
from vitrail.storage import checksum, new_file, new_folder, remove_folder, save_tensors, whole_lines, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_complete_under_its_name(tmp_path):
    with new_file(tmp_path / "inside" / "a") as partial:
        partial.write_text("new")
        assert not (tmp_path / "inside" / "a").exists()
    assert (tmp_path / "inside" / "a").read_text() == "new"
    assert names(tmp_path / "inside") == ["a"]


def test_a_write_that_fails_leaves_the_old_file_and_no_trace(tmp_path):
    write_text(tmp_path / "a", "old")
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "a") as partial:
        partial.write_text("half")
        raise ZeroDivisionError
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_folder_is_replaced_as_a_whole_or_stays_as_it_was(tmp_path):
    with new_folder(tmp_path / "f") as partial:
        (partial / "one").write_text("1")
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "f") as partial:
        (partial / "two").write_text("2")
        raise ZeroDivisionError
    assert names(tmp_path / "f") == ["one"]
    with new_folder(tmp_path / "f") as partial:
        (partial / "two").write_text("2")
    assert names(tmp_path / "f") == ["two"]
    assert names(tmp_path) == ["f"]
    remove_folder(tmp_path / "f")
    remove_folder(tmp_path / "f")
    assert names(tmp_path) == []


def test_two_at_once_do_not_write_the_same_folder(tmp_path):
    with new_folder(tmp_path / "f") as partial:
        (partial / "one").write_text("1")
        with pytest.raises(StorageError, match="another process is writing here"), new_folder(tmp_path / "f"):
            pass
        assert names(partial) == ["one"]
    assert names(tmp_path / "f") == ["one"]
    assert names(tmp_path) == ["f"]


def test_a_folder_that_is_taken_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock = storage._lock

    def lock_late(descriptor):
        monkeypatch.setattr(storage, "_lock", lock)
        with new_folder(tmp_path / "f") as partial:  # another process is faster
            (partial / "one").write_text("1")
        return lock(descriptor)

    monkeypatch.setattr(storage, "_lock", lock_late)
    with new_folder(tmp_path / "f") as partial:
        assert names(partial) == []
        (partial / "two").write_text("2")
    assert names(tmp_path / "f") == ["two"]
    assert names(tmp_path) == ["f"]


def test_what_a_killed_process_left_of_a_folder_is_not_in_the_way(tmp_path):
    (tmp_path / ".f.partial").mkdir()
    (tmp_path / ".f.partial" / "half").write_text("")
    with new_folder(tmp_path / "f") as partial:
        (partial / "one").write_text("1")
    assert names(tmp_path / "f") == ["one"]
    assert names(tmp_path) == ["f"]


def test_a_removal_that_was_killed_does_not_stand_in_the_way_of_the_next(tmp_path, monkeypatch):
    def killed(path, **_options):
        if Path(path).exists():
            raise KeyboardInterrupt

    for _ in range(2):
        with new_folder(tmp_path / "f") as partial:
            (partial / "one").write_text("1")
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr("shutil.rmtree", killed)
            remove_folder(tmp_path / "f")
    assert not (tmp_path / "f").exists()
    remove_folder(tmp_path / "f")
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write") as caught:
        write_text(tmp_path / "file" / "a", "text")
    assert str(tmp_path / "file" / "a") in str(caught.value)


FULL_DISK = """
import resource, sys, torch
from pathlib import Path
from vitrail.errors import StorageError
from vitrail.storage import new_file, save_tensors
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    with new_file(Path(sys.argv[1])) as partial:
        {write}
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "write", ["partial.write_bytes(bytes(10_000))", "save_tensors({'a': torch.zeros(10_000)}, partial)"]
)
def test_a_full_disk_is_explained_and_costs_nothing_that_was_there(tmp_path, write):
    # A limit on the file size simulates a full disk without a disk of its own.
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    write_text(tmp_path / "a", "old")
    script = FULL_DISK.replace("{write}", write)
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "a"], capture_output=True, text=True, check=True)
    assert "files that were complete are unchanged" in done.stdout
    assert "free some space" in done.stdout
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_tensors_are_written_as_they_are(tmp_path):
    from safetensors.torch import load_file

    save_tensors({"a": torch.arange(3)}, tmp_path / "a")
    assert load_file(tmp_path / "a")["a"].tolist() == [0, 1, 2]


def test_a_checksum_follows_every_byte(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    before = checksum(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"abd")
    assert checksum(tmp_path / "a") != before


def test_a_file_that_is_being_written_to_is_read_to_its_last_whole_line(tmp_path):
    path = tmp_path / "log.jsonl"
    whole = "une ligne\u2028et la suite\n\nété\n".encode()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        assert "".join(f"{line}\n" for line in whole_lines(path)) == whole[: whole[:cut].rfind(b"\n") + 1].decode()
