"""What each mechanism of `fast/` and `train/` gives by itself: whole training steps in turns, on the same batches.

    python benchmarks/training_choices.py --size small

Every row is Vitrail without one mechanism, in a process of its own. The rows take turns, because the speed of the
machine drifts. What counts is the median, over the turns, of the ratio to Vitrail as it is in the same turn; the range
beside it holds half of the turns. A mechanism that gives less than 3 % on `small` and on `base` is not worth its code.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

BATCHES = 4
AS_IT_IS = "as it is"


def without_packing() -> None:
    from vitrail.fast import twin

    twin.has_openblas = lambda: False


def without_numpy() -> None:
    from vitrail.fast import twin

    twin.numpy_is_faster = lambda: False


def without_cheap_masks() -> None:
    from torch import nn

    from vitrail.fast import twin

    twin.Dropout = lambda share, _masks: nn.Dropout(share)  # type: ignore[assignment, misc]


def without_shares() -> None:
    from vitrail.train.side_by_side import SideBySide

    SideBySide.shares = lambda *_: 1  # type: ignore[method-assign]


def without_kept_memory() -> None:
    import training_systems

    training_systems.keep_memory = lambda: None


WITHOUT: dict[str, Callable[[], None]] = {
    AS_IT_IS: lambda: None,
    "without a thread for each share of a batch": without_shares,
    "without numpy's products": without_numpy,
    "without packed sentences": without_packing,
    "without cheap masks": without_cheap_masks,
    "without kept memory": without_kept_memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("tiny", "small", "base"), default="small")
    parser.add_argument("--turns", type=int, default=24, help="steps of each row; by default 24")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    parser.add_argument("--rows", nargs="+", choices=list(WITHOUT)[1:], default=list(WITHOUT)[1:])
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--worker", choices=WITHOUT, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    seconds = compare(options)
    rows = [row(name, found, seconds[AS_IT_IS], options) for name, found in seconds.items()]
    print(f"| {options.size}, {options.precision} | milliseconds of a step | times as long | half of the turns |")
    print("|---|---|---|---|")
    for one in rows:
        low, high = one["half_of_the_turns"]
        print(
            f"| {one['system']} | {one['milliseconds']:,.0f} | {one['times_as_long']:.3f} | {low:.3f} to {high:.3f} |"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def row(name: str, found: list[float], as_it_is: list[float], options: argparse.Namespace) -> dict[str, Any]:
    ratios = [a / b for a, b in zip(found, as_it_is, strict=True)]
    low, _, high = quantiles(ratios, n=4)
    return {
        "benchmark": "training_choices",
        "system": name,
        "size": options.size,
        "precision": options.precision,
        "threads": options.threads,
        "milliseconds": round(1000 * median(found), 1),
        "times_as_long": round(median(ratios), 4),
        "half_of_the_turns": [round(low, 4), round(high, 4)],
    }


def compare(options: argparse.Namespace) -> dict[str, list[float]]:
    """The seconds of each row's steps. In every turn the rows come in another order."""
    command = [sys.executable, __file__, "--size", options.size, "--precision", options.precision]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    names = [AS_IT_IS, *options.rows]
    workers = {
        name: subprocess.Popen(
            [*command, "--worker", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for name in names
    }
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-BATCHES, options.turns):  # each batch once to warm up
        for name in random.Random(turn).sample(names, len(names)):
            worker = workers[name]
            assert worker.stdin and worker.stdout
            worker.stdin.write(f"{turn % BATCHES}\n")
            worker.stdin.flush()
            took = float(worker.stdout.readline())
            if turn >= 0:
                seconds[name].append(took)
    for worker in workers.values():
        worker.communicate()
    return seconds


def work(options: argparse.Namespace) -> None:
    """A worker's life: for every line with the number of a batch, a step, and a line with its seconds."""
    WITHOUT[options.worker]()
    from training import make_batches
    from training_systems import Vitrail

    system, batches = Vitrail(options.size, precision=options.precision), make_batches()[:BATCHES]
    for line in sys.stdin:
        began = time.perf_counter()
        system.step(*batches[int(line)])
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main()
