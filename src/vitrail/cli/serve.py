"""`vitrail serve`: translations for other programs, over HTTP."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vitrail.serve.limits import Limits

_USUAL = Limits()


class LogFormat(StrEnum):
    """How requests are logged."""

    TEXT = "text"
    JSON = "json"
    NONE = "none"


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Model folders, folders of model folders, or builtin. FOLDER=de-en names the languages of a model "
            "that does not.",
        ),
    ],
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free one.")] = 5000,
    address: Annotated[
        str, typer.Option(help="Address to listen on. Others than this computer's need keys.")
    ] = "127.0.0.1",
    keys: Annotated[
        Path | None, typer.Option(help="File of API keys, made by `vitrail keys`; requests then need one.")
    ] = None,
    open_to_all: Annotated[
        bool,
        typer.Option("--open-to-all", help="Listen on another address without keys: whoever can reach it may use it."),
    ] = False,
    host_name: Annotated[
        list[str] | None,
        typer.Option(help="Name under which this server may be reached, such as that of a proxy in front of it."),
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(help="Origin of web pages that may use this server, or *. Default: none.")
    ] = None,
    with_studio: Annotated[bool, typer.Option("--studio/--no-studio", help="Show the page at /.")] = True,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that translate. Default: one for each core, at least two.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Cores that each of them uses.")] = 1,
    per_minute: Annotated[
        int, typer.Option(min=0, help="Requests a minute of a key or, without keys, of an address; 0: any number.")
    ] = _USUAL.per_minute,
    max_bytes: Annotated[int, typer.Option(min=1, help="Size of a request.")] = _USUAL.body_bytes,
    max_texts: Annotated[int, typer.Option(min=1, help="Texts in a request.")] = _USUAL.texts,
    max_characters: Annotated[int, typer.Option(min=1, help="Characters of a text.")] = _USUAL.characters,
    max_queue: Annotated[int, typer.Option(min=1, help="Sentences that may wait.")] = _USUAL.queue,
    max_wait: Annotated[
        float, typer.Option(min=0.1, help="Seconds that a sentence may have to wait, about.")
    ] = _USUAL.wait_seconds,
    max_connections: Annotated[int, typer.Option(min=1, help="Connections that may be open.")] = _USUAL.connections,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Time for a request.")] = _USUAL.seconds,
    max_arrival: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a request's head and its body to arrive, and to read an answer.")
    ] = _USUAL.arrival_seconds,
    max_idle: Annotated[
        float, typer.Option(min=1, help="Seconds that a connection may stay open between two requests.")
    ] = _USUAL.idle_seconds,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds to finish requests after SIGTERM.")
    ] = _USUAL.grace_seconds,
    log: Annotated[
        LogFormat, typer.Option(help="Log of requests on standard error: text, json or none.")
    ] = LogFormat.TEXT,
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Log what users send, too.")] = False,
) -> None:
    """Translate for other programs, over HTTP, as LibreTranslate does. Stop it with Ctrl-C; SIGHUP reads models anew.

    It listens on this computer only. To let others in, make keys: `vitrail keys`.
    """
    import os

    from vitrail.errors import VitrailError
    from vitrail.runtime.tuning import cores
    from vitrail.serve.directory import Directory
    from vitrail.serve.entrance import Entrance
    from vitrail.serve.guard import local_hosts
    from vitrail.serve.keys import read_keys
    from vitrail.serve.listen import is_local, listen
    from vitrail.serve.listen import serve as listen_and_serve
    from vitrail.serve.pool import Pool
    from vitrail.serve.records import Log
    from vitrail.serve.server import Server

    if not is_local(address) and keys is None and not open_to_all:
        raise VitrailError(
            f"{address} can be reached from other computers, and there are no keys",
            where="--address",
            fix="make keys (`vitrail keys FILE --add NAME`) and pass --keys FILE, or add --open-to-all",
        )
    known = read_keys(keys) if keys is not None else []
    if keys is not None and not known:
        raise VitrailError("there is no key in it", where=str(keys), fix=f"`vitrail keys {keys} --add NAME`")
    directory = Directory(models)
    limits = Limits(
        body_bytes=max_bytes,
        texts=max_texts,
        characters=max_characters,
        queue=max_queue,
        wait_seconds=max_wait,
        seconds=max_seconds,
        arrival_seconds=max_arrival,
        idle_seconds=max_idle,
        connections=max_connections,
        grace_seconds=grace,
        per_minute=per_minute,
    )
    listening = listen(port, address)
    number = listening.getsockname()[1]
    is_private = is_local(address) and not known and not open_to_all
    hosts = local_hosts(number) | frozenset(host_name or ()) if is_private or host_name else None
    entrance = Entrance(known, hosts, tuple(cors or ()), per_minute)
    pool = Pool(count=workers or max(2, cores()), models=len(directory.models), threads=threads)
    stream = Path(os.devnull).open("w", encoding="utf-8") if log is LogFormat.NONE else None  # noqa: SIM115
    server = Server(
        directory,
        pool,
        entrance,
        limits,
        Log(as_json=log is LogFormat.JSON, with_texts=log_texts, stream=stream),
        with_studio=with_studio,
    )
    shown = f"[{address}]" if ":" in address else address
    print(f"{', '.join(directory.models)}: http://{shown}:{number}", flush=True)
    listen_and_serve(server.door, listening, around=server.running(), on_hangup=server.reload)
    print("server closed", file=sys.stderr)
