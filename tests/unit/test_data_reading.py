import gzip
import lzma
import os

import pytest

from vitrail.data.reading import bare_suffix, read_lines
from vitrail.errors import DataError


def read(path):
    return list(read_lines(path))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_what_a_file_begins_with_decides_not_its_name(tmp_path, pack):
    file = tmp_path / "text"
    file.write_bytes(pack(b"un\ndeux\n"))
    assert read(file) == ["un", "deux"]


def test_gzip_members_one_after_the_other_are_one_text(tmp_path):
    file = tmp_path / "text.gz"
    file.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n"))
    assert read(file) == ["a", "bc"]


def test_only_line_feeds_end_lines(tmp_path):
    file = tmp_path / "text"
    text = "a\u2028b\u0085c\x0bd\x0ce\x1cf"
    file.write_text(f"{text}\r\nsecond", encoding="utf-8", newline="")
    assert read(file) == [text, "second"]


def test_a_byte_order_mark_is_no_text(tmp_path):
    file = tmp_path / "text"
    file.write_bytes("\ufeffa\n\ufeffb\n".encode())
    assert read(file) == ["a", "\ufeffb"]


def test_a_broken_line_is_told_from_an_empty_one_and_the_rest_goes_on(tmp_path):
    file = tmp_path / "text"
    file.write_bytes(b"a\n\xff\xc3\n\nb\n"[:])
    assert read(file) == ["a", None, "", "b"]


def test_a_last_line_needs_no_end(tmp_path):
    with_end, without = tmp_path / "with", tmp_path / "without"
    with_end.write_bytes(b"a\nb\n")
    without.write_bytes(b"a\nb")
    assert read(with_end) == read(without) == ["a", "b"]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
@pytest.mark.parametrize("part", [0.5, 0.99])
def test_a_compressed_file_that_was_cut_off_says_so(tmp_path, suffix, pack, part):
    file = tmp_path / f"text{suffix}"
    whole = pack(os.urandom(100_000).hex().encode())
    file.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(DataError, match="cut off") as error:
        read(file)
    assert error.value.where == str(file)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_compressed_file_that_was_damaged_says_so(tmp_path, suffix, pack):
    file = tmp_path / f"text{suffix}"
    whole = bytearray(pack(os.urandom(10_000).hex().encode()))
    middle = len(whole) // 2
    whole[middle : middle + 50] = bytes(50)
    file.write_bytes(whole)
    with pytest.raises(DataError, match="damaged"):
        read(file)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_name_that_promises_compression_must_keep_it(tmp_path, suffix):
    file = tmp_path / f"text{suffix}"
    file.write_bytes(b"plain text\n")
    with pytest.raises(DataError, match="not compressed"):
        read(file)


def test_missing_files_and_folders_and_utf16_are_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(DataError, match="folder"):
        read(tmp_path)
    utf16 = tmp_path / "text"
    utf16.write_text("bonjour\n", encoding="utf-16")
    with pytest.raises(DataError, match="UTF-16"):
        read(utf16)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path):
    file = tmp_path / "text"
    file.write_bytes(b"a\n")
    file.chmod(0)
    with pytest.raises(DataError, match="cannot read"):
        read(file)


@pytest.mark.parametrize(
    ("name", "suffix"), [("a.tsv", ".tsv"), ("a.TSV.GZ", ".tsv"), ("a.jsonl.xz", ".jsonl"), ("a.gz", ""), ("a", "")]
)
def test_the_ending_before_the_compression_says_what_is_inside(tmp_path, name, suffix):
    assert bare_suffix(tmp_path / name) == suffix
