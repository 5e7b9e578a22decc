"""Translate any number of lines: from a file or standard input, into a file or standard output."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from vitrail.cli.given import Given, is_device, is_same_file, opened
from vitrail.cli.warned import Kind, Warned

if TYPE_CHECKING:
    from vitrail.cli.asked import Asked
    from vitrail.cli.resumable import Job, ResumableFile
    from vitrail.config import DecodeConfig
    from vitrail.data import Rows
    from vitrail.translation import Translation
    from vitrail.translator import Demands, Report, Translator


@dataclass(frozen=True)
class Files:
    """What to read, which field of it, and what to write; None is standard input, the whole line, standard output."""

    given: Path | None
    field: str | None
    output: Path | None
    as_json: bool
    resume: bool
    on_ray: bool = False  # on a Ray cluster instead of this computer

    def check(self) -> Rows:
        """Refuse what cannot work, before the model is loaded; return how the lines are read."""
        from vitrail.data import rows_of
        from vitrail.errors import DataError

        rows = rows_of(self.field, self.given)
        if self.as_json and not rows.takes_objects:
            raise DataError(
                "--format json cannot be combined with a column",
                where="--field, --format",
                fix="remove --format json, or give the rows as JSON lines",
            )
        if self.resume and (self.output is None or is_device(self.output)):
            raise DataError(
                "only a translation into a file can be resumed", where="--resume", fix="name the file: --output FILE"
            )
        if self.output is not None and self.output.is_file() and is_same_file(self.given, self.output):
            raise DataError("this is the input", where=f"--output {self.output}", fix="write to another file")
        return rows

    def shows_progress(self) -> bool:
        """Whether to show it: not for a plain pipe, and not between the lines on a terminal."""
        return self.output is not None or (self.given is not None and not sys.stdout.isatty())


class Output(Protocol):
    """Where translated lines go."""

    lines: int  # how many are there

    def skip(self, lines: Iterator[str], name: str) -> None:
        """Skip the input of the lines that are there."""

    def write(self, source: str, line: str) -> None:
        """Write a line, made from the input line `source`."""

    def end_chunk(self) -> None:
        """Everything that is written is complete."""


class Stream:
    """Standard output, a device or a pipe: nothing can be continued there."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.lines = 0

    def skip(self, lines: Iterator[str], name: str) -> None:
        """Nothing is there."""

    def write(self, source: str, line: str) -> None:
        """Write a line at once: somebody may be waiting for it."""
        print(line, file=self.out, flush=True)
        self.lines += 1

    def end_chunk(self) -> None:
        """Nothing to record."""


def translate_lines(
    translator: Translator,
    files: Files,
    asked: Asked,
    decode: DecodeConfig,
    *,
    warn_below: float | None = None,
) -> None:
    """Translate every line. If this is interrupted on the way to a file, the complete lines stay."""
    from vitrail.cli.progress import LineProgress
    from vitrail.signals import ending_like_an_interrupt

    job = _job(translator, files, asked, decode)
    with ending_like_an_interrupt(), opened(files.given) as given, _opened_output(files, job, given) as out:
        if out is None:
            return
        out.skip(given.lines, given.name)
        source, shown = _Texts(given, files.check(), done=out.lines), files.shows_progress()
        direction = translator.direction(asked.to)
        with (
            Warned(below=warn_below, direction=direction) as warned,
            LineProgress(out.lines, given.total, is_shown=shown) as progress,
        ):

            def end_chunk(*_: object) -> None:
                out.end_chunk()
                progress.translated(out.lines)

            for translation in _stream(translator, source, files, decode, asked.demands(), end_chunk):
                line = source.lines.popleft()
                _warn(warned, translation, None if files.field else line, f"line {out.lines + 1}")
                text = translation.to_dict() if files.as_json else as_line(translation)
                out.write(line, source.rows.joined(line, text))
            progress.finished()


def _stream(
    translator: Translator,
    source: _Texts,
    files: Files,
    decode: DecodeConfig,
    demands: Demands,
    report: Report,
) -> Iterator[Translation]:
    """The translations, computed here or on a cluster."""
    if files.on_ray:
        from vitrail.on_ray import stream_on_ray

        return stream_on_ray(translator, source, decode=decode, report=report, **demands)
    return translator.stream(source, decode=decode, live=source.given.live, report=report, **demands)


@contextmanager
def _opened_output(files: Files, job: Job, given: Given) -> Iterator[Output | None]:
    """Where the lines go; None if they are all there."""
    from vitrail.cli.resumable import ResumableFile
    from vitrail.storage import explained

    if files.output is None:
        yield Stream(sys.stdout)
    elif is_device(files.output):
        with explained(files.output), files.output.open("w", encoding="utf-8") as device:
            yield Stream(device)
    else:
        file = ResumableFile(files.output, job, resume=files.resume)
        if files.resume and file.is_complete():
            _say_complete(file, given)
            yield None
        else:
            with file:
                yield file


class _Texts:
    """The texts to translate. The line of each is kept until its translation is written: a chunk or two of them."""

    def __init__(self, given: Given, rows: Rows, done: int) -> None:
        self.given = given
        self.rows = rows
        self.done = done
        self.lines: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self.given.lines, start=self.done + 1):
            text = self.rows.text(line, f"{self.given.name}, line {number}")
            self.lines.append(line)
            yield text


def _warn(warned: Warned, translation: Translation, line: str | None, where: str) -> None:
    """Warn about a translation, and about its line if that is translated whole."""
    if line is None or not warned.of_row(line, where):
        warned.of_translation(translation, where)
    if translation.was_cut:
        warned.of(Kind.CUT, f"{where} is too long for the model: only its beginning is translated")


def as_line(translation: Translation) -> str:
    """The text on one line, even if the model generates line breaks, and the alignment if there is one."""
    from vitrail.alignment import pharaoh

    text = translation.text.replace("\n", " ")
    text = text if translation.unchanged else text.replace("\r", " ")
    return text if translation.alignment is None else f"{text} ||| {pharaoh(translation.alignment)}"


def _say_complete(file: ResumableFile, given: Given) -> None:
    from vitrail.data import count_lines
    from vitrail.errors import DataError

    there = count_lines(file.path)
    if given.total is not None and there != given.total:
        raise DataError(
            f"there is nothing to resume, and this file has {there:,} lines where the input has {given.total:,}",
            where=str(file.path),
            fix="remove --resume to translate again and replace the file",
        )
    file.record_file.unlink(missing_ok=True)  # if the job was killed right before its end
    print(f"already complete: {file.path}, {there:,} lines", file=sys.stderr)


def _job(translator: Translator, files: Files, asked: Asked, decode: DecodeConfig) -> Job:
    """What a resumed job must have in common with the one that was interrupted, by name."""
    folders = [runtime.folder for runtime in (translator.runtime, *translator.runtime.others)]
    model, *others = [folder.fingerprint for folder in folders if folder is not None]
    return {
        "model": model,
        "ensemble": ", ".join(others) or None,
        "to": translator.asked_language(asked.to),
        **decode.model_dump(),
        **asked.to_record(),
        "field": files.field,
        "format": "json" if files.as_json else "text",
    }
