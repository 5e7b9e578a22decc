"""`vitrail explain`: one translation with all its steps, as one HTML file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vitrail.cli.model import Model, Threads, To
from vitrail.cli.search import search_settings, without_effect


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Sentence to translate.")],
    out: Annotated[Path, typer.Option(help="HTML file to write, or FILE.json for the bare trace.")],
    to: To = None,
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
    live: Annotated[
        bool | None,
        typer.Option(
            "--live/--static",
            help="Put the model into the page, so that it translates any sentence. Default: if the file stays below "
            "15 MB.",
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Translate a sentence and write a page that shows every step.

    The page is a single file that needs no network. With the model inside, it also translates what you type. Search
    options default to the model's own settings.
    """
    from vitrail.errors import TraceError
    from vitrail.explain import Explanation
    from vitrail.trace.record import MAX_MB, TraceOptions
    from vitrail.translator import load

    as_trace = out.suffix == ".json"
    if as_trace and live is not None:
        raise without_effect("--live or --static", "on a bare trace", fix="write a page: --out page.html")
    if live and (max_mb is not None or layers is not None):
        raise without_effect("--layers or --max-mb", "on a live page, which has all weights", fix="remove --live")
    if max_mb is not None and not max_mb >= 0:  # nan neither
        raise TraceError(f"{max_mb:g} MB is not a size", where="--max-mb", fix="pass 0 or more")
    if max_mb is not None and as_trace and layers is not None:
        raise without_effect("--max-mb", "on a bare trace with --layers", fix="remove --max-mb or --layers")
    translator = load(model, threads=threads)
    decode = search_settings(translator.config, {"beam_size": beam_size, "top_beams": top_beams, "alpha": alpha})
    chosen = None if layers is None else [layer.strip() for layer in layers.split(",") if layer.strip()]
    off = parse_heads(heads_off or [], translator.model.config.heads)
    asked: TraceOptions = {"to": to, "decode": decode, "prefix": prefix, "heads_off": off, "reference": reference}
    if chosen is not None:
        asked["layers"] = chosen
    if max_mb is not None:
        asked["max_mb"] = max_mb
    made = translator.trace(text, **asked) if as_trace else translator.explain(text, live=live, **asked)
    made.save(out)
    size = out.stat().st_size / 1e6
    is_live = isinstance(made, Explanation) and made.model is not None
    limit = MAX_MB if max_mb is None else max_mb
    if not is_live and chosen is None and size > limit:
        print(f"note: even without layer weights the file is larger than {limit:g} MB", file=sys.stderr)
    if isinstance(made, Explanation) and made.left_out:
        print(
            f"note: the sentence is long. For {', '.join(made.left_out)} the page has only attention weights and "
            f"outputs; --layers {made.left_out[0]} keeps one layer whole, --max-mb 1000 keeps all",
            file=sys.stderr,
        )
    print(f"{out} ({size:.1f} MB{', with the model' if is_live else ''})")


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
