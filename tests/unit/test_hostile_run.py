"""A run folder from a stranger: whatever one of its files says, every command reads it or raises a VitrailError.

Files are changed one at a time, and every checksum is updated, so that no checksum hides what lies behind it.
"""

import copy
import json
import random
import shutil
import struct
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from safetensors.torch import load_file, save_file

from vitrail.cli.info import describe
from vitrail.cli.test_set import own_validation
from vitrail.config import parse_config
from vitrail.doctor import Case, examine
from vitrail.errors import VitrailError
from vitrail.explain import Explanation
from vitrail.folder import ModelFolder
from vitrail.serve.following import run_state
from vitrail.serve.shelf import Shelf, stamp_of
from vitrail.serve.tasks import Bench
from vitrail.storage import checksum
from vitrail.trace import Trace
from vitrail.train import average_checkpoints, train
from vitrail.translator import load

SENTENCE = "a1 b2 c0"
TRACE = "trace.json"
VALUES: list[Any] = [
    None, True, 0, 1, -1, 3, 2**31, 2**32 + 1, 2**63 - 1, 2**64, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf"),
    "", "O", "x", "../../x", "/etc/hostname", "\0", "\ud800", "é" * 3000, "F8_E4M3", "I64", [], {}, [[]], [None],
    {"a": 1}, [0] * 40, [2**40, 2**40], [0, 2**62], {"shape": [0, 2**62], "data": ""},
    {"shape": [0, 2**31 - 1], "data": ""}, "DEEP", "GONE", "TWICE",
]  # fmt: skip
TEXTS = [b"", b"[", b"[" * 100_000, b'{"a":' * 3000, b"null", b"[]", b"{}", b"NaN", b"9" * 5000, b"\xff\xfe\0", b"\n\n"]

Edit = Callable[[], Any]


@dataclass(frozen=True)
class Original:
    path: Path
    longer: Any  # the settings to resume with
    kind: str


def make_run(folder: Path, kind: str) -> Original:
    vocabulary, settings = KINDS[kind]
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
    load(folder / "run").trace(SENTENCE).save(folder / "run" / TRACE)  # no part of a run, but as easily sent around
    table["train"]["max_steps"] = 5
    return Original(folder / "run", parse_config(table, where="here"), kind)


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
    return make_run(tmp_path_factory.mktemp("hostile"), request.param)


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


def edits_of_values(value: Any) -> list[Edit]:
    """A list of functions, since there are thousands of changes and few are chosen."""
    found = [partial(changed, value, place, new) for place in places(value) for new in VALUES]
    keys = [place for place in places(value) if place and isinstance(place[-1], str)]
    names = ("../../x", "/x", "O", "\ud800", "0.x")
    return [*found, *(partial(renamed, value, place, name) for place in keys for name in names)]


def written(write: Callable[[Any], bytes], value: Any) -> list[Edit]:
    return [lambda edit=edit: write(edit()) for edit in edits_of_values(value)]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def edits_of_lines(content: bytes) -> list[Edit]:
    lines = content.splitlines()
    kinds = {tuple(sorted(json.loads(line))): number for number, line in enumerate(lines)}  # the last of every kind
    found = []
    for number in kinds.values():
        before, after = lines[:number], lines[number + 1 :]
        found += written(
            lambda value, before=before, after=after: b"\n".join([*before, as_json(value), *after, b""]),
            json.loads(lines[number]),
        )
    return found


def as_toml(value: Any) -> bytes:
    try:
        return tomli_w.dumps(value).encode()
    except (TypeError, AttributeError, ValueError, UnicodeEncodeError):  # TOML has no such value
        return b"x = " + b"[" * 100_000


def edits_of_tensors(content: bytes) -> list[Edit]:
    size = struct.unpack("<Q", content[:8])[0]
    header, rest = json.loads(content[8 : 8 + size]), content[8 + size :]

    def write(value: Any) -> bytes:
        table = as_json(value)
        return struct.pack("<Q", len(table)) + table + rest

    return [*written(write, header), lambda: struct.pack("<Q", 2**63) + content[8:]]


def overwritten(content: bytes, seed: str) -> bytes:
    dice = random.Random(seed)
    place, length = dice.randrange(len(content)), dice.choice([1, 2, 8])
    return content[:place] + dice.randbytes(length) + content[place + length :]


def edits_of_bytes(content: bytes, name: str) -> list[Edit]:
    half, more = content[: len(content) // 2], [content[:-1], content + b"\0", content + content]
    found: list[Edit] = [lambda one=one: one for one in (half, *more, b"\xff" * len(content), *TEXTS)]
    return [*found, *(partial(overwritten, content, f"{name} {number}") for number in range(40))]


def edits_of_format(file: Path) -> list[Edit]:
    content = file.read_bytes()
    if file.suffix == ".json":
        return written(as_json, json.loads(content))
    if file.suffix == ".jsonl":
        return edits_of_lines(content)
    if file.suffix == ".toml":
        numbers = [b"x = 0x" + b"f" * 9000, b"x = " + b"9" * 9000]
        return [*written(as_toml, tomllib.loads(content.decode())), *(partial(bytes, number) for number in numbers)]
    return edits_of_tensors(content) if file.suffix == ".safetensors" else []


def some_edits(file: Path, count: int) -> list[bytes]:
    """This many changes of a file's bytes, and three times as many of the values in it."""
    dice = random.Random(file.name)
    by_bytes, by_values = edits_of_bytes(file.read_bytes(), file.name), edits_of_format(file)
    chosen = dice.sample(by_bytes, min(count, len(by_bytes))) + dice.sample(by_values, min(3 * count, len(by_values)))
    return [edit() for edit in chosen]


def files_of(run: Path) -> list[str]:
    """The files that are read; of the checkpoints only the newest, which has every file that the others have."""
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
    """Everything that reads a run; the last one also writes to it."""

    def explain() -> None:
        load(run).explain(SENTENCE).save(scratch / "page.html")

    def translate() -> None:
        translator = load(run)
        translator.translate([SENTENCE, "c1"], on_unknown="skip")
        translator.score([SENTENCE], [SENTENCE])

    def show() -> None:
        shelf = Shelf(run)
        json.dumps(shelf.entries(), allow_nan=False)
        json.dumps(run_state(run, ""), allow_nan=False)
        translator = Bench(1, threads=1).translator(shelf.find(run.name), stamp_of(run))
        translator.trace(SENTENCE).to_json()

    return {
        "translate": translate,
        "explain": explain,
        "info": lambda: json.dumps(describe(ModelFolder.open(run)), ensure_ascii=False).encode(),
        "studio": show,
        "trace": lambda: Explanation(Trace.load(run / TRACE), max_mb=0).save(scratch / "page.html"),
        "evaluate": lambda: own_validation(run, None),
        "doctor": lambda: [*examine(Case.of_run(run))],
        "average": lambda: average_checkpoints(run, last=2, out=scratch / "mean"),
        "resume": lambda: train(original.longer, run),
    }


def attempt(original: Original, name: str, content: bytes, scratch: Path) -> dict[str, str]:
    """Change one file, run every reader, and return what each did."""
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


@contextmanager
def little_memory() -> Iterator[None]:
    """Make it an error to allocate gigabytes, if the system can."""
    resource = pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (2 << 30), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def attempts(original: Original, names: list[str], count: int, scratch: Path) -> list[str]:
    ended: list[str] = []
    with little_memory():
        for name in names:
            for content in some_edits(original.path / name, count):
                ended += attempt(original, name, content, scratch).values()
    return ended


@pytest.mark.filterwarnings("ignore")
def test_an_undamaged_run_is_read(original, tmp_path):
    name = "config.toml"
    ended = attempt(original, name, (original.path / name).read_bytes(), tmp_path)
    assert set(ended.values()) == {"read"}


@pytest.mark.filterwarnings("ignore")
def test_whatever_a_file_says_is_read_or_refused(original, tmp_path):
    names = files_of(original.path)
    if original.kind != "words":  # the other files are the same for every kind
        names = [name for name in names if "tokenizer" in name or "optimizer" in name]
    ended = attempts(original, names, 1, tmp_path)
    assert ended.count("refused") > len(ended) / 4  # else nothing was damaged


def an_array_of_nothing_with_many_columns(run: Path) -> None:
    lines = (run / "probes.jsonl").read_text().splitlines()
    record = json.loads(lines[1])
    record["sentences"][0].update(columns=None, log_probs={"shape": [0, 2**31 - 1], "data": ""})
    (run / "probes.jsonl").write_text("\n".join([lines[0], json.dumps(record), ""]))


def an_optimiser_with_smaller_tensors(run: Path) -> None:
    for folder in (run / "checkpoints").iterdir():
        tensors = load_file(folder / "optimizer.safetensors")
        smaller = {name: value if value.ndim == 0 else value[:1].clone() for name, value in tensors.items()}
        save_file(smaller, folder / "x")
        (folder / "x").replace(folder / "optimizer.safetensors")


def settings_of_a_giant(run: Path) -> None:
    text = (run / "config.toml").read_text()
    (run / "config.toml").write_text(
        text.replace("d_ff = 8", "d_ff = 1048576").replace("d_model = 8", "d_model = 65536")
    )


def a_log_of_many_bytes(run: Path) -> None:
    for folder in (run / "checkpoints").iterdir():
        state = json.loads((folder / "state.json").read_text())
        (folder / "state.json").write_text(json.dumps({**state, "log_bytes": 2**62, "probe_bytes": 2**62}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("original", ["words"], indirect=True)
@pytest.mark.parametrize(
    ("damage", "reader", "refused"),
    [
        (an_array_of_nothing_with_many_columns, "explain", None),  # the page does without the probes
        (an_optimiser_with_smaller_tensors, "resume", "the optimiser has no state"),
        (settings_of_a_giant, "translate", "has shape"),
        (settings_of_a_giant, "info", None),  # it says what the folder says
        (a_log_of_many_bytes, "resume", None),  # no more is read than there is
    ],
)
def test_sizes_are_compared_with_what_is_there(original, tmp_path, damage, reader, refused):
    run = tmp_path / "run"
    shutil.copytree(original.path, run)
    damage(run)
    for name in files_of(run):
        sign(run, name)
    for folder in (run / "checkpoints").iterdir():
        for file in folder.iterdir():
            sign(run, file.relative_to(run).as_posix())
    with little_memory(), pytest.raises(VitrailError, match=refused) if refused else nullcontext():
        readers(original, run, tmp_path)[reader]()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_whatever_a_file_says_is_read_or_refused_with_many_more_changes(original, tmp_path):
    attempts(original, files_of(original.path), 20, tmp_path)
