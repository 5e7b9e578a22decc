"""`vitrail translate`: translate a sentence, a file or standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from vitrail.cli.model import Model
from vitrail.cli.search import search_settings, without_effect

if TYPE_CHECKING:
    from vitrail.translator import Translation


class Format(StrEnum):
    """The output formats."""

    TEXT = "text"
    JSON = "json"


def translate(
    model: Model,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="Sentence to translate.")] = None,
    to: Annotated[str | None, typer.Option(help="Target language, if the model has several.")] = None,
    input_file: Annotated[Path | None, typer.Option("--input", help="File to translate; may be .gz or .xz.")] = None,
    output_file: Annotated[
        Path | None, typer.Option("--output", help="File to write. Default: standard output.")
    ] = None,
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
    style: Annotated[Format, typer.Option("--format", help="text, or json: one object per line.")] = Format.TEXT,
) -> None:
    """Translate a sentence, a file or standard input.

    Without TEXT and --input, it reads standard input. Each input line is one sentence and gives one line of output.

    Search options default to the model's own settings.
    """
    from vitrail.errors import DataError
    from vitrail.translator import load

    if text is not None and input_file is not None:
        raise DataError("TEXT and --input cannot be combined", where="the command line", fix="pass one of them")
    if text is None and style is Format.TEXT and (top_beams or 1) > 1:
        raise without_effect("--top-beams", "on lines of text, which get one line each", fix="add --format json")
    translator = load(model)
    given = {
        "beam_size": beam_size,
        "top_beams": top_beams,
        "alpha": alpha,
        "penalty": penalty,
        "max_extra": max_extra,
        "sample": sample or None,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
        "shortlist": shortlist or None,
    }
    decode = search_settings(translator.config, given)
    with _writer(output_file) as out:
        if text is not None:
            _write(out, [translator.translate(text, to=to, decode=decode, prefix=prefix)], style, alternatives=True)
        else:
            lines, chunk = _lines(input_file)
            found = translator.stream(lines, to=to, decode=decode, prefix=prefix, chunk=chunk)
            _write(out, _counted(found, show=output_file is not None or input_file is not None), style)


def _write(out: TextIO, translations: Iterable[Translation], style: Format, *, alternatives: bool = False) -> None:
    for number, translation in enumerate(translations, start=1):
        if translation.unknown:
            words = ", ".join(f"'{word}'" for word in translation.unknown)
            print(f"warning: line {number} has no translation: the model does not know {words}", file=sys.stderr)
        if style is Format.JSON:
            print(json.dumps(translation.to_dict(), ensure_ascii=False), file=out, flush=True)
        elif alternatives and len(translation.alternatives) > 1:
            for other in translation.alternatives:
                print(f"{other.score:.4f}\t{_one_line(other.text)}", file=out)
        else:
            print(_one_line(translation.text), file=out, flush=True)


def _one_line(text: str) -> str:
    """Keep a translation on one line, even if the model generates line breaks."""
    return text.replace("\r", " ").replace("\n", " ")


def _lines(input_file: Path | None) -> tuple[Iterator[str], int]:
    """The lines to translate, and how many to translate at once: one by one if a person is typing."""
    from vitrail.data import read_sentences, sentences_from
    from vitrail.translator import CHUNK

    if input_file is not None:
        return read_sentences(input_file), CHUNK
    return sentences_from(sys.stdin.buffer, "standard input"), 1 if sys.stdin.isatty() else CHUNK


@contextmanager
def _writer(output_file: Path | None) -> Iterator[TextIO]:
    from vitrail.storage import explained, new_file

    if output_file is None:
        yield sys.stdout
    elif output_file.exists() and not output_file.is_file():
        # Opening a folder fails now, not after the work. A device or a pipe is written to, not replaced.
        with explained(output_file), output_file.open("w", encoding="utf-8") as out:
            yield out
    else:
        with new_file(output_file) as partial, partial.open("w", encoding="utf-8") as out:
            yield out
            out.flush()


def _counted(translations: Iterator[Translation], *, show: bool) -> Iterator[Translation]:
    """Pass the translations on, with progress on standard error if `show`."""
    from vitrail.cli.progress import progressing

    if not show:
        yield from translations
        return
    with progressing() as progress:
        for number, translation in enumerate(translations, start=1):
            yield translation
            progress.working("translating", number, None)
