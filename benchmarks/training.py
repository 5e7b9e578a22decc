"""Training speed: Vitrail beside its peers, in one run, on the same batches.

    python benchmarks/training.py --size small --json small.json

Every system lives in a process of its own. They take turns in short rounds, one at a time, because the machine's speed
drifts; what counts is the median over the rounds of the ratio to Vitrail in the same round. In every round the peak of
a matrix multiplication is measured too: utilisation is the arithmetic that the model needs, padding not counted,
divided by that peak. The paper drops out on embeddings and on what sub-layers add, and so do Vitrail and Marian by
their own settings; torch's layers drop attention weights and hidden values as well. There are rows for both, so that
like can be compared with like, and one for torch's layers with all that can be lent to them: that dropout, and an
allocator that keeps its memory. Marian needs `pip install -e ".[benchmarks]"`; without it, it is skipped.

`--against ../before` adds another checkout of Vitrail, to compare two commits:

    git worktree add ../before COMMIT
    python benchmarks/training.py --size small --systems vitrail --against ../before
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from vitrail.config import PRESETS
from vitrail.data.packing import pack
from vitrail.text import PAD

HERE = Path(__file__)
TOKENS = 4096  # target tokens of a batch, about
BATCHES = 12
ROUNDS, STEPS = {"small": 7, "base": 5}, {"small": 3, "base": 1}  # a step of base takes ten seconds
BEFORE = "vitrail, the other checkout"
SYSTEMS = (
    "vitrail",
    "vitrail, dropout everywhere",
    "torch.nn.Transformer",
    "torch.nn.Transformer, the paper's dropout",
    "torch.nn.Transformer, the paper's dropout, memory kept",
    "torch.nn.Transformer, compiled",
    "MarianMTModel",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=("small", "base"), default="small")
    parser.add_argument("--rounds", type=int, help=f"by default {ROUNDS}")
    parser.add_argument("--steps", type=int, help=f"steps of every system in a round; by default {STEPS}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--against", type=Path, help="another checkout of Vitrail to compare with")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--batches", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rounds, options.steps = options.rounds or ROUNDS[options.size], options.steps or STEPS[options.size]
    if options.worker:
        work(options)
        return
    rows = compare(options)
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def compare(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Let the systems take turns."""
    chosen = options.systems
    if "MarianMTModel" in chosen and not importlib.util.find_spec("transformers"):
        print('MarianMTModel is skipped: it needs pip install -e ".[benchmarks]"', flush=True)
        chosen = [name for name in chosen if name != "MarianMTModel"]
    with tempfile.TemporaryDirectory() as folder:
        batches = Path(folder) / "batches.npz"
        np.savez(batches, *(side for pair in make_batches() for side in pair))
        workers = {name: Worker(name, HERE, options, batches) for name in (*chosen, "peak")}
        if options.against:
            chosen = [*chosen, BEFORE]
            workers[BEFORE] = Worker("vitrail", options.against.resolve() / "benchmarks" / HERE.name, options, batches)
        for worker in workers.values():  # code is compiled and memory laid out: for all shapes, where all will come
            worker.run(min(BATCHES, options.rounds * options.steps))
        rounds: list[dict[str, dict[str, float]]] = []
        for number in range(options.rounds):
            found = {name: worker.run(options.steps) for name, worker in workers.items()}
            rounds.append(found)
            print(summary(number + 1, found), flush=True)
        for worker in workers.values():
            worker.close()
    return [row(name, options.size, rounds) for name in chosen]


def row(name: str, size: str, rounds: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    return {
        "benchmark": "training",
        "system": name,
        "size": size,
        "tokens_per_second": round(median(found[name]["tokens_per_second"] for found in rounds), 1),
        "vitrail_is": round(
            median(found["vitrail"]["tokens_per_second"] / found[name]["tokens_per_second"] for found in rounds), 3
        )
        if "vitrail" in rounds[0]
        else None,
        "utilisation": round(
            median(found[name]["flops_per_second"] / found["peak"]["flops_per_second"] for found in rounds), 3
        ),
        "peak_gflops": round(median(found["peak"]["flops_per_second"] for found in rounds) / 1e9, 1),
        "peak_mb": round(max(found[name]["peak_mb"] for found in rounds), 1),
        "rounds": [round(found[name]["tokens_per_second"], 1) for found in rounds],
    }


class Worker:
    """A system in a process of its own, which waits until it is its turn."""

    def __init__(self, name: str, script: Path, options: argparse.Namespace, batches: Path) -> None:
        self.name = name
        command = [sys.executable, str(script), "--worker", name, "--size", options.size, "--batches", str(batches)]
        source = script.resolve().parents[1] / "src"
        environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads), "PYTHONPATH": str(source)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, steps: int) -> dict[str, float]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with code {self.process.wait()}: leave it out with --systems")
        answer: dict[str, float] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def work(options: argparse.Namespace) -> None:
    """A worker's life: for every line with a number, so many steps, and a line with what was measured."""
    if options.worker == "peak":
        for _ in sys.stdin:
            print(json.dumps({"flops_per_second": measure_peak()}), flush=True)
        return
    from training_systems import SYSTEMS as KNOWN

    with np.load(options.batches) as stored:
        sides = [stored[name] for name in stored.files]
    batches = list(zip(sides[::2], sides[1::2], strict=True))
    system, at, is_warm = KNOWN[options.worker](options.size), 0, False
    for line in sys.stdin:
        tokens, flops, began = 0, 0.0, time.perf_counter()
        for _ in range(int(line)):
            source_BS, target_BT = batches[at % len(batches)]
            at += 1
            system.step(source_BS, target_BT)
            tokens += int(np.count_nonzero(target_BT != PAD))
            flops += needed_flops(options.size, source_BS, target_BT)
        seconds = time.perf_counter() - began
        unit = 1 if sys.platform == "darwin" else 1024  # bytes
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
        found = {"tokens_per_second": tokens / seconds, "flops_per_second": flops / seconds, "peak_mb": used}
        print(json.dumps(found), flush=True)
        if not is_warm:  # what it has just seen is what is measured
            is_warm, at = True, 0


def make_batches() -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Random ids with the lengths of everyday sentences (Multi30k's: 13 tokens, give or take 5), bucketed by length."""
    random = np.random.default_rng(7)
    count = 2 * BATCHES * TOKENS // 13
    target_N = np.clip(random.gamma(7.0, 2.0, count).round().astype(np.int64), 3, 60)
    source_N = np.clip(target_N + random.normal(0, 1.5, count).round().astype(np.int64), 3, 60)
    packed = pack(source_N, target_N, TOKENS)
    chosen = [packed[n] for n in random.permutation(len(packed))[:BATCHES]]
    return [(_rows(random, source_N[rows]), _rows(random, target_N[rows])) for rows in chosen]


def _rows(random: np.random.Generator, lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    ids = random.integers(10, 8000, (len(lengths), int(lengths.max())))
    return np.where(np.arange(ids.shape[1]) < lengths[:, None], ids, PAD)


def needed_flops(size: str, source_BS: np.ndarray[Any, Any], target_BT: np.ndarray[Any, Any]) -> float:
    """The multiplications and additions of one step: 2 for each weight and token forwards, 4 backwards.

    Attention adds, forwards, 2·d for each query and key for the scores and 2·d for z, where a position is looked at.
    """
    shape = PRESETS[size]
    d, f = shape["d_model"], shape["d_ff"]
    s_B, t_B = (np.count_nonzero(side != PAD, axis=1).astype(float) for side in (source_BS, target_BT))
    s, t, encoders, decoders = s_B.sum(), t_B.sum(), shape["encoder_layers"], shape["decoder_layers"]
    weights = encoders * s * (4 * d * d + 2 * d * f)
    weights += decoders * (t * (6 * d * d + 2 * d * f) + s * 2 * d * d)
    weights += t * 8000 * d
    looks = encoders * (s_B**2).sum() + decoders * ((t_B * (t_B + 1) / 2).sum() + (s_B * t_B).sum())
    return float(3 * (2 * weights + 4 * d * looks))


def measure_peak() -> float:
    """The best of a few float32 multiplications of 2,048 × 2,048 numbers, by MKL or by oneDNN: torch has both."""
    import torch

    def by_onednn(a: Any, b: Any) -> Any:
        return torch.ops.mkldnn._linear_pointwise(a, b, None, "none", [], "")

    a, b = torch.randn(2, 2048, 2048)
    best = float("inf")
    ways = (torch.mm, by_onednn) if torch.backends.mkldnn.is_available() else (torch.mm,)
    for multiply in ways * 3:
        began = time.perf_counter()
        multiply(a, b)
        best = min(best, time.perf_counter() - began)
    return 2 * 2048**3 / best


def summary(number: int, found: dict[str, dict[str, float]]) -> str:
    speeds = [f"{name} {one['tokens_per_second']:,.0f}" for name, one in found.items() if name != "peak"]
    return f"round {number}: {', '.join(speeds)}; peak {found['peak']['flops_per_second'] / 1e9:.0f} GFLOP/s"


def print_table(rows: list[dict[str, Any]]) -> None:
    print("\n| system | target tokens/s | Vitrail is | utilisation | peak memory |\n|---|---|---|---|---|")
    for one in rows:
        ratio = f"{one['vitrail_is']:.2f} times" if one["vitrail_is"] else ""
        print(
            f"| {one['system']} | {one['tokens_per_second']:,.0f} | {ratio} | {one['utilisation']:.0%} "
            f"| {one['peak_mb']:,.0f} MB |"
        )


if __name__ == "__main__":
    main()
