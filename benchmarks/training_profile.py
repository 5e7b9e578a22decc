"""Where the time of a training step goes: Vitrail beside a plain torch.nn.Transformer loop, on one thread.

    python benchmarks/training_profile.py --size small

The same batches and systems as benchmarks/training.py. torch's profiler tells the time that every operation takes
itself; here they are added up by what they are for. What numpy does for Vitrail stands under the name of who asked for
it: multiplication, attention, dropout. What no operation accounts for is Python.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from training import make_batches
from training_systems import SYSTEMS, System

STEPS = 3
CHOSEN = ("torch.nn.Transformer", "vitrail")
# The first kind of which a part stands in an operation's name.
KINDS = {
    "attention": ("attention", "_Attend"),
    "matrix multiplication": ("mm", "linear", "_ByNumpy"),
    "softmax and loss": ("softmax", "nll_loss", "exp", "logsumexp", "amax", "gather", "scatter", "log"),
    "dropout": ("bernoulli", "dropout", "native_dropout", "_Drop"),
    "layer norm": ("layer_norm",),
    "activation": ("relu", "threshold", "gelu", "clamp"),
    "optimiser": ("adam", "Optimizer"),
    "embedding": ("embedding", "index"),
    "sums, for biases and norms": ("sum", "norm"),
    "copies": ("copy", "clone", "cat", "contiguous", "fill", "zero", "empty", "resize", "to", "split"),
    "additions and multiplications": ("add", "mul", "div", "sub", "neg"),
}
REST = "other operations"
PYTHON = "Python"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("small", "base"), default="small")
    parser.add_argument("--json", type=Path, help="write the milliseconds to this file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {name: measure(SYSTEMS[name](options.size)) for name in CHOSEN}
    print(f"| milliseconds of a step, {options.size}, one thread | {' | '.join(CHOSEN)} |\n|---|{'---|' * len(CHOSEN)}")
    for kind in (*KINDS, REST, PYTHON, "in all"):
        print(f"| {kind} | {' | '.join(f'{found[name][kind]:,.0f}' for name in CHOSEN)} |")
    if options.json:
        rows = [{"benchmark": "profile", "system": name, "size": options.size, **found[name]} for name in CHOSEN]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def measure(system: System) -> Counter[str]:
    """The milliseconds of a step, by kind: the profiler says how they divide, a run without it how many there are."""
    batches = make_batches()
    for batch in batches[:STEPS] * 2:  # memory is laid out
        system.step(*batch)
    seconds = []
    for batch in batches[:STEPS]:
        began = time.perf_counter()
        system.step(*batch)
        seconds.append(time.perf_counter() - began)
    every_thread = torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    with profile(activities=[ProfilerActivity.CPU], experimental_config=every_thread) as watched:
        began = time.perf_counter()
        for batch in batches[:STEPS]:
            system.step(*batch)
        watched_seconds = time.perf_counter() - began
    found: Counter[str] = Counter()
    events: Any = watched.key_averages()
    for event in events:
        found[kind_of(event.key)] += event.self_cpu_time_total / 1e6
    found[PYTHON] = max(0.0, watched_seconds - sum(found.values()))
    scale = 1000 * sum(seconds) / STEPS / watched_seconds
    for kind in found:
        found[kind] *= scale
    found["in all"] = sum(found.values())
    return found


def kind_of(operation: str) -> str:
    name = operation.removeprefix("aten::")
    return next((kind for kind, parts in KINDS.items() if any(part in name for part in parts)), REST)


if __name__ == "__main__":
    main()
