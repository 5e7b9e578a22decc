"""Which head knows what "it" refers to? Measured over many held-out sentences like the post's, not just one.

For every head: how often its weight on the right one of the two possible nouns is larger than on the other. In the
encoder, for two words that may look for the noun: "it" (or "they"), and the adjective that decides. In encoder-decoder
attention, for the step that chooses il or elle. Then the best heads are switched off, one by one and together, and the
correct pronouns counted again.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vitrail.data.phrasebook import Example, held_out, pronoun_is_right
from vitrail.data.phrasebook.nouns import NOUNS
from vitrail.model import Tap
from vitrail.text import BOS
from vitrail.text.words import split_words
from vitrail.translator import Translator, load

GENDER = {word: noun.feminine for noun in NOUNS for word in (noun.english, noun.english_plural)}
SHOWN = 5


@dataclass(frozen=True)
class Puzzle:
    """A sentence with two nouns of different gender, and the positions of its words in the model's rows."""

    example: Example
    source: list[int]
    target: list[int]
    it: int  # the position of "it" in the source row
    adjective: int
    right: int  # the position of the noun it refers to
    wrong: int
    chooses: int  # the step that chooses the French pronoun


@dataclass(frozen=True)
class Look:
    """A head, and the word whose weights are compared."""

    attention: str
    head: int
    who: str

    def __str__(self) -> str:
        return f"{self.attention} head {self.head}, {self.who}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a phrasebook model, as `vitrail demo` writes it")
    parser.add_argument("--sentences", type=int, default=20_000, help="held-out sentences to search for puzzles")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    translator = load(options.model)
    puzzles = find_puzzles(translator, options.sentences)
    shares = looks(translator, puzzles)
    baseline = pronouns_right(translator, puzzles)
    print(f"{len(puzzles):,} puzzles; il or elle is right in {baseline:.1%} of them")
    best = sorted(shares, key=lambda look: -shares[look])[:SHOWN]
    results: list[dict[str, Any]] = [{"benchmark": "heads", "puzzles": len(puzzles), "right": baseline}]
    heads_off: dict[str, list[int]] = {}
    for look in best:
        off = pronouns_right(translator.without_heads({look.attention: [look.head]}), puzzles)
        results.append({"benchmark": "heads", **asdict(look), "on_the_right_noun": shares[look], "right_without": off})
        print(f"{look}: on the right noun in {shares[look]:.1%}; switched off, {off:.1%} right")
        heads_off.setdefault(look.attention, []).append(look.head)
    off = pronouns_right(translator.without_heads(heads_off), puzzles)
    results.append({"benchmark": "heads", "heads_off": heads_off, "right_without": off})
    print(f"all of these switched off: {off:.1%} right")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def find_puzzles(translator: Translator, sentences: int) -> list[Puzzle]:
    found = (puzzle(translator, example) for example in held_out(sentences, seed=0))
    return [each for each in found if each is not None]


def puzzle(translator: Translator, example: Example) -> Puzzle | None:
    """The example as a puzzle: two nouns of different gender, both "it" or both "they"; None if it is not one."""
    if example.kind != "reference" or example.target_language != "fr" or example.pronoun is None:
        return None
    words = split_words(example.source)
    pronoun = "they" if example.pronoun.endswith("s") else "it"
    nouns = [place for place, word in enumerate(words) if word in GENDER]
    if len(nouns) != 2 or GENDER[words[nouns[0]]] == GENDER[words[nouns[1]]] or pronoun not in words:
        return None
    is_feminine = example.pronoun.startswith("elle")
    right, wrong = nouns if GENDER[words[nouns[0]]] == is_feminine else reversed(nouns)
    source = translator.tokenizers.encode_source(example.source, "fr")
    target = translator.tokenizers.encode_target(example.target)
    first = 1  # the language symbol precedes the words
    last = len(words) - 1 - words[::-1].index(pronoun)
    french = split_words(example.target)
    chooses = len(french) - 1 - french[::-1].index(example.pronoun)
    places = (last, len(words) - 1, right, wrong)
    return Puzzle(example, source, target, *(place + first for place in places), chooses)


def looks(translator: Translator, puzzles: list[Puzzle]) -> dict[Look, float]:
    """For every head and every such word, how often its weight is larger on the right noun."""
    hits: Counter[Look] = Counter()
    for each in puzzles:

        def listen(name: str, value: Tensor, each: Puzzle = each) -> None:
            attention, _, kind = name.rpartition(".")
            stack, _, part = attention.partition(".")
            if kind != "weights" or (stack == "decoder" and part.endswith("self_attention")):
                return
            steps = {"the step that chooses": each.chooses}
            queries = {"it": each.it, "the adjective": each.adjective} if stack == "encoder" else steps
            for who, query in queries.items():
                for head, weights_S in enumerate(value[0, :, query]):
                    hits[Look(attention, head, who)] += bool(weights_S[each.right] > weights_S[each.wrong])

        with torch.inference_mode():
            inputs = torch.tensor([[BOS, *each.target[:-1]]])
            translator.model.log_probs(torch.tensor([each.source]), inputs, tap=Tap(listen))
    return {look: count / len(puzzles) for look, count in hits.items()}


def pronouns_right(translator: Translator, puzzles: list[Puzzle]) -> float:
    done = translator.translate([each.example.source for each in puzzles], to="fr", beam_size=1)
    right = sum(pronoun_is_right(each.example, found.text) for each, found in zip(puzzles, done, strict=True))
    return right / len(puzzles)


if __name__ == "__main__":
    main()
