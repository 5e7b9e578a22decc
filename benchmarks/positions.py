"""Beyond the longest training sentence: how far each kind of position reaches, on the phrasebook.

One model is trained for each kind, all else equal, on sentences of at most LONGEST tokens. Then it translates held-out
sentences of known lengths, and sentences of three to five clauses, which are longer than any it has seen. A sentence
counts when it is right word for word.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, get_args

from vitrail.cli.demo import demo_config
from vitrail.config import Config, ModelConfig
from vitrail.data.phrasebook import LONGEST, Example, held_out, longer
from vitrail.text.words import split_words
from vitrail.train import train
from vitrail.translator import Translator, load

KINDS = get_args(ModelConfig.model_fields["positions"].annotation)
SENTENCES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, help="unset: as many as the demo takes")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    known = list(held_out(SENTENCES, seed=0))
    beyond = [example for example in longer(SENTENCES, seed=0) if length(example) > LONGEST]
    results: list[dict[str, Any]] = []
    for kind in options.kinds:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            train(settings(kind, options.steps), out)
            row = {"benchmark": "positions", "positions": kind, "longest_in_training": LONGEST}
            results.append(row | measure(load(out), known, beyond))
        print(results[-1], flush=True)
    print_table(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def settings(kind: str, steps: int | None) -> Config:
    table = demo_config().model_dump(mode="json", exclude_none=True)
    table["model"]["positions"] = kind
    table["train"] |= {"max_steps": steps} if steps else {}
    table["train"] |= {"validate_every": 10**6, "checkpoint_every": 10**6, "bleu_sentences": 0, "samples": 0}
    return Config.model_validate(table)


def measure(translator: Translator, known: list[Example], beyond: list[Example]) -> dict[str, Any]:
    """The share of exact translations of sentences as long as those in training, and of longer ones."""
    bands = {"known": known} | {
        f"{low}-{high}": [example for example in beyond if low <= length(example) <= high]
        for low, high in ((LONGEST + 1, LONGEST + 8), (LONGEST + 9, LONGEST + 16), (LONGEST + 17, 99))
    }
    return {f"exact {name}": round(exact(translator, examples), 4) for name, examples in bands.items() if examples}


def exact(translator: Translator, examples: list[Example]) -> float:
    right = 0
    for to in ("en", "fr"):
        chosen = [example for example in examples if example.target_language == to]
        done = translator.translate([example.source for example in chosen], to=to, beam_size=1)
        right += sum(found.text == example.target for found, example in zip(done, chosen, strict=True))
    return right / len(examples)


def length(example: Example) -> int:
    return len(split_words(example.source))


def print_table(results: list[dict[str, Any]]) -> None:
    columns = [name for name in results[0] if name.startswith("exact")]
    print("| positions | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for row in results:
        print(f"| {row['positions']} | " + " | ".join(f"{row[name]:.1%}" for name in columns) + " |")


if __name__ == "__main__":
    main()
