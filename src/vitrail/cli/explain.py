"""`vitrail explain`: one translation with all its steps, as one HTML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.model import Model
from vitrail.cli.search import search_settings, without_effect


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Sentence to translate.")],
    out: Annotated[Path, typer.Option(help="HTML file to write, or FILE.json for the bare trace.")],
    to: Annotated[str | None, typer.Option(help="Target language, if the model has several.")] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="Layers whose weights to include: encoder.0,decoder.1,output or all. Default: what fits."),
    ] = None,
    max_mb: Annotated[
        float | None, typer.Option(help="Include layer weights up to this file size, in MB. Default: 4.")
    ] = None,
    beam_size: Annotated[int | None, typer.Option(help="Partial translations kept at each step; 1 is greedy.")] = None,
    top_beams: Annotated[int | None, typer.Option(help="Number of translations to return.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Exponent of the length penalty.")] = None,
    prefix: Annotated[str, typer.Option(help="Text that the translation must begin with.")] = "",
    heads_off: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:HEADS", help="Switch heads off: decoder.0.cross_attention:0,3 or …:all. Repeatable."
        ),
    ] = None,
    reference: Annotated[str | None, typer.Option(help="Reference translation to compute the loss on.")] = None,
) -> None:
    """Translate a sentence and write a page that shows every step.

    The page is a single file that needs no network. Search options default to the model's own settings.
    """
    from vitrail.errors import TraceError
    from vitrail.explain import Explanation
    from vitrail.trace.record import MAX_MB
    from vitrail.translator import load

    as_trace = out.suffix == ".json"
    if max_mb is None:
        max_mb = MAX_MB
    elif not max_mb >= 0:  # nan neither
        raise TraceError(f"{max_mb:g} MB is not a size", where="--max-mb", fix="pass 0 or more")
    elif as_trace and layers is not None:
        raise without_effect("--max-mb", "on a bare trace with --layers", fix="remove --max-mb or --layers")
    translator = load(model)
    decode = search_settings(translator.config, {"beam_size": beam_size, "top_beams": top_beams, "alpha": alpha})
    chosen = None if layers is None else [layer.strip() for layer in layers.split(",") if layer.strip()]
    off = parse_heads(heads_off or [], translator.model.config.heads)
    make = translator.trace if as_trace else translator.explain
    made = make(
        text,
        to=to,
        decode=decode,
        prefix=prefix,
        heads_off=off,
        reference=reference,
        layers=chosen,
        max_mb=max_mb,
    )
    made.save(out)
    size = out.stat().st_size / 1e6
    if chosen is None and size > max_mb:
        print(f"note: even without layer weights the file is larger than {max_mb:g} MB", file=sys.stderr)
    if isinstance(made, Explanation) and made.left_out:
        print(
            f"note: the sentence is long. For {', '.join(made.left_out)} the page has only attention weights and "
            f"outputs; --layers {made.left_out[0]} keeps one layer whole, --max-mb 1000 keeps all",
            file=sys.stderr,
        )
    print(f"{out} ({size:.1f} MB)")


def parse_heads(options: list[str], heads: int) -> dict[str, list[int]]:
    """Parse options such as `decoder.0.cross_attention:0,3`; repeated ones for the same attention add up."""
    from vitrail.errors import DecodeError

    off: dict[str, list[int]] = {}
    for option in options:
        name, _, listed = option.partition(":")
        try:
            chosen = list(range(heads)) if listed == "all" else [int(head) for head in listed.split(",")]
        except ValueError:
            raise DecodeError(
                f"cannot read '{option}'",
                where="--heads-off",
                fix="write it as decoder.0.cross_attention:0,3 or decoder.0.cross_attention:all",
            ) from None
        off[name] = [*off.get(name, []), *chosen]
    return off
