"""Prepared data from a stranger: whatever its files say is checked before anything is mapped or read through it."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import vitrail.data.shards
from vitrail.config import DataConfig, parse_config
from vitrail.data import BatchStream, Position, Prepared, SubwordDropout, prepare
from vitrail.data.shards import RECORD
from vitrail.errors import FolderError
from vitrail.folder import ModelFolder
from vitrail.storage import checksum
from vitrail.translator import load

LINES = [f"a{n % 7} b{n % 5} c{n % 3}" for n in range(105)]


def data_config(folder, **settings):
    (folder / "a.txt").write_text("".join(f"{line}\n" for line in LINES))
    (folder / "b.txt").write_text("".join(f"{line[::-1]}\n" for line in LINES))
    files = {"source": str(folder / "a.txt"), "target": str(folder / "b.txt"), "hold_out": 5}
    return DataConfig(**{**files, "vocabulary": "word", **settings})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    prepare(data_config(folder), folder / "data", seed=1)
    return folder / "data"


@pytest.fixture
def data(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "data")
    return tmp_path / "data"


def edit(path, *keys, value):
    """Put a value into a JSON file."""
    table = json.loads(path.read_text())
    place = table
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(table))


def write_and_admit(data, name, content):
    """Replace a file, and let the manifest say that it was always so."""
    (data / name).write_bytes(content)
    entry = {"size": len(content), "sha256": checksum(data / name)}
    edit(data / "manifest.json", "files", name, value=entry)


def read_all(data):
    """Everything that training reads of its data."""
    prepared = Prepared.open(data)
    for shard in prepared.train:
        for pair in range(len(shard)):
            shard.rows(pair)
    return first_batches(prepared)


def first_batches(prepared, **options):
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=64, seed=1, **options)
    batches = stream.from_position(Position())
    return [next(batches)[1] for _ in range(stream.batches_in_epoch(0))]


def test_whole_data_is_read(data):
    assert sum(batch.pairs for batch in read_all(data)) == Prepared.open(data).report.kept


def test_a_type_that_would_be_pointers_does_not_reach_numpy(whole, tmp_path):
    """In a process of its own: before there was a list of types, this ended in a segmentation fault."""
    out = tmp_path / "model"
    table = {"model": {"d_model": 8, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 1}}
    config = parse_config({**table, "data": {"vocabulary": "word"}}, where="test")
    prepared = Prepared.open(whole)
    folder = ModelFolder.create(out, config, prepared.tokenizers)
    folder.write_weights(folder.new_model().state_dict())
    shutil.copytree(whole, out / "data")
    assert load(out).trace(LINES[0]).document["seen"] == "training"
    tokens = (out / "data" / "train-0.tokens").read_bytes()
    write_and_admit(out / "data", "train-0.tokens", tokens * 8)  # enough for a pointer wherever there was a token
    edit(out / "data" / "manifest.json", "shards", 0, "dtype", value="O")
    done = subprocess.run(
        [sys.executable, "-m", "vitrail", "explain", out, LINES[0], "--out", tmp_path / "page.html"],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 2, done.stderr
    assert "shards.0.dtype" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "dtype", ["O", "<f4", "V8", "<U9", "object", "<u2,<u2", ["<u2"], {"names": ["a"]}, 2, None, ""]
)
def test_only_two_types_of_tokens_are_known(data, dtype):
    edit(data / "manifest.json", "shards", 0, "dtype", value=dtype)
    with pytest.raises(FolderError, match=r"shards\.0\.dtype") as error:
        Prepared.open(data)
    assert error.value.where == str(data / "manifest.json") and error.value.fix


@pytest.mark.parametrize(
    "name", ["../data/train-0", "/train-0", "sub/train-0", "..", ".", "", "a\x00b", "a\\b", "train-0\n"]
)
def test_names_do_not_lead_out_of_the_folder(data, name):
    manifest = data / "manifest.json"
    content = manifest.read_text()
    edit(manifest, "shards", 0, "name", value=name)
    with pytest.raises(FolderError, match=r"shards\.0\.name"):
        Prepared.open(data)
    manifest.write_text(content)
    if name not in ("train-0", "sub/train-0"):
        edit(manifest, "files", name, value={"size": 0, "sha256": ""})
        with pytest.raises(FolderError, match="files"):
            Prepared.open(data)


@pytest.mark.parametrize("value", [0, -1, 1, 10**9, 10**30, 2.0, "100", True, None, [], {}])
def test_the_number_of_pairs_is_that_of_the_index(data, value):
    edit(data / "manifest.json", "shards", 0, "pairs", value=value)
    with pytest.raises(FolderError, match="manifest is damaged"):
        Prepared.open(data)


@pytest.mark.parametrize("value", [0, -1, 1001, 1e999, "1", None, True, []])
def test_a_weight_is_a_sensible_number(data, value):
    edit(data / "manifest.json", "shards", 0, "weight", value=value)
    with pytest.raises(FolderError, match="manifest is damaged"):
        Prepared.open(data)


@pytest.mark.parametrize("key", ["files", "shards", "validation", "report", "fingerprint", "inputs"])
@pytest.mark.parametrize("value", [None, 1, "x", [1], {"x": 1}, [[]], 1e999])
def test_a_manifest_of_other_kinds_is_refused(data, key, value):
    if key == "fingerprint" and value == "x":
        value = 1.5
    edit(data / "manifest.json", key, value=value)
    with pytest.raises(FolderError, match="manifest is damaged"):
        Prepared.open(data)


@pytest.mark.parametrize("text", ["[" * 10**5, '{"format":' * 2000 + "1" + "}" * 2000, "9" * 5000, "\ufeff{}", "NaN"])
def test_a_manifest_that_is_no_sensible_json_is_refused(data, text):
    (data / "manifest.json").write_text(text)
    with pytest.raises(FolderError, match="manifest is damaged"):
        Prepared.open(data)


def records_of(data):
    return np.frombuffer((data / "train-0.index").read_bytes(), dtype=RECORD).copy()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("start", 1 << 40),
        ("start", (1 << 64) - 1),
        ("start", (1 << 63) - 1),
        ("start", (1 << 64) - 4),  # and a length of 4 makes nothing, in 64 bits
        ("source", (1 << 32) - 1),
        ("target", (1 << 32) - 1),
        ("source", 0),
        ("target", 0),
    ],
)
def test_a_record_lies_within_the_tokens(data, field, value):
    records = records_of(data)
    records[field][-1] = value
    write_and_admit(data, "train-0.index", records.tobytes())
    prepared = Prepared.open(data)  # quick: nothing is read yet
    for read in (lambda: prepared.train[0].rows(len(records) - 1), lambda: list(prepared.train[0].blocks())):
        with pytest.raises(FolderError, match=r"train-0\.index is damaged"):
            read()
    with pytest.raises(FolderError, match=r"train-0\.index is damaged"):
        first_batches(prepared)


def test_the_very_last_token_belongs_to_the_last_record(data):
    shard, records = Prepared.open(data).train[0], records_of(data)
    assert int(records[-1]["start"]) + int(records[-1]["source"]) + int(records[-1]["target"]) == len(shard.tokens)
    shard.rows(len(shard) - 1)
    records["start"][-1] += 1
    write_and_admit(data, "train-0.index", records.tobytes())
    with pytest.raises(FolderError, match=r"train-0\.index is damaged"):
        Prepared.open(data).train[0].rows(len(shard) - 1)


def test_blocks_are_all_records_whatever_their_size(data, monkeypatch):
    shard = Prepared.open(data).train[0]
    monkeypatch.setattr(vitrail.data.shards, "BLOCK", 7)
    blocks = list(shard.blocks())
    assert len(blocks) > 5 and max(map(len, blocks)) == 7
    assert np.array_equal(np.concatenate(blocks), shard.index)


@pytest.mark.parametrize("change", [lambda size: size - 1, lambda size: size + 1, lambda size: 0])
@pytest.mark.parametrize("name", ["train-0.index", "train-0.tokens"])
def test_files_of_half_an_entry_or_none_are_refused(data, name, change):
    content = (data / name).read_bytes()
    write_and_admit(data, name, (content + b"\0\0")[: change(len(content))])
    with pytest.raises(FolderError, match="damaged"):
        read_all(data)


def test_ids_beyond_the_vocabulary_are_refused_when_they_are_read(data):
    tokens = np.fromfile(data / "train-0.tokens", dtype="<u2")
    tokens[-1] = Prepared.open(data).tokenizers.target.size
    write_and_admit(data, "train-0.tokens", tokens.tobytes())
    prepared = Prepared.open(data)
    for read in (lambda: prepared.train[0].rows(len(prepared.train[0]) - 1), lambda: first_batches(prepared)):
        with pytest.raises(FolderError, match=r"train-0\.tokens is damaged: it has the id"):
            read()


@pytest.mark.parametrize(
    ("place", "token"),
    [(0, "size"), (-1, "size"), (0, 1 << 31), (0, (1 << 32) - 1)],  # as int32 the last two are below 0
)
def test_and_with_subword_dropout_too(tmp_path, place, token):
    data = tmp_path / "data"
    prepare(data_config(tmp_path, vocabulary="bpe", vocabulary_size=300), data, seed=1)
    tokens = np.fromfile(data / "train-0.tokens", dtype="<u2").astype("<u4")
    tokens[place] = Prepared.open(data).tokenizers.source.size if token == "size" else token
    write_and_admit(data, "train-0.tokens", tokens.tobytes())
    edit(data / "manifest.json", "shards", 0, "dtype", value="<u4")
    prepared = Prepared.open(data)
    dropout = SubwordDropout(prepared.tokenizers, share=0.1, seed=1)
    with pytest.raises(FolderError, match=r"train-0\.tokens is damaged: it has the id"):
        first_batches(prepared, subword_dropout=dropout)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b"[" * 10**5,
        b'{"source": 1, "reference": "x"}',
        b'{"source": "x"}',
        b'{"source": NaN, "reference": "x"}',
        b"\xff",
        b'{"source": "x", "reference": "x"}\n{"source": "x", "reference": "x"}',
    ],
)
def test_validation_data_is_texts_as_many_as_were_counted(data, line):
    lines = (data / "validation.jsonl").read_bytes().splitlines()
    write_and_admit(data, "validation.jsonl", b"\n".join([line, *lines[1:]]) + b"\n")
    with pytest.raises(FolderError, match=r"validation\.jsonl"):
        Prepared.open(data)


@pytest.mark.parametrize("value", [-1, 10**30, 2.5, "5", None])
def test_a_validation_set_has_a_number_of_pairs(data, value):
    edit(data / "manifest.json", "validation", 0, "pairs", value=value)
    with pytest.raises(FolderError, match=r"manifest is damaged"):
        Prepared.open(data)
