"""`vitrail explain`: one translation, opened so that every step can be seen, as one HTML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.model import Model


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(help="A sentence.")],
    out: Annotated[Path, typer.Option(help="The page to write; with .json at its end, the bare trace.")],
    to: Annotated[str | None, typer.Option(help="The target language, where the model has several.")] = None,
    layers: Annotated[
        str | None, typer.Option(help="Whose weights to include: encoder.0,decoder.1, output, all. Unset: what fits.")
    ] = None,
    max_mb: Annotated[float, typer.Option(help="How large the file may grow by the weights of layers.")] = 4.0,
    beam_size: Annotated[int | None, typer.Option(help="Partial translations kept at every step; 1 is greedy.")] = None,
    top_beams: Annotated[int | None, typer.Option(help="Translations returned.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The length penalty's exponent.")] = None,
    prefix: Annotated[str, typer.Option(help="How the translation must begin.")] = "",
    heads_off: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ATTENTION:HEADS", help="Heads to switch off: decoder.0.cross_attention:0,3 or …:all; repeatable."
        ),
    ] = None,
    reference: Annotated[str | None, typer.Option(help="A translation to compare with, for the loss.")] = None,
) -> None:
    """Translate a sentence and write a page that shows every step: it needs no network and can be mailed."""
    from vitrail.explain import Explanation
    from vitrail.translator import change_settings, load

    translator = load(model)
    given = {"beam_size": beam_size, "top_beams": top_beams, "alpha": alpha}
    decode = change_settings(translator.config, {key: value for key, value in given.items() if value is not None})
    chosen = None if layers is None else [layer.strip() for layer in layers.split(",") if layer.strip()]
    off = parse_heads(heads_off or [], translator.model.config.heads)
    as_trace = out.suffix == ".json"
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
        print(f"note: without the weights of any layer the file has more than {max_mb:g} MB", file=sys.stderr)
    if isinstance(made, Explanation) and made.left_out:
        print(
            f"note: the sentence is long; of {', '.join(made.left_out)} the page holds only where the heads look and "
            f"what comes out (--layers {made.left_out[0]} keeps one whole, --max-mb 1000 all of them)",
            file=sys.stderr,
        )
    print(f"{out} ({size:.1f} MB)")


def parse_heads(options: list[str], heads: int) -> dict[str, list[int]]:
    """`decoder.0.cross_attention:0,3` as the model takes it; several of one attention add up."""
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
