"""The cost of checkpoints: the seconds to write one, compared with the minutes between two.

    python benchmarks/checkpoints.py --json checkpoints.json

By default a run writes one every 5 minutes: weights, optimiser, generator and their checksums. Those written every 500
steps also average the newest five into the weights to use; they are the second figure.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch

from vitrail.config import TrainConfig, load_config
from vitrail.folder import ModelFolder
from vitrail.text import Tokenizers, WordVocabulary
from vitrail.train.checkpoint import RunState, average_weights, remove_old, save_checkpoint
from vitrail.train.device import make_scaler
from vitrail.train.learner import Learner
from vitrail.train.optimizer import make_optimizer

SIZES = ("tiny", "small", "base")
VOCABULARY = 8000
CPU = torch.device("cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as place:
            row = {"size": size, **write(size, Path(place))}
        share = row["seconds"] / (TrainConfig().checkpoint_minutes * 60)
        print(
            f"{size}: {row['mb']:,.0f} MB in {row['seconds']:.2f} s, {share:.2%} of 5 minutes; "
            f"with the average {row['seconds_with_average']:.2f} s"
        )
        rows.append({**row, "share": share})
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def write(size: str, place: Path) -> dict[str, float]:
    """Write checkpoints of a model in a row; return the size of one, and the seconds that the later ones took."""
    config = load_config(None, given={"model.preset": size})
    words = WordVocabulary([f"word{number}" for number in range(VOCABULARY)], languages=())
    folder = ModelFolder.create(place / "run", config, Tokenizers(words, words))
    model = folder.new_model()
    learner = Learner(model, make_optimizer(model, config.train), make_scaler(CPU, "float32"), average=None, device=CPU)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    learner.optimizer.step()  # so that the optimiser has a state
    seconds, with_average = [], []
    for step in range(1, 8):
        began = time.perf_counter()
        save_checkpoint(folder.path, learner, replace(RunState(), step=step))
        newest = [known for known in range(step - config.train.average + 1, step + 1) if known > 0]
        remove_old(folder.path, set(newest))
        seconds.append(time.perf_counter() - began)
        folder.write_weights(average_weights(folder.path, newest))
        with_average.append(time.perf_counter() - began)
    megabytes = sum(file.stat().st_size for file in (folder.path / "checkpoints" / "step-000007").iterdir()) / 1e6
    return {"mb": megabytes, "seconds": median(seconds[-3:]), "seconds_with_average": median(with_average[-3:])}


if __name__ == "__main__":
    main()
