"""A static site: the page, and models beside it. Any web host can serve it; nothing of it runs on the server.

    site/index.html             the viewer with its scripts, the start page, and the list of models
    site/models/NAME-HASH.model  a model's file (`model_file.py`), compressed; the hash changes with its content

A browser fetches a model when it is asked to translate with it, and keeps it under that name. All addresses are
relative, so the site works in any folder of a host.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vitrail.errors import StorageError, TextError, TraceError
from vitrail.explain.examples import examples
from vitrail.explain.live import compress, engine_element
from vitrail.explain.model_file import model_file
from vitrail.explain.page import INDEX, SITE, shell, with_data
from vitrail.storage import explained, new_folder

if TYPE_CHECKING:
    from vitrail.translator import Translator
    from vitrail.weights import Precision

SITE_ID = "vitrail-site"
MOST_MB = 60.0  # of a model: more would keep a reader waiting, and fill the browser's memory

_MODELS = "models"
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Published:
    """A model of a site: its name, its file within the site, and the size of that file in bytes."""

    name: str
    file: str
    size: int


def publish(
    translators: Sequence[Translator],
    out: Path,
    *,
    precision: Precision | None = None,
    sentences: Sequence[str] = (),
    to: str | None = None,
) -> list[Published]:
    """Write a site with these models, whole or not at all. An earlier site in its place is replaced.

    `sentences` stand on the start page instead of examples of the models' own, to be translated into `to`.
    """
    _refuse_other_folders(out)
    made: list[Published] = []
    entries: list[dict[str, Any]] = []
    with new_folder(out) as folder, explained(out):
        (folder / _MODELS).mkdir()
        for translator in translators:
            name, content = translator.name, _packed(translator, precision)
            if any(name == other.name for other in made):
                raise TraceError(f"two models are called '{name}'", where="the models", fix="rename one of the folders")
            digest = hashlib.sha256(content).hexdigest()[:16]
            file = f"{_MODELS}/{_PLAIN.sub('-', name)}-{digest}.model"
            (folder / file).write_bytes(content)
            made.append(Published(name, file, len(content)))
            entries.append(
                {
                    "name": name,
                    "languages": list(translator.languages),
                    "examples": _examples(translator, sentences, to),
                    "file": file,
                    "size": len(content),
                }
            )
        listed = json.dumps({"models": entries})
        page = with_data(shell(SITE), "Translate, and see how", SITE_ID, listed, engine_element())
        (folder / INDEX).write_text(page, encoding="utf-8")
    return made


def _packed(translator: Translator, precision: Precision | None) -> bytes:
    content = compress(model_file(translator, precision, with_run=True).content)
    if len(content) > MOST_MB * 1e6:
        raise TraceError(
            f"'{translator.name}' takes {len(content) / 1e6:.0f} MB; a site takes models of at most {MOST_MB:.0f} MB",
            where=translator.name,
            fix="pack it (--precision int8), or distil a smaller student",
        )
    return content


def _examples(translator: Translator, sentences: Sequence[str], to: str | None) -> list[dict[str, Any]]:
    if not sentences:
        return examples(translator.folder) if translator.folder is not None else []
    language = translator.asked_language(to or next(iter(translator.languages), None))
    for text in sentences:
        if unknown := translator.tokenizers.source.unknown(text):
            names = ", ".join(f"'{word}'" for word in unknown)
            raise TextError(f"'{translator.name}' does not know {names}", where=text, fix="use words that it knows")
    return [{"text": text, "to": language} for text in sentences]


def _refuse_other_folders(out: Path) -> None:
    """Raise an error rather than replace a folder that is not a site of ours."""
    try:
        if not out.exists() or (out.is_dir() and not any(out.iterdir())):
            return
        index = out / INDEX
        is_ours = index.is_file() and f'id="{SITE_ID}"' in index.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"cannot read: {error.strerror}", where=str(out), fix="check its permissions") from None
    if not is_ours:
        raise StorageError(
            "this exists, and it is not a site that `vitrail publish` wrote", where=str(out), fix="choose another name"
        )
