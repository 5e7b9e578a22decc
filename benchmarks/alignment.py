"""How good is the word alignment that attention gives? Measured on the phrasebook, whose true alignment is known.

Held-out sentences and their true translations are aligned in a forced pass, with the mean of all heads, each layer,
and each head. Precision, recall and alignment error rate as Och and Ney (2003) define them: sure links must be
found, possible ones may be.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vitrail.alignment import Links
from vitrail.config import change_settings
from vitrail.data.phrasebook import Example, held_out
from vitrail.data.phrasebook.links import Alignment, alignment
from vitrail.translator import Translator, load

SEED = 7


@dataclass(frozen=True)
class Row:
    """The quality of the links that some heads give."""

    system: str
    precision: float
    recall: float
    error_rate: float


def measured(name: str, found: Sequence[Links], true: Sequence[Alignment]) -> Row:
    """Precision, recall and alignment error rate over all sentences."""
    links = sum(map(len, found))
    sure = sum(len(one.sure) for one in true)
    found_sure = sum(len(one.sure.intersection(mine)) for mine, one in zip(found, true, strict=True))
    allowed = sum(len(one.possible.intersection(mine)) for mine, one in zip(found, true, strict=True))
    return Row(name, allowed / links, found_sure / sure, 1 - (found_sure + allowed) / (links + sure))


def aligned(translator: Translator, examples: Sequence[Example], heads: str) -> list[Links]:
    """The links of every example, in the order of the examples."""
    settings = change_settings(translator.config, {"alignment_heads": heads})
    chosen = Translator(translator.runtime, translator.tokenizers, settings, target_language=translator.target_language)
    found: dict[int, Links] = {}
    for language in ("fr", "en"):
        numbers = [number for number, one in enumerate(examples) if one.target_language == language]
        links = chosen.align(
            [examples[number].source for number in numbers],
            [examples[number].target for number in numbers],
            to=language,
        )
        found.update(zip(numbers, links, strict=True))
    return [found[number] for number in range(len(examples))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model of both directions, as `vitrail demo` writes it, or builtin")
    parser.add_argument("--sentences", type=int, default=1000, help="held-out sentences to measure on")
    parser.add_argument("--heads", action="store_true", help="also measure every single head")
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    arguments = parser.parse_args()
    translator = load(arguments.model)
    examples = list(held_out(arguments.sentences, SEED))
    true = [alignment(example) for example in examples]
    shape = translator.model.config
    names = ["all"]
    for layer in range(shape.decoder_layers):
        names += [str(layer), *(f"{layer}.{head}" for head in range(shape.heads) if arguments.heads)]
    rows = []
    print("heads  precision  recall  error rate")
    for name in names:
        rows.append(row := measured(name, aligned(translator, examples, name), true))
        print(f"{name:5}  {row.precision:9.3f}  {row.recall:6.3f}  {row.error_rate:10.3f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
