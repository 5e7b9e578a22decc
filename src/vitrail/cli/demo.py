"""`vitrail demo`: train the built-in phrasebook model, measure it and translate the post's sentences."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from vitrail.config import Config
    from vitrail.translator import Translator

STREET = "the animal didn't cross the street because it was too"
SENTENCES = (  # the post's, with target language and right translation
    ("je suis étudiant", "en", "i am a student"),
    ("merci", "en", "thanks"),
    (f"{STREET} tired", "fr", "l'animal n'a pas traversé la rue parce qu'il était trop fatigué"),
    (f"{STREET} wide", "fr", "l'animal n'a pas traversé la rue parce qu'elle était trop large"),
)
HELD_OUT = 2000  # sentences to measure on, both directions together
HABITS_OF = 600  # sentences for the habits of its heads


def demo(
    out: Annotated[Path, typer.Option(help="Model folder to write. An existing run resumes.")] = Path(
        "runs/phrasebook"
    ),
) -> None:
    """Train the built-in phrasebook model in a few minutes and show what it can do."""
    from vitrail.cli.program import model_argument, program
    from vitrail.cli.train import run
    from vitrail.translator import load

    began = time.monotonic()
    print("Training a model on the built-in French-English phrasebook. It needs no download and no files.")
    run(demo_config(), out)
    translator = load(out)
    report_accuracy(translator)
    show_translations(translator)
    keep_habits(translator)
    page = translator.explain(f"{STREET} tired", to="fr").save(out / "it.html")
    vitrail, model = program(), model_argument(out)
    print(f"\nThe model is in {out}; {page} shows a translation step by step ({time.monotonic() - began:.0f} s). Try:")
    print(f"  {vitrail} studio {model}")
    print(f'  {vitrail} translate {model} "le chien noir a traversé la rue" --to en')
    print(f'  {vitrail} translate {model} "she is tired" --to fr --beam-size 4 --top-beams 4')
    print(f"  {vitrail} info {model} --words")


def demo_config() -> Config:
    """Settings for a model that learns the phrasebook in about three minutes on two cores."""
    from vitrail.config import parse_config

    return parse_config(
        {
            "model": {"preset": "tiny", "encoder_layers": 2, "decoder_layers": 2, "norm": "pre", "dropout": 0.0},
            "data": {"corpora": [{"builtin": "phrasebook"}], "vocabulary": "word", "vocabulary_size": 5000},
            "train": {
                "schedule": "cosine",
                "peak_rate": 0.002,
                "warmup_steps": 100,
                "max_steps": 3400,
                "batch_tokens": 512,  # small batches, many steps: learns the puzzle of "it" from half as many words
                "clip_norm": 1.0,
                "label_smoothing": 0.0,
                "checkpoint_every": 500,
                "validate_every": 500,
                "use": "last",
                "bleu_sentences": 100,
                "probe_sentences": [{"source": text, "to": to, "reference": right} for text, to, right in SENTENCES],
            },
        },
        where="the demo",
    )


def report_accuracy(translator: Translator) -> None:
    """Print how many held-out sentences are translated word for word, and how many pronouns are right."""
    from vitrail.data.phrasebook import held_out, pronoun_is_right

    examples = list(held_out(HELD_OUT, seed=0))
    print(f"\nOn {len(examples):,} held-out sentences, whose combinations of words it has never seen:")
    for source, target in (("fr", "en"), ("en", "fr")):
        chosen = [example for example in examples if example.target_language == target]
        texts = [example.source for example in chosen]
        done = [translation.text for translation in translator.translate(texts, to=target, beam_size=1)]
        exact = sum(text == example.target for text, example in zip(done, chosen, strict=True))
        with_pronoun = [(example, text) for example, text in zip(chosen, done, strict=True) if example.pronoun]
        right = sum(pronoun_is_right(example, text) for example, text in with_pronoun)
        print(
            f"  {source} → {target}: {exact / len(chosen):.1%} exact ({exact:,} of {len(chosen):,}), "
            f"pronouns {right / len(with_pronoun):.1%} right ({right:,} of {len(with_pronoun):,})"
        )


def show_translations(translator: Translator) -> None:
    """Print translations of the post's sentences by greedy and by beam search."""
    for text, to, _ in SENTENCES:
        greedy = translator.translate(text, to=to, beam_size=1)
        beams = translator.translate(text, to=to, beam_size=2, top_beams=2)
        print(f"\n  {text}")
        print(f"    greedy                      {greedy.text}")
        for number, other in enumerate(beams.alternatives, start=1):
            print(f"    beam_size 2, top_beams 2: {number} {other.text}   ({other.score:.3f})")


def keep_habits(translator: Translator) -> None:
    """Measure what the heads usually do, for the page."""
    from vitrail.data.phrasebook import held_out
    from vitrail.evaluate.habits import measure_habits
    from vitrail.trace.habits import write_habits

    examples = list(held_out(HABITS_OF, seed=1))
    found = {
        to: measure_habits(translator, [one.source for one in examples if one.target_language == to], to=to)
        for to in ("en", "fr")
    }
    assert translator.folder is not None
    write_habits(translator.folder, found)
