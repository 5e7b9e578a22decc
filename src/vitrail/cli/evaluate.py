"""`vitrail evaluate`: BLEU, chrF and TER of a model on a test set, and whether it beats another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    source: Annotated[Path, typer.Option(help="The test set's sentences, one a line.")],
    reference: Annotated[Path, typer.Option(help="Their translations by people, line by line.")],
    against: Annotated[
        Path | None, typer.Option(help="Another model folder, or a file of translations, to compare with.")
    ] = None,
    to: Annotated[str | None, typer.Option(help="The target language, where the model has several.")] = None,
    beam_size: Annotated[int | None, typer.Option(help="Unset: the model's own setting.")] = None,
    tokenize: Annotated[str, typer.Option(help="sacrebleu's tokenizer for BLEU: 13a, none, intl, char, zh, …")] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Compare without capital letters.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
) -> None:
    """Translate a test set and compare with its references, through sacrebleu, on raw text."""
    from vitrail.cli.progress import progressing
    from vitrail.data import read_sentences
    from vitrail.evaluate import compare, measure
    from vitrail.translator import load

    sources, references = list(read_sentences(source)), list(read_sentences(reference))

    def translations_of(path: Path) -> list[str]:
        if path.is_file():
            return list(read_sentences(path))
        with progressing() as progress:
            translator = load(path)
            done = translator.translate(sources, to=to, beam_size=beam_size, report=progress.working)
        return [translation.text for translation in done]

    translations = translations_of(model)
    if against is None:
        report = measure(translations, references, tokenize=tokenize, lowercase=lowercase)
        print(json.dumps(report.to_dict()) if as_json else report)
    else:
        systems = {str(model): translations, str(against): translations_of(against)}
        comparison = compare(systems, references, tokenize=tokenize, lowercase=lowercase)
        print(json.dumps(comparison.to_dict()) if as_json else comparison)
