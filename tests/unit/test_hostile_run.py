"""A run folder from a stranger: whatever any of its files says, it is read, or refused with a VitrailError.

Files are changed one at a time, with every checksum put right again, so that it is not the checksum which saves us.
"""

import copy
import json
import random
import shutil
import struct
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from vitrail.cli.evaluate import _own_validation
from vitrail.cli.info import describe
from vitrail.config import parse_config
from vitrail.errors import VitrailError
from vitrail.folder import ModelFolder
from vitrail.serve import Shelf
from vitrail.serve.studio import _run
from vitrail.storage import checksum
from vitrail.train import average_checkpoints, train
from vitrail.translator import load

SENTENCE = "a1 b2 c0"
VALUES: list[Any] = [
    None, True, 0, 1, -1, 3, 2**31, 2**32 + 1, 2**63 - 1, 2**64, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf"),
    "", "O", "x", "../../x", "/etc/hostname", "\0", "\ud800", "é" * 3000, "F8_E4M3", "I64", [], {}, [[]], [None],
    {"a": 1}, [0] * 40, [2**40, 2**40], [0, 2**62], {"shape": [0, 2**62], "data": ""}, "DEEP", "GONE", "TWICE",
]  # fmt: skip
TEXTS = [b"", b"[", b"[" * 100_000, b'{"a":' * 3000, b"null", b"[]", b"{}", b"NaN", b"9" * 5000, b"\xff\xfe\0", b"\n\n"]


@dataclass(frozen=True)
class Original:
    path: Path
    longer: Any  # the settings to go on with


def make_run(folder: Path, vocabulary: dict[str, Any], **settings: Any) -> Original:
    lines = [(f"a{n % 7} b{n % 5} c{n % 3}", f"c{n % 3} b{n % 5} a{n % 7}") for n in range(105)]
    (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in lines), encoding="utf-8")
    shape = {"d_model": 8, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 1}
    table = {
        "model": {**shape, "tie_embeddings": "none"},
        "data": {"pairs": str(folder / "pairs.tsv"), "hold_out": 5, **vocabulary},
        "train": {
            **{"max_steps": 4, "batch_tokens": 64, "log_every": 1, "validate_every": 2, "checkpoint_every": 2},
            **{"threads": 1, "keep_checkpoints": 2, "average": 2, **settings},
        },
        "decode": {"max_extra": 3, "beam_size": 2},
    }
    train(parse_config(table, where="here"), folder / "run")
    table["train"]["max_steps"] = 5
    return Original(folder / "run", parse_config(table, where="here"))


KINDS = {
    "words": ({"vocabulary": "word", "vocabulary_size": 100}, {"ema": 0.9}),
    "bpe": (
        {"vocabulary": "bpe", "vocabulary_size": 300, "joint": False},
        {"optimizer": "muon", "subword_dropout": 0.1, "schedule": "constant", "peak_rate": 1e-3, "warmup_steps": 0},
    ),
    "unigram": (
        {"vocabulary": "unigram", "vocabulary_size": 300},
        {"optimizer": "adafactor", "schedule": "constant", "peak_rate": 1e-3, "warmup_steps": 0},
    ),
}


@pytest.fixture(scope="module", params=list(KINDS))
def original(request, tmp_path_factory) -> Original:
    vocabulary, settings = KINDS[request.param]
    return make_run(tmp_path_factory.mktemp("hostile"), vocabulary, **settings)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value inside a value; of a long list, its first few."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy with one value replaced, removed, or there once more."""
    if new == "DEEP":
        new = []
        for _ in range(200):
            new = [new]
    if not place:
        return new
    value = copy.deepcopy(value)
    inside = value
    for key in place[:-1]:
        inside = inside[key]
    if new == "GONE":
        del inside[place[-1]]
    elif new == "TWICE":
        if isinstance(inside, list):
            inside.append(inside[place[-1]])
        else:
            inside["x" + str(place[-1])] = inside[place[-1]]
    else:
        inside[place[-1]] = new
    return value


def renamed(value: Any, place: tuple[Any, ...], name: str) -> Any:
    """A copy in which the last key of a place is another one."""
    value = copy.deepcopy(value)
    inside = value
    for key in place[:-1]:
        inside = inside[key]
    inside[name] = inside.pop(place[-1])
    return value


def edits_of_values(value: Any) -> list[Any]:
    found = [changed(value, place, new) for place in places(value) for new in VALUES]
    keys = [place for place in places(value) if place and isinstance(place[-1], str)]
    return found + [renamed(value, place, name) for place in keys for name in ("../../x", "/x", "O", "\ud800", "0.x")]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def edits_of_lines(content: bytes) -> list[bytes]:
    lines = content.splitlines()
    kinds = {tuple(sorted(json.loads(line))): number for number, line in enumerate(lines)}  # the last of every kind
    found = []
    for number in kinds.values():
        values = map(as_json, edits_of_values(json.loads(lines[number])))
        found += [b"\n".join([*lines[:number], value, *lines[number + 1 :], b""]) for value in values]
    return found


def edits_of_toml(content: bytes) -> list[bytes]:
    found = []
    for value in edits_of_values(tomllib.loads(content.decode())):
        try:
            found.append(tomli_w.dumps(value).encode())
        except (TypeError, AttributeError, ValueError, UnicodeEncodeError):
            continue  # what TOML cannot say
    return [*found, b"x = " + b"[" * 100_000, b"x = 0x" + b"f" * 9000, b"x = " + b"9" * 9000]


def edits_of_tensors(content: bytes) -> list[bytes]:
    size = struct.unpack("<Q", content[:8])[0]
    header, rest = json.loads(content[8 : 8 + size]), content[8 + size :]
    found = []
    for value in edits_of_values(header):
        table = as_json(value)
        found.append(struct.pack("<Q", len(table)) + table + rest)
    return [*found, struct.pack("<Q", 2**63) + content[8:]]


def edits_of_bytes(content: bytes, dice: random.Random) -> list[bytes]:
    found = [content[: len(content) // 2], content[:-1], content + b"\0", content + content, b"\xff" * len(content)]
    for _ in range(40):
        place, length = dice.randrange(len(content)), dice.choice([1, 2, 8])
        found.append(content[:place] + dice.randbytes(length) + content[place + length :])
    return found


def edits(file: Path) -> list[bytes]:
    """Every change of a file that is tried."""
    content, dice = file.read_bytes(), random.Random(file.name)
    found = [*TEXTS, *edits_of_bytes(content, dice)]
    if file.suffix == ".json":
        found += map(as_json, edits_of_values(json.loads(content)))
    elif file.suffix == ".jsonl":
        found += edits_of_lines(content)
    elif file.suffix == ".toml":
        found += edits_of_toml(content)
    elif file.suffix == ".safetensors":
        found += edits_of_tensors(content)
    return list(dict.fromkeys(found))


def files_of(run: Path) -> list[str]:
    """The files that are read: of the checkpoints the newest, which has all that the others have."""
    newest = max((run / "checkpoints").iterdir()).name
    found = [file.relative_to(run).as_posix() for file in sorted(run.rglob("*")) if file.is_file()]
    skipped = ("tensorboard/", ".lock", ".")
    return [
        name
        for name in found
        if not name.startswith(skipped) and (not name.startswith("checkpoints/") or newest in name)
    ]


def sign(run: Path, name: str) -> None:
    """Make every manifest say that a file was always as it is now."""
    for manifest in [run / "manifest.json", run / "data" / "manifest.json", *run.glob("checkpoints/*/manifest.json")]:
        inside = (run / name).relative_to(manifest.parent) if (run / name).is_relative_to(manifest.parent) else None
        if inside is None or manifest == run / name:
            continue
        table, known = json.loads(manifest.read_text()), inside.as_posix()
        files = table.get("files", table)
        if known not in files:
            continue
        size, found = (run / name).stat().st_size, checksum(run / name)
        kinds = {list: [found], str: found, dict: {"size": size, "sha256": found}}
        files[known] = kinds[type(files[known])]
        manifest.write_text(json.dumps(table))


def readers(original: Original, run: Path, scratch: Path) -> dict[str, Any]:
    """Everything that reads a run; the last one writes to it, too."""

    def explain() -> None:
        load(run).explain(SENTENCE).save(scratch / "page.html")

    def translate() -> None:
        translator = load(run)
        translator.translate([SENTENCE, "c1"], on_unknown="skip")
        translator.score([SENTENCE], [SENTENCE])

    def show() -> None:
        shelf = Shelf(run)
        json.dumps(shelf.entries(), allow_nan=False)
        json.dumps(_run(run, ""), allow_nan=False)
        with shelf.using(run.name) as translator:
            translator.trace(SENTENCE).to_json()

    return {
        "translate": translate,
        "explain": explain,
        "info": lambda: json.dumps(describe(ModelFolder.open(run)), ensure_ascii=False).encode(),
        "studio": show,
        "evaluate": lambda: _own_validation(run, None),
        "average": lambda: average_checkpoints(run, last=2, out=scratch / "mean"),
        "resume": lambda: train(original.longer, run),
    }


def attempt(original: Original, name: str, content: bytes, scratch: Path) -> dict[str, str]:
    """Change one file, let everybody read it, and tell what each did about it."""
    run = scratch / "run"
    for leftover in (run, scratch / "mean"):
        shutil.rmtree(leftover, ignore_errors=True)
    shutil.copytree(original.path, run)
    (run / name).write_bytes(content)
    sign(run, name)
    ended = {}
    for reader, read in readers(original, run, scratch).items():
        try:
            read()
            ended[reader] = "read"
        except VitrailError as error:
            assert error.what and str(error)
            ended[reader] = "refused"
        except Exception as error:
            raise AssertionError(f"{reader} fell over {name} = {content[:300]!r}") from error
    return ended


@pytest.mark.filterwarnings("ignore")
def test_whole_it_is_read(original, tmp_path):
    name = "config.toml"
    ended = attempt(original, name, (original.path / name).read_bytes(), tmp_path)
    assert set(ended.values()) == {"read"}


CHOSEN = 6  # of every file's changes, and three texts: `python tests/unit/test_hostile_run.py words 0 1` tries all


@pytest.mark.filterwarnings("ignore")
def test_whatever_a_file_says_is_read_or_refused(original, tmp_path):
    ended = []
    for name in files_of(original.path):
        all_of_them = edits(original.path / name)
        chosen = random.Random(name).sample(all_of_them[len(TEXTS) :], CHOSEN)
        for content in [*TEXTS[1:4], *chosen]:
            ended += attempt(original, name, content, tmp_path).values()
    assert ended.count("refused") > len(ended) / 4  # else nothing was harmed


if __name__ == "__main__":
    import tempfile
    import traceback

    kind, part, parts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as place:
        whole = make_run(Path(place), KINDS[kind][0], **KINDS[kind][1])
        tried = failed = 0
        for name in files_of(whole.path):
            if len(sys.argv) > 4 and sys.argv[4] not in name:
                continue
            for content in edits(whole.path / name)[part::parts]:
                tried += 1
                try:
                    attempt(whole, name, content, Path(place) / "scratch")
                except AssertionError as error:
                    failed += 1
                    print(error)
                    traceback.print_exception(error.__cause__, limit=-3)
        print(f"{tried} tried, {failed} failed")
