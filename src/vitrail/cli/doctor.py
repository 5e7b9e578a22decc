"""`vitrail doctor`: what is wrong or wasteful in a recipe or a run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.recipe import (
    Changes,
    SourceFile,
    TargetFile,
    ValidationSource,
    ValidationTarget,
    data_options,
    read_recipe,
)


def doctor(
    what: Annotated[
        Path | None, typer.Argument(metavar="RECIPE|RUN", help="A recipe in TOML, or the folder of a run.")
    ] = None,
    source: SourceFile = None,
    target: TargetFile = None,
    validation_source: ValidationSource = None,
    validation_target: ValidationTarget = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also try averages and batch sizes on your data, which takes minutes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
    changes: Changes = None,
) -> None:
    """Examine data, settings and log, and say what to change.

    Without --probe it takes seconds. Nothing is written.
    """
    from vitrail.cli.search import without_effect
    from vitrail.doctor import Case, examine
    from vitrail.errors import ConfigError

    if what is None and source is None and not changes:
        raise ConfigError(
            "there is nothing to examine", where="vitrail doctor", fix="name a recipe, a run, or --source and --target"
        )
    options = data_options(source, target, validation_source, validation_target, strict=False)
    if what is not None and Case.is_run(what):
        if changes or any(options.values()):
            raise without_effect("files and --set", "with a run", fix="give its recipe instead, or remove them")
        case = Case.of_run(what)
    else:
        case = Case(read_recipe(what, options, changes))
    found = []
    for finding in examine(case, probe=probe):
        found.append(finding)
        if not as_json:
            print(finding, flush=True)
    if as_json:
        print(json.dumps([asdict(finding) for finding in found], ensure_ascii=False))
    elif not found:
        print("nothing found")
