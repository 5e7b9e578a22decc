"""Compare a recipe's training speed in float32 and bf16, in turns, on its own batches.

    python benchmarks/precision.py recipes/multi30k-en-de.toml

Batches vary in shape, as in a real run. The result is the median ratio of neighbouring rounds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from vitrail.train.memory import keep_memory

keep_memory()  # before torch first allocates

import torch  # noqa: E402

from vitrail.config import Config, load_config  # noqa: E402
from vitrail.data import Batch, BatchStream, Position, Prepared, prepare  # noqa: E402
from vitrail.model import Transformer  # noqa: E402
from vitrail.train.device import make_scaler  # noqa: E402
from vitrail.train.gradients import Gradients  # noqa: E402
from vitrail.train.learner import Learner  # noqa: E402
from vitrail.train.optimizer import make_optimizer, set_rate  # noqa: E402
from vitrail.train.peers import ALONE  # noqa: E402

PRECISIONS = ("float32", "bf16")
RATE = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=10, help="steps of each precision in a round")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config = load_config(options.recipe, given={}, overrides=[])
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(config.data, Path(folder) / "data", seed=config.train.seed)
        learning = {name: Learning(config, prepared, name) for name in PRECISIONS}
        speeds: dict[str, list[float]] = {name: [] for name in PRECISIONS}
        for number in range(options.rounds + 1):
            for name, one in learning.items():
                speed = one.run(options.steps)
                if number:  # the first round is a warm-up
                    speeds[name].append(speed)
    ratio = median(half / whole for whole, half in zip(speeds["float32"], speeds["bf16"], strict=True))
    for name, found in speeds.items():
        print(f"{name}: {median(found):,.0f} target tokens/s ({', '.join(f'{speed:,.0f}' for speed in found)})")
    print(f"bf16 is {ratio:.2f} times as fast")
    if options.json:
        rows = [
            {
                "benchmark": "precision",
                "system": name,
                "recipe": options.recipe.name,
                "tokens_per_second": median(found),
            }
            for name, found in speeds.items()
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


class Learning:
    """The recipe's model, trained in one precision."""

    def __init__(self, config: Config, prepared: Prepared, precision: str) -> None:
        train = config.train.model_copy(update={"precision": precision})
        torch.manual_seed(train.seed)
        sizes = prepared.tokenizers.source.size, prepared.tokenizers.target.size
        model, cpu = Transformer(config.model, *sizes).train(), torch.device("cpu")
        self.optimizer = make_optimizer(model, train)
        set_rate(self.optimizer, RATE)
        learner = Learner(model, self.optimizer, make_scaler(cpu, precision), average=None, device=cpu)
        self.gradients = Gradients(learner, ALONE, precision=precision, smoothing=train.label_smoothing)
        assert train.batch_tokens != "auto"
        stream = BatchStream(prepared.train, prepared.weights, batch_tokens=train.batch_tokens, seed=train.seed)
        self.batches: Iterator[tuple[Position, Batch]] = stream.from_position(Position())

    def run(self, steps: int) -> float:
        """Target tokens per second over this many steps."""
        tokens, seconds = 0, 0.0
        for _ in range(steps):
            _, batch = next(self.batches)
            began = time.perf_counter()
            self.optimizer.zero_grad(set_to_none=True)
            self.gradients.fill([batch], batch.target_tokens)
            self.optimizer.step()
            seconds += time.perf_counter() - began
            tokens += batch.target_tokens
        return tokens / seconds


if __name__ == "__main__":
    main()
