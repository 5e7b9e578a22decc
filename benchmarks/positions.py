"""Beyond the longest training sentence: how well each kind of position generalises, on the phrasebook.

One model is trained for each kind, all else equal, on sentences of at most LONGEST tokens. Then it translates held-out
sentences of familiar lengths, and sentences of three to five clauses, longer than any it has seen. Reported are the
share of exact translations, BLEU, which also credits partly correct ones, and how long the translations are compared
with the references.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from vitrail.cli.demo import demo_config
from vitrail.config import POSITIONS, Config
from vitrail.data.phrasebook import LONGEST, Example, held_out, longer
from vitrail.evaluate import bleu, exact_share
from vitrail.text.words import split_words
from vitrail.train import train
from vitrail.translator import Translator, load

SENTENCES = 1000  # of familiar lengths, and as many longer ones


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, help="training steps; by default as many as the demo")
    parser.add_argument("--seed", type=int, default=demo_config().train.seed, help="of the training")
    parser.add_argument("--kinds", nargs="+", choices=POSITIONS, default=list(POSITIONS))
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    known = list(held_out(SENTENCES, seed=0))
    beyond = [example for example in longer(SENTENCES, seed=0) if length(example) > LONGEST]
    results: list[dict[str, Any]] = []
    for kind in options.kinds:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            train(settings(kind, options.steps, options.seed), out)
            row = {"benchmark": "positions", "positions": kind, "longest_in_training": LONGEST}
            results.append(row | measure(load(out), known, beyond))
        print(results[-1], flush=True)
    print_table(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def settings(kind: str, steps: int | None, seed: int) -> Config:
    table = demo_config().model_dump(mode="json", exclude_none=True)
    table["model"]["positions"] = kind
    table["train"] |= {"seed": seed} | ({"max_steps": steps} if steps else {})
    table["train"] |= {"validate_every": 10**6, "checkpoint_every": 10**6, "bleu_sentences": 0, "samples": 0}
    return Config.model_validate(table)


def measure(translator: Translator, known: list[Example], beyond: list[Example]) -> dict[str, Any]:
    """Exact translations and BLEU, for sentences as long as those in training and for longer ones."""
    found: dict[str, Any] = {}
    for band, examples in bands(known, beyond).items():
        texts = translate(translator, examples)
        references = [example.target for example in examples]
        found[f"exact, {band}"] = round(exact_share(texts, references), 4)
        found[f"BLEU, {band}"] = round(bleu(texts, references), 1)
        found[f"length, {band}"] = round(words(texts) / words(references), 2)
    return found


def bands(known: list[Example], beyond: list[Example]) -> dict[str, list[Example]]:
    limits = ((LONGEST + 1, LONGEST + 6), (LONGEST + 7, LONGEST + 12), (LONGEST + 13, LONGEST + 30))
    longer_ones = {
        f"{low}-{high} words": [example for example in beyond if low <= length(example) <= high] for low, high in limits
    }
    return {f"up to {LONGEST} words": known} | {name: examples for name, examples in longer_ones.items() if examples}


def translate(translator: Translator, examples: list[Example]) -> list[str]:
    found: dict[str, str] = {}
    for to in ("en", "fr"):
        sources = [example.source for example in examples if example.target_language == to]
        done = translator.translate(sources, to=to, beam_size=1)
        found |= {f"{to} {source}": each.text for source, each in zip(sources, done, strict=True)}
    return [found[f"{example.target_language} {example.source}"] for example in examples]


def words(texts: list[str]) -> int:
    return sum(len(split_words(text)) for text in texts)


def length(example: Example) -> int:
    return words([example.source])


def print_table(results: list[dict[str, Any]]) -> None:
    columns = [name for name in results[0] if name.startswith(("exact", "BLEU"))]
    print("| positions | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for row in results:
        shown = [f"{row[name]:.1%}" if name.startswith("exact") else f"{row[name]:.1f}" for name in columns]
        print(f"| {row['positions']} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    main()
