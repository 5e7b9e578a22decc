"""`vitrail studio`: the page, live, in the browser."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from vitrail.cli.model import Threads


def studio(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL", help="Model folders, folders of model folders, or builtin for the built-in model."
        ),
    ],
    port: Annotated[
        int | None,
        typer.Option(help="Port to listen on; 0: any free one. Default: 8765, or any free one if it is in use."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    threads: Threads = None,
) -> None:
    """Look inside translations of your own sentences, and follow a training run in progress. Stop it with Ctrl-C."""
    import secrets

    from vitrail.box import model_path
    from vitrail.serve.listen import listen, serve
    from vitrail.serve.pool import Pool
    from vitrail.serve.shelf import Shelf
    from vitrail.serve.studio import studio as make_studio

    shelf = Shelf(*map(model_path, models))
    pool = Pool(count=2, models=1, threads=threads)  # two: a long search does not hold up the next one
    listening = listen(port)
    number, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://127.0.0.1:{number}/?token={token}"
    names = ", ".join(shelf.folders())
    print(f"{names}: {address}", flush=True)
    print("Only this computer can reach it. Press Ctrl-C to stop.", file=sys.stderr)
    door = make_studio(shelf, pool, port=number, token=token)
    serve(door, listening, around=pool.running(), open_address=address if open_browser else None)
    print("studio closed", file=sys.stderr)
