"""`vitrail translate`: a sentence, a file, or standard input, a sentence a line."""

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

if TYPE_CHECKING:
    from vitrail.translator import Translation


class Format(StrEnum):
    """How results are written."""

    TEXT = "text"
    JSON = "json"


def translate(
    model: Model,
    text: Annotated[str | None, typer.Argument(help="A sentence. Unset: --input, or standard input.")] = None,
    to: Annotated[str | None, typer.Option(help="The target language, where the model has several.")] = None,
    input_file: Annotated[
        Path | None, typer.Option("--input", help="A file, a sentence a line; .gz and .xz too.")
    ] = None,
    output_file: Annotated[Path | None, typer.Option("--output", help="Unset: standard output.")] = None,
    beam_size: Annotated[int | None, typer.Option(help="Partial translations kept at every step; 1 is greedy.")] = None,
    top_beams: Annotated[int | None, typer.Option(help="Translations returned for each sentence.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The length penalty's exponent.")] = None,
    penalty: Annotated[str | None, typer.Option(help="length or gnmt.")] = None,
    max_extra: Annotated[int | None, typer.Option(help="How much longer than its source a translation may be.")] = None,
    prefix: Annotated[str, typer.Option(help="How every translation begins.")] = "",
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="For --sample: below 1 safer, above 1 wilder.")] = None,
    top_k: Annotated[int | None, typer.Option(help="For --sample: draw from the k best only.")] = None,
    top_p: Annotated[float | None, typer.Option(help="For --sample: draw from the smallest set this probable.")] = None,
    seed: Annotated[int | None, typer.Option(help="For --sample.")] = None,
    style: Annotated[Format, typer.Option("--format", help="text: a line each; json: an object a line.")] = Format.TEXT,
) -> None:
    """Translate. Without TEXT or --input it reads standard input and writes as many lines."""
    from vitrail.errors import DataError
    from vitrail.translator import change_settings, load

    if text is not None and input_file is not None:
        raise DataError("both TEXT and --input are given", where="the command line", fix="give one of them")
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
    }
    decode = change_settings(translator.config, {key: value for key, value in given.items() if value is not None})
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
            print(f"warning: line {number} is left empty: the model does not know {words}", file=sys.stderr)
        if style is Format.JSON:
            print(json.dumps(translation.to_dict(), ensure_ascii=False), file=out, flush=True)
        elif alternatives and len(translation.alternatives) > 1:
            for other in translation.alternatives:
                print(f"{other.score:.4f}\t{_one_line(other.text)}", file=out)
        else:
            print(_one_line(translation.text), file=out, flush=True)


def _one_line(text: str) -> str:
    """A translation keeps to its line, whatever the model put into it."""
    return text.replace("\r", " ").replace("\n", " ")


def _lines(input_file: Path | None) -> tuple[Iterator[str], int]:
    """The lines to translate, and how many of them may wait for each other: one by one for a person who types."""
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
        # A folder says so now, not when the work is done; a device or a pipe is written to, not replaced.
        with explained(output_file), output_file.open("w", encoding="utf-8") as out:
            yield out
    else:
        with new_file(output_file) as partial, partial.open("w", encoding="utf-8") as out:
            yield out
            out.flush()


def _counted(translations: Iterator[Translation], *, show: bool) -> Iterator[Translation]:
    """The same translations, with progress on standard error where the results go elsewhere."""
    from vitrail.cli.progress import progressing

    if not show:
        yield from translations
        return
    with progressing() as progress:
        for number, translation in enumerate(translations, start=1):
            yield translation
            progress.working("translating", number, None)
