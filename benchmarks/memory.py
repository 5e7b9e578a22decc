"""How memory grows with the corpus: for several sizes, generate pairs, prepare them and read them once in batches.

Each size and phase runs in its own process, which reports its peak of private memory (RssAnon; memory-mapped files are
not counted, since they belong to the system's cache, which can be reclaimed). The slope between sizes is the memory
kept per pair: at most 16 bytes. Up to 500,000 pairs, the vocabulary is learnt from all of the text, so the slope is
only meaningful between larger sizes.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from vitrail.config import DataConfig
from vitrail.data import BatchStream, Position, Prepared, prepare

WORDS = 20_000
MOST_BYTES_PER_PAIR = 16
PHASES = ("prepare", "batches")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1_250_000, 2_500_000, 5_000_000])
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    # For the child processes: the corpus, and the phase to run.
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        print(json.dumps(measure(options.folder, options.phase, options.batch_tokens)))
        return
    results: list[dict[str, Any]] = []
    for pairs in options.pairs:
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder), pairs)
            for phase in PHASES:
                command = [sys.executable, __file__, "--folder", folder, "--phase", phase]
                command += ["--batch-tokens", str(options.batch_tokens)]
                found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                results.append({"benchmark": "memory", "phase": phase, "pairs": pairs, **found})
                peak, seconds = found["peak_bytes"] / 2**20, found["seconds"]
                print(f"{pairs:>10,} pairs, {phase}: {peak:7.1f} MiB at most, {seconds:.1f} s", flush=True)
    for phase in PHASES:
        own = [result for result in results if result["phase"] == phase]
        kept = slope(own)
        print(f"{phase}: {kept:.1f} bytes per additional pair; at most {MOST_BYTES_PER_PAIR} are allowed")
        results.append({"benchmark": "memory per pair", "phase": phase, "bytes_per_pair": kept})
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def generate(folder: Path, pairs: int) -> None:
    """Write cheap pairs: random words of a made-up language, with the same words reversed as the translation."""
    dice = random.Random(1)
    syllables = [first + vowel for first in "bcdfghjklmnprstvz" for vowel in "aeiou"]
    words = ["".join(dice.choices(syllables, k=dice.randint(1, 4))) for _ in range(WORDS)]
    with (folder / "a.src").open("w") as source, (folder / "a.tgt").open("w") as target:
        for _ in range(pairs):
            # A few words are frequent and most are rare, as in real languages.
            said = [words[int(WORDS * dice.random() ** 4)] for _ in range(dice.randint(4, 20))]
            source.write(" ".join(said) + "\n")
            target.write(" ".join(reversed(said)) + " x\n")


def measure(folder: Path, phase: str, batch_tokens: int) -> dict[str, int | float]:
    """Prepare the corpus, or read the prepared data once; return the peak memory and the seconds it took."""
    with Peak() as peak:
        if phase == "prepare":
            config = DataConfig(source=str(folder / "a.src"), target=str(folder / "a.tgt"))
            prepare(config, folder / "data", seed=1)
        else:
            read_once(Prepared.open(folder / "data"), batch_tokens)
    return {"peak_bytes": peak.bytes, "seconds": peak.seconds}


def read_once(prepared: Prepared, batch_tokens: int) -> None:
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=batch_tokens, seed=1)
    for position, _ in stream.from_position(Position()):
        if position.epoch == 1:
            return


class Peak:
    """Tracks this process's private memory during a block."""

    def __enter__(self) -> Peak:
        self.bytes, self._start, self._done = own_memory(), time.perf_counter(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self.bytes = max(self.bytes, own_memory())


def own_memory() -> int:
    """Bytes of memory not backed by a file."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


def slope(results: list[dict[str, Any]]) -> float:
    """Bytes per additional pair, from the first corpus to the last."""
    first, last = results[0], results[-1]
    return float((last["peak_bytes"] - first["peak_bytes"]) / max(1, last["pairs"] - first["pairs"]))


if __name__ == "__main__":
    main()
