"""`vitrail evaluate`: score a model on a test set with BLEU, chrF and TER, and test whether it beats another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vitrail.cli.asked import GlossaryFile
from vitrail.cli.model import Coverage, Engine, Ensemble, Model, Precision, Threads, To
from vitrail.cli.search import search_settings, without_effect
from vitrail.cli.test_set import Pairs, Reference, ReferenceField, Source, SourceField, TestSet

if TYPE_CHECKING:
    from vitrail.config import DecodeConfig
    from vitrail.evaluate import Comparison, Report
    from vitrail.evaluate.diagnosis import Translated
    from vitrail.glossary import Glossary
    from vitrail.translator import Translator


def evaluate(
    model: Model,
    source: Source = None,
    reference: Reference = None,
    pairs: Pairs = None,
    source_field: SourceField = None,
    reference_field: ReferenceField = None,
    against: Annotated[
        str | None, typer.Option(help="What to compare with: a model folder, builtin, or a file of translations.")
    ] = None,
    to: To = None,
    beam_size: Annotated[
        int | None, typer.Option(help="Partial translations kept at each step. Default: the model's own setting.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Exponent of the length penalty. Default: the model's own setting.")
    ] = None,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="Only predict tokens that the source leads to: faster.")
    ] = False,
    glossary: GlossaryFile = None,
    coverage: Coverage = None,
    ensemble: Ensemble = None,
    engine: Engine = None,
    precision: Precision = None,
    threads: Threads = None,
    tokenize: Annotated[str, typer.Option(help="sacrebleu's tokenizer for BLEU: 13a, none, intl, char, zh, …")] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    page: Annotated[
        Path | None, typer.Option(help="Write a report: an HTML file with every sentence, worst first.")
    ] = None,
    worst: Annotated[
        int | None, typer.Option(min=0, help="With --page: sentences that get a page of their own. Default: 10.")
    ] = None,
) -> None:
    """Translate a test set and score it against its references with sacrebleu, on raw text."""
    from vitrail.box import model_path
    from vitrail.cli.progress import progressing
    from vitrail.data import read_sentences
    from vitrail.errors import DataError
    from vitrail.evaluate import check_aligned, check_tokenizer, compare, measure
    from vitrail.evaluate.diagnosis import Translated, diagnose, scores_of
    from vitrail.explain.report import check_place, write_report
    from vitrail.glossary import Glossary
    from vitrail.translator import load

    # Check everything that can be wrong before the work begins.
    check_tokenizer(tokenize)
    if page is not None and ensemble:
        raise DataError("a report looks into one model", where="--ensemble, --page", fix="remove one of them")
    if page is not None:
        check_place(page)
    elif worst is not None:
        raise without_effect("--worst", "without --page", fix="give --page, or remove --worst")
    folder, rival = model_path(model), None if against is None else model_path(against)
    if rival == folder:
        raise DataError("this is the same model twice", where=str(against), fix="name two different models")
    files = TestSet(source, reference, pairs, source_field, reference_field)
    sources, references, to = files.read(folder, to)
    translator = load(folder, threads=threads, ensemble=ensemble or ())
    other = None if rival is None else list(read_sentences(rival)) if rival.is_file() else load(rival, threads=threads)
    if other is None or isinstance(other, list):
        asked = rivals_asked = translator.asked_language(to)
    else:
        asked, rivals_asked = _asked_of_each(translator, to), _asked_of_each(other, to)
    if isinstance(other, list):
        check_aligned(other, references, name=f"{against}, {reference or pairs or 'the validation data'}")

    given = {"beam_size": beam_size, "alpha": alpha, "engine": engine, "precision": precision}
    given |= {"shortlist": shortlist or None, "coverage": coverage}
    decode = search_settings(translator.config, given)
    rivals_decode = None if other is None or isinstance(other, list) else search_settings(other.config, given)

    terms = None if glossary is None else Glossary.read(glossary)
    own = _translated(model, translator, sources, asked, decode, terms)
    systems = [own]
    if isinstance(other, list):
        systems.append(Translated(str(against), other, [()] * len(other)))
    elif other is not None:
        systems.append(_translated(str(against), other, sources, rivals_asked, rivals_decode, terms))
    measured: Report | Comparison
    if len(systems) == 1:
        measured = measure(own.texts, references, tokenize=tokenize, lowercase=lowercase)
    else:
        texts = {system.name: system.texts for system in systems}
        measured = compare(texts, references, tokenize=tokenize, lowercase=lowercase)
    print(json.dumps(measured.to_dict()) if as_json else measured)
    if page is not None:
        sentences = diagnose(systems, sources, references, lowercase=lowercase)
        with progressing() as progress:
            written = write_report(
                page,
                sentences,
                translator=translator,
                systems=[system.name for system in systems],
                metrics=scores_of(measured),
                to=asked,
                decode=decode,
                pages=10 if worst is None else worst,
                report=progress.working,
            )
            progress.say(f"{page}: {len(written) - 1} of the worst sentences have a page of their own beside it")


def _asked_of_each(translator: Translator, to: str | None) -> str | None:
    """What to ask one of two models for: `to` may be meant only for the other."""
    has_one_without_a_name = not translator.languages and translator.target_language is None
    return None if has_one_without_a_name else translator.asked_language(to)


def _translated(
    name: str,
    translator: Translator,
    sources: list[str],
    to: str | None,
    decode: DecodeConfig | None,
    glossary: Glossary | None,
) -> Translated:
    """What a model makes of the test set."""
    from vitrail.cli.progress import progressing
    from vitrail.evaluate.diagnosis import Translated

    with progressing() as progress:
        done = translator.translate(
            sources, to=to, decode=decode, glossary=glossary, on_unknown="skip", report=progress.working
        )
        left_empty = sum(bool(translation.unknown) for translation in done)
        if left_empty:
            progress.say(f"warning: {left_empty:,} lines are left empty: the model does not know some of their words")
    return Translated(name, [one.text for one in done], [one.unknown for one in done])
