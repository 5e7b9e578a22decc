"""Translate from Python: one sentence, a list of them, and the best few translations of each.

python examples/translate.py runs/phrasebook --to en "je suis étudiant" "merci"
"""

import argparse

import vitrail


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", help="a model folder, or builtin")
    arguments.add_argument("sentences", nargs="+")
    arguments.add_argument("--to", help="the target language, if the model has several")
    given = arguments.parse_args()

    translator = vitrail.load(given.model)

    # A sentence gives a Translation; a list gives a list in the same order, translated in batches.
    first = translator.translate(given.sentences[0], to=given.to)
    print(f"{first.source} → {first.text}   tokens: {' '.join(first.tokens)}")

    for translation in translator.translate(given.sentences, to=given.to, beam_size=4, top_beams=3):
        print(translation.source)
        for number, alternative in enumerate(translation.alternatives, start=1):
            print(f"  {number}. {alternative.text}   ({alternative.score:.3f})")


if __name__ == "__main__":
    try:
        main()
    except vitrail.VitrailError as error:
        raise SystemExit(f"error: {error}") from None
