"""`vitrail alternatives`: what else could stand at one position of a translation."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from vitrail.cli.formats import Format
from vitrail.cli.model import Ensemble, Model, Threads, To
from vitrail.cli.search import search_settings


def alternatives(
    model: Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Sentence to translate.")],
    at: Annotated[
        int | None,
        typer.Option(min=1, help="Token of the translation, counted from 1. Default: print the tokens' numbers."),
    ] = None,
    to: To = None,
    translation: Annotated[
        str | None, typer.Option(help="A translation of your own. Default: the model's best one.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many tokens to try at this position.")] = 5,
    beam_size: Annotated[int | None, typer.Option(help="Partial translations kept at each step; 1 is greedy.")] = None,
    ensemble: Ensemble = None,
    threads: Threads = None,
    style: Annotated[Format, typer.Option("--format", help="text, or json: one object.")] = Format.TEXT,
) -> None:
    """Show what else could stand at a position of a translation, and how the translation would go on.

    Each line has the probability of a token, the token, and the best translation that has it at this position.
    """
    from vitrail.translator import load

    translator = load(model, threads=threads, ensemble=ensemble or ())
    decode = search_settings(translator.config, {"beam_size": beam_size})
    found = translator.alternatives(
        text, at=(at or 1) - 1, count=count if at else 1, to=to, decode=decode, translation=translation
    )
    if at is None and style is Format.JSON:
        print(json.dumps({"source": found.source, "text": found.text, "tokens": found.tokens}, ensure_ascii=False))
    elif at is None:
        print("  ".join(f"{number} {token}" for number, token in enumerate((*found.tokens, "<eos>"), start=1)))
    elif style is Format.JSON:
        print(json.dumps({**found.to_dict(), "at": at}, ensure_ascii=False))
    else:
        for option in found.options:
            print(f"{option.probability:.4f}\t{option.token}\t{option.text}")
