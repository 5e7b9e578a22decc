"""Run a recipe from its data to its test score, and record all of it in a receipt beside the recipe.

    python recipes/receipt.py recipes/multi30k-en-de.toml --out runs/multi30k-en-de
    python recipes/receipt.py recipes/tatoeba-fr-en-student.toml --teacher builtin --out runs/tatoeba-fr-en-student

The receipt, `multi30k-en-de.receipt.json`, has the hashes of the data, the settings, versions, the training commit, the
machine, the minutes, the validation curve, and every evaluation on a test set ever made for the recipe. Those of models
from earlier versions of the recipe are under "earlier". tests.toml lists the test sets. A stopped run resumes; a
finished one is only evaluated. `--no-tests` skips the evaluation, so that you can first choose [decode] on the
validation set; the same command without it does the rest.

With `--teacher` the recipe is a student's, for `vitrail distill`. The receipt then says who the teacher was, how long
it translated and how the two compare, and every evaluation on a test set has the teacher's scores beside the student's.
If the recipe starts from another model (`train.start_from`), the receipt names it with its checksum, and has its scores
under "before".
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from importlib.metadata import version
from math import inf
from pathlib import Path
from typing import Any

import torch

import vitrail
from vitrail.config import Config, DecodeConfig, load_config
from vitrail.data import count_lines, read_aligned, read_pairs
from vitrail.distill import TABLE
from vitrail.errors import VitrailError
from vitrail.evaluate import Report, measure
from vitrail.folder import DISTILLED
from vitrail.storage import checksum, write_text
from vitrail.train import LOG, read_log, read_origin

TESTS = Path(__file__).with_name("tests.toml")
LIBRARIES = ("torch", "numpy", "sentencepiece", "sacrebleu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--tests", type=Path, default=TESTS, help="file that lists the test sets of each recipe")
    parser.add_argument("--no-tests", action="store_true", help="train, but do not evaluate on the test sets")
    parser.add_argument("--teacher", help="model folder or builtin: distil the recipe's model from it")
    parser.add_argument("--keep-original", action="store_true", help="for --teacher: train on the corpora as well")
    options = parser.parse_args()
    if options.keep_original and not options.teacher:
        parser.error("--keep-original has no effect without --teacher")
    config = load_config(options.recipe, given={}, overrides=[])
    tests = [] if options.no_tests else tests_of(options)
    receipt = options.recipe.with_suffix(".receipt.json")
    known = json.loads(receipt.read_text()) if receipt.exists() else {}
    if "teacher" in known and not options.teacher:
        sys.exit(f"{receipt} is a student's: add --teacher {known['teacher']['model']}")
    began_at = None if (options.out / LOG).exists() else commit()  # unknown if the run has begun already
    data = {path: checksum(Path(path)) for path in files_to_learn_from(config) if Path(path).exists()}
    code = vitrail_command(*command_of(options))
    if code:
        sys.exit(code)  # it has printed why
    weights = checksum(options.out / "model.safetensors")
    same, earlier = split(known, weights)
    found = {
        "recipe": options.recipe.name,
        "settings": config.model_dump(mode="json", exclude_none=True),
        # Of the training: another machine may evaluate later.
        "data": same.get("data") or data,
        "versions": same.get("versions") or versions(),
        "machine": same.get("machine") or machine(config),
        "training": {"commit": same["training"].get("commit") if same else began_at} | training(options.out, same),
        **({"teacher": teacher_of(options)} if options.teacher else {}),
        **({"started_from": origin.model_dump()} if (origin := read_origin(options.out)) else {}),
        "weights": weights,
        "tests": [*same.get("tests", [])],
        "earlier": earlier,
    }
    write(receipt, found)
    for test in tests:
        found["tests"].append(evaluate(test, options.out, weights, config.decode))
        if options.teacher:
            found["tests"][-1]["teacher"] = scores(test, options.teacher).to_dict()
        if origin:
            found["tests"][-1]["before"] = scores(test, origin.model).to_dict()
        write(receipt, found)  # at once, so that no evaluation goes unrecorded
    print(receipt)


def command_of(options: argparse.Namespace) -> list[str]:
    """The command that makes the model."""
    what = ["train"] if not options.teacher else ["distill", options.teacher]
    more = ["--keep-original"] if options.keep_original else []
    return [*what, str(options.recipe), "--out", str(options.out), *more]


def vitrail_command(*arguments: str) -> int:
    """Run `vitrail` and return its exit code. It handles Ctrl-C itself: it writes a checkpoint first."""
    with subprocess.Popen([sys.executable, "-m", "vitrail", *arguments]) as process:
        before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        while True:
            try:
                code = process.wait()
                signal.signal(signal.SIGTERM, before)
                return code
            except KeyboardInterrupt:
                continue


def write(receipt: Path, found: dict[str, Any]) -> None:
    write_text(receipt, json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def versions() -> dict[str, str]:
    known = {"vitrail": vitrail.__version__, "python": platform.python_version()}
    return known | {name: version(name) for name in LIBRARIES}


def commit() -> str | None:
    """The commit of this source, with `-dirty` if it has uncommitted changes; None if unknown."""
    source = Path(vitrail.__file__).parent
    try:
        head, changed = (
            subprocess.run(["git", "-C", str(source), *what], capture_output=True, text=True, check=True).stdout.strip()
            for what in (("rev-parse", "HEAD"), ("status", "--porcelain", "--", "."))
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}-dirty" if changed else head


def split(known: dict[str, Any], weights: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a receipt records about the model with these weights, and about earlier models."""
    earlier = known.get("earlier", [])
    if not known or weights in (known.get("weights"), *(test["weights"] for test in known["tests"])):
        return known, earlier
    kept = ("settings", "data", "versions", "machine", "training", "teacher", "started_from", "weights", "tests")
    return {}, [*earlier, {part: known[part] for part in kept if part in known}]


def files_to_learn_from(config: Config) -> list[str]:
    """The files that a recipe trains and validates on."""
    corpora = (*config.data.training_corpora(), *config.data.validation_corpora())
    return [path for corpus in corpora for path in (corpus.source, corpus.target, corpus.pairs) if path]


def machine(config: Config) -> dict[str, Any]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "threads": config.train.threads or torch.get_num_threads(),
        "system": platform.system(),
    }


def training(out: Path, known: dict[str, Any]) -> dict[str, Any]:
    """How long training took, how fast it was, and its validation curve. Memory is the peak of any process not killed.

    Times cover the steps and everything between them, but not preparing the data or the last validation.
    """
    unit = 1 if sys.platform == "darwin" else 1024  # bytes
    peak_mb = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e6)
    events = read_log(out / LOG)
    steps = [event for event in events if event["event"] == "step"]
    if not steps:
        raise SystemExit(f"{out / LOG} has no step: set train.log_every to max_steps or less")
    return {
        "steps": max(event["step"] for event in events if "step" in event),  # log_every may not divide max_steps
        "epochs": steps[-1]["epoch"],
        "minutes": round(total(steps, "seconds") / 60, 1),
        "tokens_per_second": steps[-1]["clock"]["tokens_per_second"],
        "seconds_in": {what: total(steps, what) for what in ("validation", "checkpoints") if what in steps[0]["clock"]},
        "peak_mb": max(peak_mb, known.get("training", {}).get("peak_mb", 0)),
        "validation": [
            {"step": event["step"], "minutes": round(total(up_to(steps, event["step"]), "seconds") / 60, 1)}
            | {key: round(event[key], 3) for key in ("loss", "bleu") if event[key] is not None}
            for event in events
            if event["event"] == "validation"
        ],
    }


def teacher_of(options: argparse.Namespace) -> dict[str, Any]:
    """Who the teacher was, how it translated and for how long, and how the student compares with it."""
    distilled = options.out / DISTILLED
    job = json.loads((distilled / "job.json").read_text(encoding="utf-8"))
    files = [file for file in distilled.glob("*.jsonl") if file.name != "log.jsonl"]
    sessions = [json.loads(line) for line in (distilled / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    seconds = sum(one["seconds"] for one in sessions) / max(1, sum(one["lines"] for one in sessions))  # for a line
    lines = sum(count_lines(file) for file in files)
    return {
        "model": job["teacher"],
        "weights": job["weights"],
        "decode": {name: job["decode"][name] for name in ("beam_size", "alpha", "penalty", "precision")},
        "keep_original": options.keep_original,
        "sentences": lines,
        "minutes": round(lines * seconds / 60, 1),  # at the pace of the sessions that were not killed
        "comparison": json.loads((distilled / TABLE).read_text(encoding="utf-8")),
    }


def up_to(steps: list[dict[str, Any]], last: int) -> list[dict[str, Any]]:
    return [step for step in steps if step["step"] <= last]


def total(steps: list[dict[str, Any]], what: str) -> float:
    """Seconds over all sessions of a run: whenever it resumes, its clock restarts at zero."""
    clocks = [step["clock"] for step in steps]
    began = [clock["time"] - clock["seconds"] for clock in clocks]
    last = [clock for clock, this, after in zip(clocks, began, [*began[1:], inf], strict=True) if after > this + 1]
    return round(sum(float(clock[what]) for clock in last), 1)


def tests_of(options: argparse.Namespace) -> list[dict[str, str]]:
    known: dict[str, list[dict[str, str]]] = tomllib.loads(options.tests.read_text(encoding="utf-8"))
    if options.recipe.stem not in known:
        sys.exit(f"{options.tests} has no test set for {options.recipe.stem}: add [[{options.recipe.stem}]]")
    tests = known[options.recipe.stem]
    missing = [path for test in tests for path in files_of(test) if not Path(path).exists()]
    if missing:  # fail now, not after hours of training
        sys.exit(f"the test set {missing[0]} is missing: recipes/README.md says where to get it")
    return tests


def files_of(test: dict[str, str]) -> list[str]:
    return [test[part] for part in ("source", "reference", "pairs") if part in test]


def evaluate(test: dict[str, str], out: Path, weights: str, decode: DecodeConfig) -> dict[str, Any]:
    """Translate a test set with the model's own settings, and score the result."""
    report = scores(test, out)
    print(report)
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
    files = {"sha256": {path: checksum(Path(path)) for path in files_of(test)}}
    settings = {"decode": {name: getattr(decode, name) for name in ("beam_size", "alpha", "penalty")}}
    return {"date": when, **test, **files, "weights": weights, "versions": versions(), **settings, **report.to_dict()}


def scores(test: dict[str, str], model: str | Path) -> Report:
    sources, references = read(test)
    translations = [done.text for done in vitrail.load(model).translate(sources, to=test.get("to"), on_unknown="skip")]
    return measure(translations, references, tokenize=test.get("tokenize", "13a"))


def read(test: dict[str, str]) -> tuple[list[str], list[str]]:
    """Read a test set from two files or one, with the fields of `vitrail evaluate`."""
    if "pairs" not in test:
        return read_aligned(Path(test["source"]), Path(test["reference"]))
    return read_pairs(
        Path(test["pairs"]), source_field=test.get("source_field"), target_field=test.get("reference_field")
    )


if __name__ == "__main__":
    try:
        main()
    except VitrailError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
