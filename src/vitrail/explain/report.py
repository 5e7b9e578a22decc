"""The report of a test set as one self-contained HTML file, with pages beside it for the worst sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitrail import __version__
from vitrail.errors import StorageError, TextError
from vitrail.evaluate.causes import cause_of
from vitrail.evaluate.diagnosis import JUDGE, Sentence
from vitrail.explain.explanation import explain
from vitrail.explain.page import build_shell, with_data
from vitrail.storage import write_text

if TYPE_CHECKING:
    from vitrail.config import DecodeConfig
    from vitrail.translator import Translator

REPORT = "report.html"  # of the viewer's files
DATA_ID = "vitrail-report"
MOST = 2000  # sentences that a report holds
CAUSES = 100  # of the worst sentences whose cause is looked for
LONGEST = 80  # tokens of a sentence that gets a page

Report = Callable[[str, int, int | None], None]


def write_report(
    path: Path,
    sentences: Sequence[Sentence],
    *,
    translator: Translator,
    systems: Sequence[str],
    metrics: Sequence[dict[str, Any]],
    to: str | None,
    decode: DecodeConfig,
    pages: int,
    report: Report | None = None,
) -> list[Path]:
    """Write a report, worst sentences first, and a page for each of the worst `pages`. Returns the files."""
    beside = _beside(path)
    shown, written = list(sentences[:MOST]), list[Path]()
    for number, sentence in enumerate(shown[:CAUSES]):
        if any(mistake.kind == "untranslated" for mistake in sentence.judged[0].mistakes):
            continue  # the model does not know its words, so nothing can be searched for
        cause = cause_of(translator, sentence.source, sentence.reference, to=to, decode=decode)
        shown[number] = replace(sentence, cause=cause)
        if len(written) < pages and len(translator.tokenizers.encode_source(sentence.source, to)) <= LONGEST:
            page = beside / f"{sentence.line}.html"
            _write_page(page, translator, sentence, to=to, decode=decode)
            written.append(page)
            shown[number] = replace(shown[number], page=f"{beside.name}/{page.name}")
        if report is not None:
            report("looking for causes", number + 1, min(CAUSES, len(shown)))
    document = {
        "vitrail": __version__,
        "systems": list(systems),
        "judge": JUDGE.name,
        "lines": len(sentences),
        "causes": min(CAUSES, len(shown)),
        "beam_size": decode.beam_size,
        "metrics": list(metrics),
        "sentences": [asdict(sentence) for sentence in shown],
    }
    content = with_data(_shell(), f"{' and '.join(systems)}: report", DATA_ID, json.dumps(document))
    write_text(path, content)
    return [path, *written]


def check_place(path: Path) -> None:
    """Raise an error now if the report could not be written there later."""
    if path.is_dir() or not path.parent.is_dir():
        raise StorageError(
            "this is a folder" if path.is_dir() else "there is no such folder",
            where=str(path if path.is_dir() else path.parent),
            fix="name a file in an existing folder, for example report.html",
        )
    beside = _beside(path)
    if beside.exists() and not beside.is_dir():
        raise StorageError(
            "the pages of single sentences need a folder of this name, but there is a file",
            where=str(beside),
            fix="name the report differently, or move the file",
        )


def _beside(path: Path) -> Path:
    """The folder for the pages of single sentences."""
    return path.with_name(f"{path.stem}-sentences")


def _write_page(
    page: Path, translator: Translator, sentence: Sentence, *, to: str | None, decode: DecodeConfig
) -> None:
    """The window on one sentence, with its reference if the model can write it."""
    page.parent.mkdir(exist_ok=True)
    try:
        made = explain(translator, sentence.source, to=to, decode=decode, reference=sentence.reference, max_mb=0.0)
    except TextError:
        made = explain(translator, sentence.source, to=to, decode=decode, max_mb=0.0)
    made.save(page)


@cache
def _shell() -> str:
    """The report without its data."""
    return build_shell(files("vitrail") / "web", REPORT)
