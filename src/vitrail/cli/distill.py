"""`vitrail distill`: a student that learns from a teacher's translations, and how it compares."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vitrail.cli.recipe import Changes, Options, ValidationSource, ValidationTarget, read_recipe

if TYPE_CHECKING:
    from vitrail.cli.resumable import ResumableFile
    from vitrail.config import Config, DecodeConfig
    from vitrail.distill import Part, Table
    from vitrail.translator import Translator

PRESET = "student"
LOG = "log.jsonl"  # how long the teacher took, session by session
AGAIN = "run the same command again"


def distill(
    teacher: Annotated[
        str, typer.Argument(metavar="TEACHER", help="Model folder of the teacher, or builtin for the built-in model.")
    ],
    recipe: Annotated[
        Path | None,
        typer.Argument(
            metavar="RECIPE",
            help="The student's recipe. The teacher translates the source side of its corpora, each into its language.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Model folder to write. What was interrupted resumes.")] = ...,  # type: ignore[assignment]
    source: Annotated[
        list[Path] | None,
        typer.Option(help="Sentences to translate, one per line, instead of the recipe's corpora. Repeatable."),
    ] = None,
    to: Annotated[str | None, typer.Option(help="Target language of --source, if the teacher has several.")] = None,
    validation_source: ValidationSource = None,
    validation_target: ValidationTarget = None,
    preset: Annotated[str | None, typer.Option(help="Size of the student. Default: the recipe's, or student.")] = None,
    keep_original: Annotated[
        bool, typer.Option("--keep-original", help="Train on the recipe's own translations as well.")
    ] = False,
    beam_size: Annotated[
        int | None, typer.Option(help="The teacher's beam size when it translates. Default: its own setting.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="The teacher's precision: float32, or int8, which is faster.")
    ] = None,
    tokenize: Annotated[str, typer.Option(help="sacrebleu's tokenizer for BLEU: 13a, none, intl, char, zh, …")] = "13a",
    changes: Changes = None,
) -> None:
    """Train a fast student on a teacher's translations, and compare the two.

    The teacher translates the source sentences into OUT/distilled; the student is trained on that; both translate the
    validation data. Stop it with Ctrl-C; the same command resumes it.
    """
    from vitrail.cli.search import search_settings
    from vitrail.cli.train import run
    from vitrail.distill import TABLE, Plan
    from vitrail.evaluate import check_tokenizer
    from vitrail.folder import DISTILLED
    from vitrail.storage import write_text
    from vitrail.translator import load

    # Check everything that can be wrong before the work begins.
    _refuse_several_processes()
    check_tokenizer(tokenize)
    translator = load(teacher)
    decode = search_settings(translator.config, {"beam_size": beam_size, "precision": precision})
    decode = decode.model_copy(update={"sample": False, "top_beams": 1})
    config = _settings(recipe, preset, validation_source, validation_target, changes)
    config = _with_sources(config, source or [], translator, to, keep_original=keep_original)
    plan = Plan.of(config, out)
    asked = plan.asked(translator, to)
    plan.claim(translator, teacher, decode)

    for part, language in zip(plan.parts, asked, strict=True):
        _translate(translator, part, language, decode)
    run(plan.student(keep_original=keep_original), out)
    table = _compare(translator, out, plan.parts[0].to or to, tokenize)
    write_text(out / DISTILLED / TABLE, json.dumps(table.to_dict(), indent=1, ensure_ascii=False) + "\n")
    print(table)


def _refuse_several_processes() -> None:
    from vitrail.errors import VitrailError

    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise VitrailError(
            "a distillation runs in one process", where="torchrun", fix="run it without torchrun: it uses all cores"
        )


def _settings(
    recipe: Path | None,
    preset: str | None,
    validation_source: Path | None,
    validation_target: Path | None,
    changes: list[str] | None,
) -> Config:
    """The student's settings. A recipe that names neither a size nor a model to start from gets the student's."""
    from vitrail.config import read_toml

    table = read_toml(recipe) if recipe is not None else {}
    sections = ((table.get("model"), "preset"), (table.get("train"), "start_from"))
    has_size = any(isinstance(section, dict) and key in section for section, key in sections)
    options: Options = {
        "model.preset": preset or (None if has_size else PRESET),
        "data.validation_source": validation_source,
        "data.validation_target": validation_target,
    }
    return read_recipe(recipe, options, changes)


def _with_sources(
    config: Config, sources: list[Path], teacher: Translator, to: str | None, *, keep_original: bool
) -> Config:
    """The settings with --source as corpora, if it is given."""
    from vitrail.cli.search import without_effect
    from vitrail.distill import sentences_corpus
    from vitrail.errors import DataError

    if not sources:
        if to is not None:
            raise without_effect("--to", "without --source", fix="set target_language of the recipe's corpora")
        return config
    if config.data.training_corpora():
        raise DataError(
            "there are sentences from --source, and corpora in the recipe",
            where="--source",
            fix="remove --source, or the corpora from the recipe",
        )
    if keep_original:
        raise without_effect(
            "--keep-original", "on --source, which has no translations", fix="name corpora in a recipe"
        )
    teacher.asked_language(to)
    assert teacher.folder is not None
    directions = teacher.folder.config.data.directions()
    corpora = tuple(sentences_corpus(file, directions, to) for file in sources)
    return config.model_copy(update={"data": config.data.model_copy(update={"corpora": corpora})})


def _translate(teacher: Translator, part: Part, to: str | None, decode: DecodeConfig) -> None:
    """Translate what is not translated yet. If this is interrupted, the complete chunks stay."""
    from vitrail.cli.progress import LineProgress
    from vitrail.cli.resumable import ResumableFile
    from vitrail.cli.warned import Kind, Warned
    from vitrail.distill import pair_line
    from vitrail.signals import ending_like_an_interrupt

    file = ResumableFile(part.file, {"to": to}, resume=True, again=AGAIN)
    if file.is_complete():
        return
    with (
        ending_like_an_interrupt(),
        file as out,
        _logged(file),
        Warned() as warned,
        LineProgress(out.lines, part.total()) as progress,
    ):
        progress.say(f"the teacher translates {part.corpus.name}{f' to {to}' if to else ''}")
        sources = part.sources()
        out.skip(sources, part.corpus.name)

        def end_chunk(*_: object) -> None:
            out.end_chunk()
            progress.translated(out.lines)

        for translation in teacher.stream(sources, to=to, decode=decode, report=end_chunk):
            where = f"{part.corpus.name}, line {out.lines + 1}"
            if translation.unknown:
                words = ", ".join(f"'{word}'" for word in translation.unknown)
                warned.of(Kind.UNKNOWN, f"{where} is left empty: the teacher does not know {words}")
            if translation.was_cut:
                warned.of(Kind.CUT, f"{where} is left empty: it is too long for the teacher")
            out.write(translation.source, pair_line(translation))
        progress.finished()


@contextmanager
def _logged(file: ResumableFile) -> Iterator[None]:
    """Log how many lines were translated in the block, and how long it took."""
    from vitrail.storage import explained

    began, before = time.monotonic(), file.lines
    try:
        yield
    finally:
        log = file.path.with_name(LOG)
        done = {"file": file.path.name, "lines": file.lines - before, "seconds": round(time.monotonic() - began, 1)}
        with explained(log), log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(done) + "\n")


def _compare(teacher: Translator, out: Path, to: str | None, tokenize: str) -> Table:
    """Measure both on the student's validation data; `to` is its language if it has only one."""
    from vitrail.cli.progress import progressing
    from vitrail.data import Prepared
    from vitrail.distill import System, compare_speed_and_quality
    from vitrail.translator import load

    student = load(out)
    assert student.folder is not None
    sets = Prepared.open(student.folder.data).validation
    has_name = teacher.languages or teacher.target_language is not None
    systems = [
        System("teacher", teacher, tuple((one.to or to) if has_name else None for one in sets)),
        System("student", student, tuple(one.to for one in sets)),
    ]
    with progressing() as progress:
        return compare_speed_and_quality(systems, sets, tokenize=tokenize, report=progress.working)
