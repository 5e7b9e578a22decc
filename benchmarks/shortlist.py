"""What a shortlist costs: BLEU without and with it, and how many translations depend on their neighbours.

    python benchmarks/shortlist.py --set val

The built-in model translates Tatoeba's validation or test set in both directions. `one by one`: each sentence is a
batch, so that CTranslate2 predicts its own shortlist only. Speed: decoding.py, or `vitrail shortlist MODEL`.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import sacrebleu

from vitrail.config import change_settings
from vitrail.translator import load

DATA = Path(__file__).parents[2] / "shared" / "data" / "tatoeba-fr-en"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("val", "test"), default="val")
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--in-batches-only", action="store_true", help="skip `one by one`, which takes longest")
    options = parser.parse_args()
    translator = load(options.model)
    with gzip.open(DATA / f"{options.set}.tsv.gz", "rt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in file][: options.sentences]
    print("| into | search | BLEU | with the shortlist | differ | one by one | differ from batches |")
    print("|---|---|---|---|---|---|---|")
    for to, first in (("en", 0), ("fr", 1)):
        sources, references = [pair[first] for pair in pairs], [pair[1 - first] for pair in pairs]
        for name, beam in (("greedy", 1), ("beam 4", 4)):
            usual, short = (
                change_settings(translator.config, {"beam_size": beam, "shortlist": is_used, "engine": "ctranslate2"})
                for is_used in (False, True)
            )
            without = [one.text for one in translator.translate(sources, to=to, decode=usual)]
            with_it = [one.text for one in translator.translate(sources, to=to, decode=short)]
            scores = [sacrebleu.corpus_bleu(texts, [references]).score for texts in (without, with_it)]
            row = f"| {to} | {name} | {scores[0]:.2f} | {scores[1]:.2f} | {different(without, with_it):,} |"
            if not options.in_batches_only:
                alone = [translator.translate(source, to=to, decode=short).text for source in sources]
                score = sacrebleu.corpus_bleu(alone, [references]).score
                row += f" {score:.2f} | {different(with_it, alone):,} |"
            print(row, flush=True)


def different(one: list[str], other: list[str]) -> int:
    return sum(mine != theirs for mine, theirs in zip(one, other, strict=True))


if __name__ == "__main__":
    main()
