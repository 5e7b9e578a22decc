"""Decoding speed: Vitrail beside CTranslate2 used by hand and Hugging Face's `generate`, with the same weights.

    python benchmarks/decoding.py --size small --json small.json
    python benchmarks/decoding.py --size base --sentences 200 --json base.json

Every system translates the same file in a process of its own, and they take turns: what counts is the median over the
rounds of the ratio to CTranslate2 by hand in the same round. That is `decoding_by_hand.py`, at the best of a sweep of
replicas, threads and batch sizes, which is printed. `vitrail` is what a user gets: lines in, lines out; `vitrail
shortlist` is the same with `--shortlist`, which the model must have. Loading is not counted in the throughput but in
`first_translation_s`: from typing `vitrail translate MODEL "…"` to its end.

Tests, all from French to English: Tatoeba, Multi30k's test 2016, and 100 texts of at least 100 tokens, made of
consecutive sentences of the first. The model is the built-in one, or for `--size base` the same widened to the paper's
base model (base_model.py), or the one that `--model` names. `--busy` measures latency once more while another process
runs on every core.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from gzip import open as gzip_open
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import sacrebleu

from base_model import base_model
from vitrail.box import model_path
from vitrail.folder import ModelFolder
from vitrail.runtime.convert import convert

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "shared" / "data"
BY_HAND = "ctranslate2 by hand"
SYSTEMS = ("vitrail", "vitrail shortlist", "vitrail torch", BY_HAND, "transformers")
BY_CTRANSLATE2 = ("vitrail", "vitrail shortlist", BY_HAND)  # they compute in int8 too
SWEEP = [(2, 1, 16), (2, 1, 32), (2, 1, 64), (2, 1, 128), (1, 2, 32), (1, 2, 64), (1, 1, 32)]
SEARCHES = {"greedy": 1, "beam 4": 4}
TESTS = ("tatoeba", "multi30k", "long")


@dataclass(frozen=True)
class Test:
    """Sentences to translate with a model."""

    name: str
    model: str
    to: str | None
    sources: list[str]
    references: list[str] | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("small", "base"), default="small", help="what the rows are named after")
    parser.add_argument("--model", help="a model that translates French into English")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--tests", nargs="+", choices=TESTS, default=list(TESTS))
    parser.add_argument("--searches", nargs="+", choices=SEARCHES, default=list(SEARCHES))
    parser.add_argument("--precisions", nargs="+", choices=("float32", "int8"), default=["float32", "int8"])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--singly", type=int, default=100, help="sentences to translate one at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", action="store_true", help="measure latency with another process on every core too")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        options.model = options.model or ("builtin" if options.size == "small" else str(Path(folder) / "base"))
        if not Path(options.model).exists() and options.size == "base":
            base_model(Path(options.model))
        for test in tests(options):
            for precision in options.precisions:
                for search in options.searches:
                    found = Contest(test, precision, search, options, Path(folder)).run()
                    rows += found
                    print_table(found)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def tests(options: argparse.Namespace) -> Iterator[Test]:
    """The tests that were asked for."""
    to = "en" if ModelFolder.open(model_path(options.model)).tokenizers.languages else None
    with gzip_open(DATA / "tatoeba-fr-en" / "test.tsv.gz", "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in file]
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    few = slice(options.sentences)
    if "tatoeba" in options.tests:
        yield Test("tatoeba", options.model, to, sources[few], references[few])
    if "multi30k" in options.tests:
        sides = []
        for language in ("fr", "en"):
            with gzip_open(DATA / "multi30k" / f"test_2016_flickr.{language}.gz", "rt", encoding="utf-8") as file:
                sides.append(file.read().splitlines()[few])
        yield Test("multi30k", options.model, to, *sides)
    if "long" in options.tests:
        yield long_texts(options.model, to, sources)


def long_texts(model: str, to: str | None, sentences: list[str]) -> Test:
    """100 texts of 100 tokens and more."""
    words, sources, text = ModelFolder.open(model_path(model)).tokenizers, [], ""
    for sentence in cycle(sentences):
        text = f"{text} {sentence}".strip()
        if len(words.source.encode(text)) >= 100:
            sources.append(text)
            text = ""
        if len(sources) == 100:
            return Test("long", model, to, sources, None)
    raise AssertionError("there are no sentences")


class Contest:
    """One test, precision and search: every system translates it in turn."""

    def __init__(
        self, test: Test, precision: str, search: str, options: argparse.Namespace, folder: Path
    ) -> None:  # fmt: skip
        self.test, self.precision, self.search, self.options = test, precision, search, options
        self.input, self.output = folder / "input", folder / "output"
        self.input.write_text("".join(f"{line}\n" for line in test.sources), encoding="utf-8")
        self.model = ModelFolder.open(model_path(test.model))
        self.converted = folder / f"{test.name}-{precision}"
        if not self.converted.exists():
            self.converted.mkdir()
            convert(self.model, precision=precision, out=self.converted)
        self.best = SWEEP[1]

    def run(self) -> list[dict[str, Any]]:
        """The rows of all systems."""
        systems = [name for name in self.options.systems if self.precision == "float32" or name in BY_CTRANSLATE2]
        print(f"\n{self.test.name}, {self.precision}, {self.search}:", flush=True)
        self._sweep()
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in systems}
        for _ in range(self.options.rounds):
            for name in systems:
                turns[name].append(self.translate(name))
        return [self._row(name, turns) for name in systems]

    def _sweep(self) -> None:
        found = {}
        for setting in SWEEP:
            replicas, threads, batch = setting
            found[setting] = self._rate(self.translate(BY_HAND, setting=setting, singly=0))
            print(
                f"  {BY_HAND}: {replicas} replicas of {threads} threads, batches of {batch}: {found[setting]:,.0f}/s",
                flush=True,
            )
        self.best = max(found, key=lambda setting: found[setting])

    def translate(
        self, name: str, *, setting: tuple[int, int, int] | None = None, singly: int | None = None
    ) -> dict[str, Any]:
        """What one system measures about itself, in a process of its own."""
        beam, singly = SEARCHES[self.search], self.options.singly if singly is None else singly
        if name == BY_HAND:
            replicas, threads, batch = setting or self.best
            vocabulary = self.model.path / "tokenizer" / "subwords.model"
            language = [] if self.test.to is None else [self.model.tokenizers.language_id(self.test.to)]
            command = [HERE / "decoding_by_hand.py", self.converted, vocabulary, self.input, self.output]
            command += ["--language", *language, "--replicas", replicas, "--threads", threads, "--batch", batch]
        else:
            command = [HERE / "decoding_systems.py", name, self.test.model, self.input, self.output]
            command += ["--to", self.test.to] if self.test.to else []
        command += ["--beam", beam, "--precision", self.precision, "--singly", singly]
        done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name} failed:\n{done.stderr}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        found["texts"] = self.output.read_text(encoding="utf-8").splitlines()
        if name == "vitrail" and self.options.busy:
            with busy_cores():
                found["busy"] = self._again_for_latency(command)
        return found

    def _again_for_latency(self, command: list[Any]) -> list[float]:
        done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=True)
        return list(json.loads(done.stdout.splitlines()[-1])["latencies"])

    def _rate(self, turn: dict[str, Any]) -> float:
        return len(self.test.sources) / float(turn["seconds"])

    def _row(self, name: str, turns: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        mine, hand = turns[name], turns.get(BY_HAND, turns[name])
        latencies = [value * 1000 for turn in mine for value in turn["latencies"]]
        row: dict[str, Any] = {
            "system": name,
            "size": self.options.size,
            "test": self.test.name,
            "model": Path(self.test.model).name,
            "search": self.search,
            "precision": self.precision,
            "sentences_per_second": median(map(self._rate, mine)),
            "tokens_per_second": median(turn["tokens"] / turn["seconds"] for turn in mine),
            "latency_ms": {"median": median(latencies), "p95": quantiles(latencies, n=20)[-1]},
            "first_translation_s": self._first(name),
            "peak_mb": median(turn["peak_mb"] for turn in mine),
            "times_by_hand": median(self._rate(one) / self._rate(two) for one, two in zip(mine, hand, strict=True)),
            "latency_by_hand": median(
                median(one["latencies"]) / median(two["latencies"]) for one, two in zip(mine, hand, strict=True)
            ),
            "same_texts": sum(
                one == two
                for one, two in zip(mine[0]["texts"], turns[self.options.systems[0]][0]["texts"], strict=True)
            ),
            "bleu": None,
        }
        if self.test.references is not None:
            row["bleu"] = sacrebleu.corpus_bleu(mine[0]["texts"], [self.test.references]).score
        if mine[0].get("busy"):
            row["busy_latency_ms"] = median(value * 1000 for turn in mine for value in turn["busy"])
        return row

    def _first(self, name: str) -> float | None:
        """Seconds from the start of a process to its end, for one sentence."""
        if not name.startswith("vitrail"):
            return None
        command = [sys.executable, "-m", "vitrail", "translate", self.test.model, self.test.sources[0]]
        command += ["--beam-size", str(SEARCHES[self.search]), "--precision", self.precision]
        command += ["--to", self.test.to] if self.test.to else []
        command += {"vitrail torch": ["--engine", "torch"], "vitrail shortlist": ["--shortlist"]}.get(name, [])
        seconds = []
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            seconds.append(time.perf_counter() - started)
        return median(seconds)


@contextmanager
def busy_cores() -> Iterator[None]:
    """Another process on every core."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def print_table(rows: list[dict[str, Any]]) -> None:
    print("\n| system | sentences/s | times by hand | latency: median / p95 | times | first | peak | BLEU | same |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        latency, first, bleu = row["latency_ms"], row["first_translation_s"], row["bleu"]
        busy = f", busy {row['busy_latency_ms']:.1f}" if "busy_latency_ms" in row else ""
        cells = [
            row["system"],
            f"{row['sentences_per_second']:,.0f}",
            f"{row['times_by_hand']:.2f}",
            f"{latency['median']:.1f} / {latency['p95']:.1f} ms{busy}",
            f"{row['latency_by_hand']:.2f}",
            "" if first is None else f"{first:.2f} s",
            f"{row['peak_mb']:,.0f} MB",
            "" if bleu is None else f"{bleu:.1f}",
            f"{row['same_texts']:,}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
