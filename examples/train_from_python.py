"""Train a tiny model from Python on a corpus that the example makes up: it learns to write numbers in digits.

python examples/train_from_python.py runs/numbers
"""

import argparse
from pathlib import Path

import vitrail
from vitrail.config import parse_config
from vitrail.train import Silence, StepDone, keep_memory, train

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Watch(Silence):
    """Listens to the run. A listener overrides the events that it needs."""

    def stepped(self, event: StepDone) -> None:
        """Print every twentieth step."""
        if event.step % 20 == 0:
            print(f"step {event.step}: loss {event.loss:.3f}, rate {event.rate:.1e}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("out", type=Path, help="the folder to write")
    arguments.add_argument("--steps", type=int, default=300)
    given = arguments.parse_args()

    # The corpus is kept beside the model, because a resumed run reads the same files.
    given.out.parent.mkdir(parents=True, exist_ok=True)
    corpus = given.out.parent / f"{given.out.name}.tsv"
    if not corpus.exists():
        corpus.write_text("".join(f"{spelled(n)}\t{spaced(n)}\n" for n in range(2000)), encoding="utf-8")

    config = parse_config(
        {
            "model": {"preset": "tiny", "encoder_layers": 1, "decoder_layers": 1, "norm": "pre", "dropout": 0.0},
            "data": {"pairs": str(corpus), "vocabulary": "word"},
            "train": {
                "max_steps": given.steps,
                "schedule": "constant",
                "peak_rate": 0.003,
                "warmup_steps": 20,
                "batch_tokens": 1024,
                "use": "last",
            },
        },
        where="this example",
    )
    keep_memory()  # faster; this process then keeps the memory it once needed
    outcome = train(config, given.out, Watch())
    print(f"ended at step {outcome.step} ({outcome.reason})")
    print(spelled(1905), "→", vitrail.load(given.out).translate(spelled(1905)).text)


def spaced(number: int) -> str:
    """A number as the model should write it: every digit is a word."""
    return " ".join(str(number))


def spelled(number: int) -> str:
    """A number as the model reads it."""
    return " ".join(DIGITS[int(digit)] for digit in str(number))


if __name__ == "__main__":
    try:
        main()
    except vitrail.VitrailError as error:
        raise SystemExit(f"error: {error}") from None
