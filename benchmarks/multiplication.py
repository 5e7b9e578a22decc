"""Training steps by torch's multiplication and by numpy's, in turns, on the same batches.

    python benchmarks/multiplication.py --size small

Three ways: all by torch; numpy for attention to short sentences; numpy for the linear layers and the loss as well, as
on processors that are not Intel's. The median of the ratios in the same turn is what counts.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from statistics import median

WAYS = {"torch": (False, False), "numpy for attention": (True, False), "numpy for all": (True, True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("tiny", "small", "base"), default="small")
    parser.add_argument("--turns", type=int, default=12, help="steps of each way; by default 12")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # torch reads it when it is imported

    from training import make_batches
    from training_systems import Vitrail
    from vitrail.model import multiply

    systems = {way: Vitrail(options.size) for way in WAYS}
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    batches = make_batches()[:4]
    for turn in range(-len(batches), options.turns):  # each batch once to warm up
        for way, (has_openblas, is_faster) in WAYS.items():
            multiply.has_openblas = lambda value=has_openblas: value  # type: ignore[assignment]
            multiply.is_faster = lambda value=is_faster: value  # type: ignore[assignment]
            systems[way].gradients.precision = options.precision
            began = time.perf_counter()
            systems[way].step(*batches[turn % len(batches)])
            if turn >= 0:
                seconds[way].append(time.perf_counter() - began)
    rows = [
        {
            "benchmark": "multiplication",
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


if __name__ == "__main__":
    main()
