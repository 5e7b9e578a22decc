"""`vitrail translate`: translate a sentence, a file or standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from vitrail.cli.asked import Asked, GlossaryFile, Never, NeverTokens, Only, OnlyTokens
from vitrail.cli.formats import Format
from vitrail.cli.model import Coverage, Engine, Ensemble, Model, Precision, Threads, To
from vitrail.cli.search import search_settings, without_effect
from vitrail.cli.warned import Warned

if TYPE_CHECKING:
    from vitrail.translation import Translation


def translate(
    model: Model,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="Sentence to translate.")] = None,
    to: To = None,
    input_file: Annotated[Path | None, typer.Option("--input", help="File to translate; may be .gz or .xz.")] = None,
    output_file: Annotated[
        Path | None, typer.Option("--output", help="File to write. Default: standard output.")
    ] = None,
    field: Annotated[
        str | None,
        typer.Option(
            help="Field of each line to translate; the rest is kept. A number: a tab-separated column, counted from 1; "
            "the translation becomes the last column. A name: a JSON object's field; the translation is added to it."
        ),
    ] = None,
    document: Annotated[
        bool,
        typer.Option(
            "--document",
            help="Translate a text of many sentences and keep its layout; .html, .md, .srt and .po by their names.",
        ),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted translation into --output.")
    ] = False,
    beam_size: Annotated[int | None, typer.Option(help="Partial translations kept at each step; 1 is greedy.")] = None,
    top_beams: Annotated[
        int | None, typer.Option(help="Translations to return for TEXT, or for each line with --format json.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Exponent of the length penalty.")] = None,
    penalty: Annotated[str | None, typer.Option(help="Kind of length penalty: length or gnmt.")] = None,
    max_extra: Annotated[
        int | None, typer.Option(help="How many tokens longer than its source a translation may be.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Text that every translation must begin with.")] = "",
    align: Annotated[
        bool,
        typer.Option(
            "--align",
            help="After each translation, print which word of the source each of its words is from: ||| 0-0 1-2.",
        ),
    ] = False,
    glossary: GlossaryFile = None,
    never: Never = None,
    only: Only = None,
    never_tokens: NeverTokens = None,
    only_tokens: OnlyTokens = None,
    coverage: Coverage = None,
    alignment_heads: Annotated[
        str | None, typer.Option(help="Heads for --align and --coverage: all, a layer (1), or heads (0.3,1.2).")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw translations at random instead of searching.")] = False,
    temperature: Annotated[
        float | None, typer.Option(help="For --sample: below 1 is less random, above 1 more so.")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(help="For --sample: draw from the k most probable tokens; 0: all.")
    ] = None,
    top_p: Annotated[
        float | None, typer.Option(help="For --sample: draw from the fewest tokens with this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For --sample: seed of the random draws.")] = None,
    shortlist: Annotated[
        bool, typer.Option("--shortlist", help="Only predict tokens that the source leads to: faster.")
    ] = False,
    ensemble: Ensemble = None,
    engine: Engine = None,
    precision: Precision = None,
    threads: Threads = None,
    on_ray: Annotated[
        bool, typer.Option("--ray", help="Translate lines on a Ray cluster; each task takes --threads cores, or one.")
    ] = False,
    warn_below: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Warn about each translation with a lower confidence.")
    ] = None,
    style: Annotated[Format, typer.Option("--format", help="text, or json: one object per line.")] = Format.TEXT,
) -> None:
    """Translate a sentence, a file or standard input.

    Without TEXT and --input, it reads standard input. Each input line is one sentence and gives one line of output;
    with --document the input is one text, and its layout is kept. If it is interrupted on the way to a file, the same
    command with --resume continues.

    Search options default to the model's own settings.
    """
    from vitrail.cli.bulk import Files, translate_lines
    from vitrail.cli.document import read_text, translate_document, write_document
    from vitrail.errors import DataError
    from vitrail.translator import load

    if text is not None and input_file is not None:
        raise DataError("TEXT and --input cannot be combined", where="the command line", fix="pass one of them")
    if document:
        for option, is_given in (
            ("--field", field is not None),
            ("--resume", resume),
            ("--prefix", bool(prefix)),
            ("--align", align),
            ("--ray", on_ray),
            ("--warn-below", warn_below is not None),
        ):
            if is_given:
                raise without_effect(option, "with --document", fix=f"remove {option}, or give lines")
    if text is None and style is Format.TEXT and (top_beams or 1) > 1:
        raise without_effect("--top-beams", "on lines of text, which get one line each", fix="add --format json")
    for option, is_given in (("--field", field is not None), ("--resume", resume), ("--ray", on_ray)):
        if text is not None and is_given:
            raise without_effect(option, "on TEXT", fix=f"give lines with --input, or remove {option}")
    files = Files(input_file, field, output_file, style is Format.JSON, resume, on_ray)
    if text is None:
        files.check()
    content, kind = read_text(text, input_file) if document else ("", "")
    asked = Asked.of_options(
        to=to,
        prefix=prefix,
        align=align,
        glossary=glossary,
        never=never,
        only=only,
        never_tokens=never_tokens,
        only_tokens=only_tokens,
    )
    translator = load(model, threads=threads, ensemble=ensemble or ())
    given = {
        "beam_size": beam_size,
        "top_beams": top_beams,
        "alpha": alpha,
        "penalty": penalty,
        "max_extra": max_extra,
        "coverage": coverage,
        "alignment_heads": alignment_heads,
        "sample": sample or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "shortlist": shortlist or None,
        "engine": engine,
        "precision": precision,
    }
    decode = search_settings(translator.config, given, align=align)
    if document:
        shown = translate_document(translator, content, kind, asked, decode, shows_progress=files.shows_progress())
        with _writer(output_file) as out:
            write_document(out, shown, as_json=style is Format.JSON, is_file=text is None)
        return
    if text is None:
        translate_lines(translator, files, asked, decode, warn_below=warn_below)
        return
    with _writer(output_file) as out:
        translation = translator.translate(text, decode=decode, **asked.demands())
        Warned(below=warn_below, direction=translator.direction(to)).of_translation(translation, "the text")
        _write_text(out, translation, style)


def _write_text(out: TextIO, translation: Translation, style: Format) -> None:
    from vitrail.cli.bulk import as_line

    if style is Format.JSON:
        print(json.dumps(translation.to_dict(), ensure_ascii=False), file=out)
    elif len(translation.alternatives) > 1:
        for other in translation.alternatives:
            print(
                f"{other.score:.4f}\t{as_line(replace(translation, text=other.text, alignment=other.alignment))}",
                file=out,
            )
    else:
        print(as_line(translation), file=out)


@contextmanager
def _writer(output_file: Path | None) -> Iterator[TextIO]:
    from vitrail.storage import explained, new_file

    if output_file is None:
        yield sys.stdout
    elif output_file.exists() and not output_file.is_file():
        # Opening a folder fails now, not after the work. A device or a pipe is written to, not replaced.
        with explained(output_file), output_file.open("w", encoding="utf-8", newline="") as out:
            yield out
    else:
        with new_file(output_file) as partial, partial.open("w", encoding="utf-8", newline="") as out:
            yield out
            out.flush()
