"""`vitrail evaluate`: score a model on a test set with BLEU, chrF and TER, and test whether it beats another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vitrail.cli.model import Engine, Model, Precision, Threads
from vitrail.cli.search import search_settings
from vitrail.cli.test_set import TestSet

if TYPE_CHECKING:
    from vitrail.config import DecodeConfig
    from vitrail.translator import Translator


def evaluate(
    model: Model,
    source: Annotated[
        Path | None,
        typer.Option(help="The test set's sentences, one per line. Default: the run's own validation data."),
    ] = None,
    reference: Annotated[Path | None, typer.Option(help="Their reference translations, line by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Instead of both: one file of pairs, TSV or JSON lines.")] = None,
    source_field: Annotated[
        str | None, typer.Option(help="Sources in --pairs: a column, counted from 1, or a key. Default: 1 or source.")
    ] = None,
    reference_field: Annotated[
        str | None, typer.Option(help="References in --pairs, likewise. Default: 2 or target.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="What to compare with: a model folder, builtin, or a file of translations.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="Target language, if the model has several.")] = None,
    beam_size: Annotated[
        int | None, typer.Option(help="Partial translations kept at each step. Default: the model's own setting.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Exponent of the length penalty. Default: the model's own setting.")
    ] = None,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="Only predict tokens that the source leads to: faster.")
    ] = False,
    engine: Engine = None,
    precision: Precision = None,
    threads: Threads = None,
    tokenize: Annotated[str, typer.Option(help="sacrebleu's tokenizer for BLEU: 13a, none, intl, char, zh, …")] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Translate a test set and score it against its references with sacrebleu, on raw text."""
    from vitrail.box import model_path
    from vitrail.data import read_sentences
    from vitrail.errors import DataError
    from vitrail.evaluate import check_aligned, check_tokenizer, compare, measure
    from vitrail.translator import load

    # Check everything that can be wrong before the work begins.
    check_tokenizer(tokenize)
    folder, rival = model_path(model), None if against is None else model_path(against)
    if rival == folder:
        raise DataError("this is the same model twice", where=str(against), fix="name two different models")
    files = TestSet(source, reference, pairs, source_field, reference_field)
    sources, references, to = files.read(folder, to)
    translator = load(folder, threads=threads)
    other = None if rival is None else list(read_sentences(rival)) if rival.is_file() else load(rival, threads=threads)
    if other is None or isinstance(other, list):
        asked = rivals_asked = translator.asked_language(to)
    else:
        asked, rivals_asked = _asked_of_each(translator, to), _asked_of_each(other, to)
    if isinstance(other, list):
        check_aligned(other, references, name=f"{against}, {reference or pairs or 'the validation data'}")

    given = {"beam_size": beam_size, "alpha": alpha, "engine": engine, "precision": precision}
    given |= {"shortlist": shortlist or None}
    decode = search_settings(translator.config, given)
    rivals_decode = None if other is None or isinstance(other, list) else search_settings(other.config, given)

    translations = _translations(translator, sources, asked, decode)
    if other is None:
        report = measure(translations, references, tokenize=tokenize, lowercase=lowercase)
        print(json.dumps(report.to_dict()) if as_json else report)
        return
    others = other if isinstance(other, list) else _translations(other, sources, rivals_asked, rivals_decode)
    systems = {model: translations, str(against): others}
    comparison = compare(systems, references, tokenize=tokenize, lowercase=lowercase)
    print(json.dumps(comparison.to_dict()) if as_json else comparison)


def _asked_of_each(translator: Translator, to: str | None) -> str | None:
    """What to ask one of two models for: `to` may be meant only for the other."""
    has_one_without_a_name = not translator.languages and translator.target_language is None
    return None if has_one_without_a_name else translator.asked_language(to)


def _translations(translator: Translator, sources: list[str], to: str | None, decode: DecodeConfig | None) -> list[str]:
    from vitrail.cli.progress import progressing

    with progressing() as progress:
        done = translator.translate(sources, to=to, decode=decode, on_unknown="skip", report=progress.working)
        left_empty = sum(bool(translation.unknown) for translation in done)
        if left_empty:
            progress.say(f"warning: {left_empty:,} lines are left empty: the model does not know some of their words")
    return [translation.text for translation in done]
