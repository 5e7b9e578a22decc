"""`vitrail heads`: what each attention head of a model usually does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from vitrail.cli.model import Model, Threads, To
from vitrail.cli.test_set import Source, own_validation

if TYPE_CHECKING:
    from vitrail.trace.habits import Habits


def heads(
    model: Model,
    source: Source = None,
    to: To = None,
    sentences: Annotated[int, typer.Option(min=1, help="Use at most this many sentences.")] = 500,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure over many sentences what each attention head and hidden unit usually does.

    The model translates the sentences. Printed is each head's habit: where most of its weight goes. The result is kept
    in the model's folder, and the page shows it from then on.
    """
    from vitrail.box import BUILTIN, model_path
    from vitrail.cli.progress import progressing
    from vitrail.data import read_sentences
    from vitrail.evaluate.habits import measure_habits
    from vitrail.trace.habits import read_habits, write_habits
    from vitrail.translator import load

    folder = model_path(model)
    texts, to = (list(read_sentences(source)), to) if source is not None else own_validation(folder, to)[::2]
    translator = load(folder, threads=threads)
    with progressing() as progress:
        asked = translator.asked_language(to)
        found = measure_habits(translator, texts[:sentences], to=asked, report=progress.working)
        assert translator.folder is not None
        if model == BUILTIN:
            progress.say("note: nothing is written to the built-in model")
        else:
            path = write_habits(translator.folder, {**read_habits(translator.folder), asked or "": found})
            progress.say(f"kept in {path}")
    print(json.dumps({name: each.model_dump() for name, each in found.heads.items()}) if as_json else table(found))


def table(habits: Habits) -> str:
    """A line for each head."""
    from vitrail.trace.habits import MIXED_HABIT

    lines = [f"{'attention':26} head  {'habit':19}  share (95 %)          even  sure"]
    for name, attention in habits.heads.items():
        for number, head in enumerate(attention.heads):
            even = attention.even.get(head.habit)
            habit = head.habit.replace("_", " ")
            if head.habit == MIXED_HABIT:
                habit = f"mixed ({max(head.shares, key=lambda name: head.shares[name]).replace('_', ' ')})"
            lines.append(
                f"{name:26} {number:4}  {habit:19}  {head.share:5.1%} ({head.low:.1%} to {head.high:.1%})".ljust(77)
                + f"{'' if even is None else f'{even:.1%}':>5} {head.sure:5.0%}"
            )
    legend = (
        "share: of a head's weight, on what its habit names; of spread, how even the weights are; of mixed, on what "
        "is in brackets.\neven: the share of a head that looks everywhere alike. sure: in how many of 1,000 resampled "
        f"sets of sentences the head\nhas this habit. {habits.sentences:,} sentences."
    )
    return "\n".join([*lines, legend])
