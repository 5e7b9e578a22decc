"""`vitrail publish`: models as a static site, which any web host can serve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vitrail.cli.model import Threads

if TYPE_CHECKING:
    from vitrail.weights import Precision


def publish(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL", help="Model folders, or builtin for the built-in model.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write. An earlier site there is replaced.")],
    precision: Annotated[
        str | None,
        typer.Option(help="Store weights in float16 or int8. Default: as the model does; float32 becomes float16."),
    ] = None,
    example: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Sentence for the start page, instead of the models' own. Repeatable."),
    ] = None,
    to: Annotated[str | None, typer.Option(help="Target language of these sentences.")] = None,
    threads: Threads = None,
) -> None:
    """Write a static site that translates in the reader's browser, and shows every step.

    Put the folder on any web host: GitHub Pages, a learning platform, a school's server. Nothing runs there.
    """
    from vitrail.cli.search import without_effect
    from vitrail.errors import ConfigError
    from vitrail.explain.site import publish as write_site
    from vitrail.translator import load

    if precision not in (None, "float16", "int8"):
        raise ConfigError(
            f"a site cannot store weights in '{precision}'", where="--precision", fix="choose float16 or int8"
        )
    if to is not None and not example:
        raise without_effect("--to", "without --example", fix="add --example, or remove --to")
    translators = [load(model, threads=threads) for model in models]
    chosen: Precision | None = "int8" if precision == "int8" else "float16" if precision else None
    for model in write_site(translators, out, precision=chosen, sentences=example or [], to=to):
        print(f"{out / model.file} ({model.size / 1e6:.1f} MB)")
    index = out / "index.html"
    print(f"{index} ({index.stat().st_size / 1e6:.1f} MB)")
    print(f"to look at it here: python -m http.server --directory {out}", file=sys.stderr)
