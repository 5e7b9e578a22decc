"""A socket, and the server that listens on it until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext

import uvicorn

from vitrail.errors import VitrailError
from vitrail.serve.connections import connection_class
from vitrail.serve.door import Door
from vitrail.serve.handover import opened

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8765
LINGER = 0.3  # seconds to tell those who come late that the server is shutting down

Closing = Callable[[], None]


def is_local(address: str) -> bool:
    """Whether only this computer can reach this address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def listen(port: int | None, address: str = LOOPBACK) -> socket.socket:
    """Listen on this port. 0 means any free port; None means the usual port, or any free one if it is in use."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, USUAL_PORT if port is None else port))
        listening.listen(1024)
    except (OSError, OverflowError) as error:
        listening.close()
        if port is None and isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            return listen(0, address)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "there is no such port"
        raise VitrailError(
            f"cannot listen on port {USUAL_PORT if port is None else port}: {reason.lower()}",
            where=address,
            fix="choose another --port; 0 picks a free one",
        ) from None
    return listening


def serve(
    door: Door,
    listening: socket.socket,
    *,
    around: AbstractAsyncContextManager[None] | None = None,
    open_address: str | None = None,
    on_hangup: Closing | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM: then finish what is running, within the grace period.

    `around` is entered before the first request and left after the last. The socket is listening already, so a browser
    can be opened at once. `on_hangup` is called at SIGHUP, which ends the server if there is none.
    """
    limits = door.limits
    config = uvicorn.Config(
        door,
        http=connection_class(limits),
        log_level="error",  # requests are logged by their door
        access_log=False,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=64 * 1024,
        lifespan="off",
        ws="none",
        server_header=False,
    )
    try:
        with nullcontext() if open_address is None else opened(open_address), asyncio.Runner() as runner:
            runner.run(_serve(_Server(config), door, listening, around or _nothing(), on_hangup))
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()


class _Server(uvicorn.Server):
    """uvicorn without its own handling of signals, after which the process would end as if it were killed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(
    server: uvicorn.Server,
    door: Door,
    listening: socket.socket,
    around: AbstractAsyncContextManager[None],
    on_hangup: Closing | None,
) -> None:
    loop = asyncio.get_running_loop()
    ending: set[asyncio.Task[None]] = set()

    def end() -> None:
        if door.is_closing:  # a second time: at once
            server.should_exit = server.force_exit = True
        else:
            door.is_closing = True
            ending.add(asyncio.ensure_future(_finish(server, door)))

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    if on_hangup is not None or signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
        loop.add_signal_handler(signal.SIGHUP, on_hangup or end)
    async with around:
        await server.serve(sockets=[listening])


async def _finish(server: uvicorn.Server, door: Door) -> None:
    """Wait until no request is inside, or for the grace period; then end the server."""
    try:
        async with asyncio.timeout(door.limits.grace_seconds):
            while door.running:
                await asyncio.sleep(0.02)
            await asyncio.sleep(LINGER if door.limits.grace_seconds > LINGER else 0)
    except TimeoutError:
        pass
    server.should_exit = True


@asynccontextmanager
async def _nothing() -> AsyncIterator[None]:
    yield
