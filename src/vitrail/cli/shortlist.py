"""`vitrail shortlist`: learn which target tokens each source token may lead to, and measure what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vitrail.cli.model import Model, Threads

if TYPE_CHECKING:
    from vitrail.data import Shard, ValidationSet
    from vitrail.folder import ModelFolder

HELD_OUT = 500  # of the given pairs, at most a tenth: not learnt from but measured on


def shortlist(
    model: Model,
    source: Annotated[
        Path | None, typer.Option(help="Sentences to learn from, one per line. Default: the run's own training data.")
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Instead of both: one file of pairs, TSV or JSON lines.")] = None,
    to: Annotated[
        str | None,
        typer.Option(help="Language of the translations, if the model has several. The reverse is learnt as well."),
    ] = None,
    size: Annotated[int, typer.Option(min=1, help="Most target tokens for one source token.")] = 50,
    frequent: Annotated[int, typer.Option(min=0, help="How many frequent tokens every sentence may lead to.")] = 3500,
    out: Annotated[Path | None, typer.Option(help="File to write. Default: shortlist.safetensors in MODEL.")] = None,
    measure: Annotated[bool, typer.Option(help="Translate validation data to measure the cost.")] = True,
    threads: Threads = None,
) -> None:
    """Learn a shortlist for --shortlist: the target tokens that each source token may lead to.

    It is learnt from pairs by IBM model 1. Then validation data is translated without and with it.
    """
    from vitrail.box import PLACE, model_path
    from vitrail.cli.progress import progressing
    from vitrail.errors import FolderError
    from vitrail.evaluate import shortlist_cost
    from vitrail.folder import ModelFolder
    from vitrail.runtime.shortlist import FILE, Shortlist
    from vitrail.translator import load

    folder = ModelFolder.open(model_path(model))
    path = out or folder.path / FILE
    if out is None and folder.path == PLACE:
        raise FolderError("nothing is written into the built-in model", where=str(path), fix="give --out FILE")
    with progressing() as progress, _data(folder, source, target, pairs, to) as (shards, validation):
        made = Shortlist.learn(shards, folder.tokenizers, size=size, frequent=frequent, report=progress.working)
        made.save(path, vocabulary=folder.vocabulary)
        print(f"{path}: {len(made.ids):,} entries, {path.stat().st_size / 1e6:.1f} MB")
        if not measure or not folder.has_weights:
            return
        translator = load(folder.path, threads=threads)
        translator.runtime.shortlist = made
        for one in validation:
            print(shortlist_cost(translator, one, report=progress.working))
        if not validation:
            progress.say("note: the model has no validation data, so the cost was not measured")


Data = tuple[Sequence["Shard"], Sequence["ValidationSet"]]


@contextmanager
def _data(
    folder: ModelFolder, source: Path | None, target: Path | None, pairs: Path | None, to: str | None
) -> Iterator[Data]:
    """What to learn from, and what to measure on."""
    from vitrail.cli.search import without_effect
    from vitrail.data import Prepared, ValidationSet, encoded, read_aligned, read_pairs
    from vitrail.errors import DataError

    fix = "give --source and --target, or --pairs"
    if pairs is not None and source is None and target is None:
        sides = read_pairs(pairs)
    elif pairs is None and source is not None and target is not None:
        sides = read_aligned(source, target)
    elif pairs is not None or source is not None or target is not None:
        raise DataError("the pairs are incomplete, or given twice", where="--source, --target, --pairs", fix=fix)
    else:
        if to is not None:
            raise without_effect("--to", "without --pairs, or --source and --target", fix="remove it")
        if not folder.data.exists() or not folder.has_vocabulary_of(folder.data):
            raise DataError("the model's own training data is not here", where=str(folder.data), fix=fix)
        prepared = Prepared.open(folder.data)
        yield prepared.train, prepared.validation
        return
    count = len(sides[0])
    every = max(10, -(-count // HELD_OUT))
    if count < 10:
        raise DataError(f"there are only {count} pairs", where=str(pairs or source), fix="give thousands")
    learnt = [[text for number, text in enumerate(side) if number % every] for side in sides]
    kept = [side[::every] for side in sides]
    with ExitStack() as stack:
        shards, validation = [], []
        for language, is_reverse in _directions(folder, to).items():
            (sources, targets), (held, references) = (both[::-1] if is_reverse else both for both in (learnt, kept))
            shards.append(stack.enter_context(encoded(sources, targets, folder.tokenizers, to=language)))
            validation.append(ValidationSet("held-out pairs", language, held, references))
        yield shards, validation


def _directions(folder: ModelFolder, to: str | None) -> dict[str | None, bool]:
    """The target languages that pairs into `to` teach, each with whether the pairs are turned around for it."""
    from vitrail.errors import DataError

    words, known = folder.tokenizers, folder.config.data.directions()
    if not words.languages:
        return {None: False}
    words.encode_source("", to)  # refuses other languages
    sources = {source for source, target in known if target == to}
    found: dict[str | None, bool] = {to: False}
    if len(sources) == 1 and (to, *sources) in known:
        found[sources.pop()] = True
    for language in words.languages:
        if language not in found:
            raise DataError(
                f"these pairs teach nothing about translating into '{language}'",
                where="--to",
                fix="run the command where the model's own training data is",
            )
    return found
