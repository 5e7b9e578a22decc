"""`vitrail calibrate`: learn how sure a model may be of its translations."""

from __future__ import annotations

from typing import Annotated

import typer

from vitrail.cli.model import Model, Threads, To
from vitrail.cli.test_set import Pairs, Reference, ReferenceField, Source, SourceField, TestSet


def calibrate(
    model: Model,
    source: Source = None,
    reference: Reference = None,
    pairs: Pairs = None,
    source_field: SourceField = None,
    reference_field: ReferenceField = None,
    to: To = None,
    sentences: Annotated[int, typer.Option(min=1, help="Use at most this many sentences.")] = 2000,
    threads: Threads = None,
) -> None:
    """Learn from sentences with references how sure the model may be of its translations.

    The result is kept in the model's folder and used from then on.
    """
    from vitrail.box import BUILTIN, model_path
    from vitrail.cli.progress import progressing
    from vitrail.confidence import read_curves, write_curves
    from vitrail.errors import DataError
    from vitrail.evaluate.calibration import GOOD
    from vitrail.evaluate.calibration import calibrate as fitted
    from vitrail.translator import load

    if model == BUILTIN:
        raise DataError(
            "the built-in model is calibrated already, and nothing is written to it",
            where="MODEL",
            fix="name the folder of a model of your own",
        )
    folder = model_path(model)
    files = TestSet(source, reference, pairs, source_field, reference_field)
    sources, references, to = files.read(folder, to)
    translator = load(folder, threads=threads)
    with progressing() as progress:
        asked, chosen = translator.asked_language(to), slice(sentences)
        curve = fitted(translator, sources[chosen], references[chosen], to=asked, report=progress.working)
    assert translator.folder is not None
    path = write_curves(translator.folder, {**read_curves(translator.folder), asked or "": curve})
    print(
        f"{curve.good:,} of {curve.sentences:,} translations are good (chrF {GOOD:g} or more); a good one is above "
        f"another in {100 * curve.auc:.0f} % of cases"
    )
    print(f"confidence is 0.5 at a mean log-probability of {-curve.bias / curve.slope:.2f}")
    print(path)
