"""What each thing gives that makes training fast on a processor not of Intel's: steps in turns, on the same batches.

    python benchmarks/training_choices.py --size small

Each way adds one thing to the one before it: all by torch; numpy for attention to short sentences; numpy for the linear
layers and the loss as well; with the kernels that `vitrail train` chooses; with packed sentences, as it trains. Each
has a process of its own, and they take turns. The median of the ratios to the first in the same turn is what counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

WAYS = {  # numpy for attention, for all, its kernels chosen, sentences packed
    "torch": (False, False, False, False),
    "numpy for attention": (True, False, False, False),
    "numpy for all": (True, True, False, False),
    "and its kernels chosen": (True, True, True, False),
    "and sentences packed": (True, True, True, True),
}
BATCHES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("tiny", "small", "base"), default="small")
    parser.add_argument("--turns", type=int, default=12, help="steps of each way; by default 12")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--worker", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    seconds = compare(options)
    rows = [
        {
            "benchmark": "training_choices",
            "system": way,
            "size": options.size,
            "precision": options.precision,
            "milliseconds": round(1000 * median(found), 1),
            "times_as_fast": round(median(a / b for a, b in zip(seconds["torch"], found, strict=True)), 3),
        }
        for way, found in seconds.items()
    ]
    for row in rows:
        print(f"{row['system']}: {row['milliseconds']:,.0f} ms a step, {row['times_as_fast']:.2f} times as fast")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def compare(options: argparse.Namespace) -> dict[str, list[float]]:
    """The seconds of each way's steps."""
    command = [sys.executable, __file__, "--size", options.size, "--precision", options.precision]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    workers = {
        way: subprocess.Popen(
            [*command, "--worker", way], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for way in WAYS
    }
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(-BATCHES, options.turns):  # each batch once to warm up
        for way, worker in workers.items():
            assert worker.stdin and worker.stdout
            worker.stdin.write(f"{turn % BATCHES}\n")
            worker.stdin.flush()
            took = float(worker.stdout.readline())
            if turn >= 0:
                seconds[way].append(took)
    for worker in workers.values():
        worker.communicate()
    return seconds


def work(options: argparse.Namespace) -> None:
    """A worker's life: for every line with the number of a batch, a step, and a line with its seconds."""
    has_openblas, is_faster, chosen, packed = WAYS[options.worker]
    if chosen and options.precision == "float32":
        from vitrail.processor import choose_kernels

        choose_kernels()
    from training import make_batches
    from training_systems import Vitrail
    from vitrail.model import Transformer, multiply

    multiply.has_openblas = lambda: has_openblas  # type: ignore[assignment]
    multiply.is_faster = lambda: is_faster  # type: ignore[assignment]
    if not packed:
        Transformer.packs = lambda *_: False  # type: ignore[method-assign]
    system, batches = Vitrail(options.size), make_batches()[:BATCHES]
    system.gradients.precision = options.precision
    for line in sys.stdin:
        began = time.perf_counter()
        system.step(*batches[int(line)])
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
