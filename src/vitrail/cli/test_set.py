"""A test set that a command is given: two files, one file of pairs, or the validation data of a run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.search import without_effect

Source = Annotated[Path | None, typer.Option(help="Sentences, one per line. Default: the run's own validation data.")]
Reference = Annotated[Path | None, typer.Option(help="Their reference translations, line by line.")]
Pairs = Annotated[Path | None, typer.Option(help="Instead of both: one file of pairs, TSV or JSON lines.")]
SourceField = Annotated[
    str | None, typer.Option(help="Sources in --pairs: a column, counted from 1, or a key. Default: 1 or source.")
]
ReferenceField = Annotated[str | None, typer.Option(help="References in --pairs, likewise. Default: 2 or target.")]


@dataclass(frozen=True)
class TestSet:
    """The options that name a test set; with none of them, it is the validation data of the run."""

    source: Path | None
    reference: Path | None
    pairs: Path | None
    source_field: str | None
    reference_field: str | None

    def read(self, folder: Path, to: str | None) -> tuple[list[str], list[str], str | None]:
        """The sources, the references, and their language; the one of a run's validation data if none is asked for."""
        from vitrail.data import read_aligned, read_pairs
        from vitrail.errors import DataError

        for option, field in (("--source-field", self.source_field), ("--reference-field", self.reference_field)):
            if field is not None and self.pairs is None:
                raise without_effect(option, "without --pairs", fix=f"give --pairs, or remove {option}")
        if self.pairs is not None and self.source is None and self.reference is None:
            fields = {"source_field": self.source_field, "target_field": self.reference_field}
            return *read_pairs(self.pairs, **fields), to
        if self.pairs is None and self.source is not None and self.reference is not None:
            return *read_aligned(self.source, self.reference), to
        if self.pairs is None and self.source is None and self.reference is None:
            return own_validation(folder, to)
        raise DataError(
            "the test set is incomplete, or there is more than one",
            where="--source, --reference, --pairs",
            fix="give --source and --reference, or --pairs",
        )


def own_validation(path: Path, to: str | None) -> tuple[list[str], list[str], str | None]:
    """The sources, references and target language of a run's validation data."""
    from vitrail.data import Prepared
    from vitrail.errors import DataError
    from vitrail.folder import ModelFolder

    folder = ModelFolder.open(path)
    data = folder.data
    known = Prepared.open(data).validation if data.exists() else ()  # a model may have been copied without its data
    if known and not folder.has_vocabulary_of(data):
        raise DataError(
            "this is not the data that the model was trained on",
            where=str(data),
            fix="give --source and --reference, or --pairs",
        )
    sets = [one for one in known if to is None or one.to in (to, None)]
    if not sets:
        what = f" into '{to}'" if known else ""
        raise DataError(
            f"there is no test set, and the model has no validation data{what}",
            where=str(data),
            fix="give --source and --reference, or --pairs",
        )
    if len({one.to for one in sets}) > 1:
        languages = ", ".join(sorted({str(one.to) for one in sets}))
        raise DataError("the model was validated in several directions", where=str(data), fix=f"give --to: {languages}")
    print(f"on the model's own validation data: {', '.join(one.name for one in sets)}", file=sys.stderr)
    sources = [text for one in sets for text in one.sources]
    references = [text for one in sets for text in one.references]
    return sources, references, to or sets[0].to
