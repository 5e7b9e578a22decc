"""Run a recipe from its data to its test score, and write down all of it beside the recipe.

    python recipes/receipt.py recipes/multi30k-en-de.toml --out runs/multi30k-en-de

The receipt, `multi30k-en-de.receipt.json`, holds the data's hashes, the settings, versions, the commit that trained,
the machine, the minutes, the curve on the validation set, and every evaluation on a test set that was ever made for
the recipe: those of models that another version of it had, under "earlier". Test sets are in tests.toml. A run that
was stopped goes on; one that is finished is only evaluated. With `--no-tests` nothing is evaluated yet: [decode] can
be chosen on the validation set first, and the same command without it does the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

import vitrail
from vitrail.config import Config, DecodeConfig, load_config
from vitrail.data import read_aligned, read_pairs
from vitrail.errors import VitrailError
from vitrail.evaluate import measure
from vitrail.storage import checksum, write_text
from vitrail.train.log import LOG

TESTS = Path(__file__).with_name("tests.toml")
LIBRARIES = ("torch", "numpy", "sentencepiece", "sacrebleu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the run's folder")
    parser.add_argument("--tests", type=Path, default=TESTS, help="which test sets belong to which recipe")
    parser.add_argument("--no-tests", action="store_true", help="train, and leave the test sets alone")
    options = parser.parse_args()
    config = load_config(options.recipe, given={}, overrides=[])
    tests = tests_of(options)
    receipt = options.recipe.with_suffix(".receipt.json")
    known = json.loads(receipt.read_text()) if receipt.exists() else {}
    began_at = None if options.out.exists() else commit()  # who began it otherwise is not known
    done = subprocess.run([sys.executable, "-m", "vitrail", "train", options.recipe, "--out", options.out], check=False)
    if done.returncode:
        sys.exit(done.returncode)  # it has said why
    weights = checksum(options.out / "model.safetensors")
    same, earlier = split(known, weights)
    found = {
        "recipe": options.recipe.name,
        "settings": config.model_dump(mode="json", exclude_none=True),
        "data": {path: checksum(Path(path)) for path in files(config)},
        "versions": {"vitrail": vitrail.__version__, "python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
        "machine": machine(config),
        "training": {"commit": same["training"].get("commit") if same else began_at} | training(options.out, same),
        "weights": weights,
        "tests": [
            *same.get("tests", []),
            *([] if options.no_tests else evaluate(tests, options.out, weights, config.decode)),
        ],
        "earlier": earlier,
    }
    write_text(receipt, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(receipt)


def commit() -> str | None:
    """The commit that this source is of, with `-dirty` where it was changed since; None where nobody knows."""
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
    """What a receipt knows of the model with these weights, and what it knows of those before it."""
    earlier = known.get("earlier", [])
    if not known or weights in (known.get("weights"), *(test["weights"] for test in known["tests"])):
        return known, earlier
    return {}, [*earlier, {part: known[part] for part in ("settings", "versions", "machine", "training", "tests")}]


def files(config: Config) -> list[str]:
    """The files that a recipe learns from and looks at."""
    corpora = (*config.data.training_corpora(), *config.data.validation_corpora())
    return [path for corpus in corpora for path in (corpus.source, corpus.target, corpus.pairs) if path]


def machine(config: Config) -> dict[str, Any]:
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "threads": config.train.threads or torch.get_num_threads(),
        "system": platform.system(),
    }


def training(out: Path, known: dict[str, Any]) -> dict[str, Any]:
    """How long it took, how fast it went, and how it got better. Memory is the most of any process that was not killed.

    Times are those of the steps and of all that was done between them: not of preparing the data, nor of the last look.
    """
    peak_mb = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6)
    events = [json.loads(line) for line in _lines(out / LOG)]
    steps = [event for event in events if event["event"] == "step"]
    if not steps:
        raise SystemExit(f"{out / LOG} has no step: set train.log_every to max_steps or less")
    return {
        "steps": steps[-1]["step"],
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


def up_to(steps: list[dict[str, Any]], last: int) -> list[dict[str, Any]]:
    return [step for step in steps if step["step"] <= last]


def total(steps: list[dict[str, Any]], what: str) -> float:
    """Seconds of all the times that the run went on: the clock begins anew with each."""
    clocks = [step["clock"] for step in steps]
    last = [now for now, after in pairwise([*clocks, {"seconds": -1.0}]) if after["seconds"] < now["seconds"]]
    return round(sum(clock[what] for clock in last), 1)


def tests_of(options: argparse.Namespace) -> list[dict[str, str]]:
    known: dict[str, list[dict[str, str]]] = tomllib.loads(options.tests.read_text(encoding="utf-8"))
    if options.recipe.stem not in known:
        sys.exit(f"{options.tests} has no test set for {options.recipe.stem}: add [[{options.recipe.stem}]]")
    tests = known[options.recipe.stem]
    missing = [path for test in tests for path in map(test.get, ("source", "reference", "pairs")) if path]
    missing = [path for path in missing if not Path(path).exists()]
    if missing:  # now, not after two hours
        sys.exit(f"the test set {missing[0]} is not there: see recipes/README.md for where it comes from")
    return tests


def evaluate(tests: list[dict[str, str]], out: Path, weights: str, decode: DecodeConfig) -> list[dict[str, Any]]:
    """Test sets, translated with the model's own settings."""
    found = []
    translator = vitrail.load(out)
    for test in tests:
        sources, references = read(test)
        translations = [done.text for done in translator.translate(sources, to=test.get("to"))]
        report = measure(translations, references, tokenize=test.get("tokenize", "13a"))
        print(report)
        when = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
        settings = {"decode": {name: getattr(decode, name) for name in ("beam_size", "alpha", "penalty")}}
        found.append({"date": when, **test, "weights": weights, **settings, **report.to_dict()})
    return found


def read(test: dict[str, str]) -> tuple[list[str], list[str]]:
    """A test set, from two files or one; fields as `vitrail evaluate` has them."""
    if "pairs" not in test:
        return read_aligned(Path(test["source"]), Path(test["reference"]))
    return read_pairs(
        Path(test["pairs"]), source_field=test.get("source_field"), target_field=test.get("reference_field")
    )


def _lines(path: str | Path) -> list[str]:
    path = Path(path)
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    try:
        main()
    except VitrailError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
