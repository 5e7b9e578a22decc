"""Validation corpora: sentences to measure a model on, kept as unmodified text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from vitrail.data.corpora import Corpus, Pair
from vitrail.data.shards import AGAIN
from vitrail.documents import Count, Document
from vitrail.errors import DataError, FolderError
from vitrail.storage import LINES, regular

VALIDATION_PAIRS = 10_000  # at most this many of a corpus are used


@dataclass(frozen=True)
class ValidationSet:
    """Sentences and their translations; `to` is the target language if the model has several."""

    name: str
    to: str | None
    sources: list[str]
    references: list[str]


class ValidationEntry(Document):
    """The manifest's entry for a set, whose texts are the next `pairs` lines of the file."""

    name: str
    to: str | None
    pairs: Count


class _Line(Document):
    """A line of the file."""

    source: str
    reference: str


def held_out_sets(
    held_out: Sequence[tuple[Corpus, Sequence[Pair]]], languages: Sequence[str]
) -> tuple[list[ValidationSet], list[str]]:
    """The sets of pairs that were held out of the training data, and a note for each."""
    sets: list[ValidationSet] = []
    notes: list[str] = []
    for corpus, pairs in held_out:
        found: dict[str | None, ValidationSet] = {}
        for pair in pairs:
            _add(pair, found, f"held out of {corpus.name}", languages)
        sets.extend(found.values())
        notes += [f"{data.name}: {len(data.sources):,} pairs to validate on" for data in found.values()]
        if not found:
            notes.append(
                f"{corpus.name}: nothing is held out: at most a tenth of the pairs can be, and only sentences that "
                "occur once"
            )
    return sets, notes


def validation_sets(corpora: Sequence[Corpus], languages: Sequence[str]) -> tuple[list[ValidationSet], list[str]]:
    """The sets, one for each corpus and target language, and notes about skipped pairs.

    Only empty or malformed pairs are skipped. Odd, long and duplicate ones are measured like the rest.
    """
    sets: list[ValidationSet] = []
    notes: list[str] = []
    for corpus in corpora:
        found: dict[str | None, ValidationSet] = {}
        kept = skipped = 0
        for pair in corpus.pairs():
            if not (pair.source and pair.source.strip() and pair.target and pair.target.strip()):
                skipped += 1
                continue
            if kept == VALIDATION_PAIRS:
                notes.append(f"{corpus.name}: only the first {VALIDATION_PAIRS:,} pairs are used for validation")
                break
            _add(pair, found, corpus.name, languages)
            kept += 1
        if skipped:
            notes.append(f"{corpus.name}: {skipped:,} empty or malformed pairs skipped in validation")
        if not found:
            raise DataError(
                "no pair of this validation corpus can be used: all are empty or malformed",
                where=corpus.name,
                fix="give another corpus, or none",
            )
        sets.extend(found.values())
    return sets, notes


def _add(pair: Pair, sets: dict[str | None, ValidationSet], name: str, languages: Sequence[str]) -> None:
    """Put a pair into the set of its target language."""
    assert pair.source is not None and pair.target is not None
    to = pair.to if languages else None
    data = sets.setdefault(to, ValidationSet(f"{name} to {to}" if to else name, to, [], []))
    data.sources.append(pair.source)
    data.references.append(pair.target)


def write_validation(path: Path, sets: Sequence[ValidationSet]) -> list[dict[str, Any]]:
    """Write the texts of every set, one pair per line; return the manifest's entries, which `read_validation` needs."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for data in sets:
            for source, reference in zip(data.sources, data.references, strict=True):
                file.write(json.dumps({"source": source, "reference": reference}, ensure_ascii=False) + "\n")
    return [{"name": data.name, "to": data.to, "pairs": len(data.sources)} for data in sets]


def read_validation(path: Path, sets: Sequence[ValidationEntry]) -> tuple[ValidationSet, ...]:
    """Read what `write_validation` wrote."""
    wanted = sum(entry.pairs for entry in sets)
    try:
        with regular(path, most=LINES).open(encoding="utf-8", newline="\n") as file:
            pairs = [_Line.parse(line) for line in islice(file, wanted + 1)]
    except OSError as error:
        raise FolderError(f"cannot read it: {error.strerror}", where=str(path), fix="check its permissions") from None
    except ValueError as error:
        raise FolderError(f"{path.name} is damaged: {error}", where=str(path), fix=AGAIN) from None
    if len(pairs) != wanted:
        more = "more" if len(pairs) > wanted else f"{len(pairs):,}"
        what = f"{path.name} has {more} pairs, but the manifest counts {wanted:,}"
        raise FolderError(what, where=str(path), fix=AGAIN)
    found = []
    for entry in sets:
        own, pairs = pairs[: entry.pairs], pairs[entry.pairs :]
        sources, references = [pair.source for pair in own], [pair.reference for pair in own]
        found.append(ValidationSet(entry.name, entry.to, sources, references))
    return tuple(found)
