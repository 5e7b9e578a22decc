"""How much of a batch is padding, by batch size: Multi30k, French to English. Reads ../shared/data/multi30k."""

from __future__ import annotations

import argparse
import json
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np

from vitrail.config import DataConfig
from vitrail.data import BatchStream, Position, Prepared, prepare
from vitrail.text import PAD

MULTI30K = Path(__file__).parents[1].parent / "shared" / "data" / "multi30k"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=MULTI30K, help="folder with train.fr.gz and train.en.gz")
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[1024, 2048, 4096, 8192])
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    config = DataConfig(source=str(options.corpus / "train.fr.gz"), target=str(options.corpus / "train.en.gz"))
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(config, Path(folder) / "data", seed=1)
        results = [measure(prepared, batch_tokens) for batch_tokens in options.batch_tokens]
    for result in results:
        print(
            f"{result['batch_tokens']:>6} tokens: {result['batches']:>4} batches, padding "
            f"{result['source_padding']:.1%} of the source, {result['target_padding']:.1%} of the target, "
            f"{result['padding']:.1%} of both"
        )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def measure(prepared: Prepared, batch_tokens: int) -> dict[str, str | int | float]:
    """One epoch's padding, as a share of all positions in its batches."""
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=batch_tokens, seed=1)
    count = stream.batches_in_epoch(0)
    places, tokens = np.zeros(2), np.zeros(2)
    for _, batch in islice(stream.from_position(Position()), count):
        sides = (batch.source_BS, batch.target_BT)
        places += [side.size for side in sides]
        tokens += [np.count_nonzero(side != PAD) for side in sides]
    source, target = 1 - tokens / places
    return {
        "benchmark": "padding",
        "corpus": "multi30k fr-en",
        "batch_tokens": batch_tokens,
        "batches": count,
        "source_padding": float(source),
        "target_padding": float(target),
        "padding": float(1 - tokens.sum() / places.sum()),
    }


if __name__ == "__main__":
    main()
