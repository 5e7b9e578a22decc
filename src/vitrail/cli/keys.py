"""`vitrail keys`: who may use a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def keys(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of keys; --add makes it.")],
    add: Annotated[
        str | None, typer.Option(metavar="NAME", help="Make a key, and print it: it is kept nowhere.")
    ] = None,
    remove: Annotated[str | None, typer.Option(metavar="NAME", help="Remove a key.")] = None,
    per_minute: Annotated[
        int, typer.Option(min=0, help="For --add: requests a minute with this key; 0: what the server allows.")
    ] = 0,
) -> None:
    """List, make or remove the API keys of `vitrail serve --keys FILE`, which reads the file when it starts."""
    from vitrail.errors import VitrailError
    from vitrail.serve.keys import add_key, read_keys, remove_key

    if add is not None and remove is not None:
        raise VitrailError(
            "--add and --remove cannot be combined", where="the command line", fix="use one after the other"
        )
    if per_minute and add is None:
        raise VitrailError("--per-minute has no effect without --add", where="the command line", fix="remove it")
    if add is not None:
        print(add_key(file, add, per_minute=per_minute))
        print(f"this is the only time that the key of '{add}' is shown", file=sys.stderr)
    elif remove is not None:
        remove_key(file, remove)
    else:
        for key in read_keys(file):
            print(f"{key.name}\t{f'{key.per_minute:,} a minute' if key.per_minute else 'no limit of its own'}")
