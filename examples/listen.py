"""Listen to a model while it reads a sentence, and print the weights of one attention head.

python examples/listen.py runs/phrasebook "je suis étudiant" --to en
"""

import argparse

import torch
from torch import Tensor

import vitrail
from vitrail.model import Tap
from vitrail.text import BOS


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", help="a model folder, or builtin")
    arguments.add_argument("sentence")
    arguments.add_argument("--to", help="the target language, if the model has several")
    arguments.add_argument("--name", default="encoder.0.self_attention.weights", help="the value to print")
    arguments.add_argument("--head", type=int, default=0)
    given = arguments.parse_args()

    translator = vitrail.load(given.model)
    source = translator.tokenizers.encode_source(given.sentence, given.to)
    heard: dict[str, Tensor] = {}

    def listener(name: str, value: Tensor) -> None:
        heard[name] = value  # to replace the value, return a tensor

    with torch.inference_mode():
        translator.model(torch.tensor([source]), torch.tensor([[BOS]]), tap=Tap(listener))

    print(f"{len(heard)} values, from {next(iter(heard))} to {list(heard)[-1]}")
    weights_TS = heard[given.name][0, given.head]
    tokens = translator.tokenizers.source_tokens(source)
    width = max(6, *map(len, tokens))
    print(" " * width, *(f"{token:>{width}}" for token in tokens))
    for token, row in zip(tokens, weights_TS.tolist(), strict=True):
        print(f"{token:>{width}}", *(f"{weight:{width}.2f}" for weight in row))


if __name__ == "__main__":
    try:
        main()
    except vitrail.VitrailError as error:
        raise SystemExit(f"error: {error}") from None
