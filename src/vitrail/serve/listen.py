"""A socket that only this computer can reach, and the server that listens on it until Ctrl-C."""

from __future__ import annotations

import errno
import socket
from contextlib import nullcontext

import uvicorn
from starlette.types import ASGIApp

from vitrail.errors import VitrailError
from vitrail.serve.handover import opened

LOOPBACK = "127.0.0.1"
USUAL_PORT = 8765


def listen(port: int | None) -> socket.socket:
    """Listen on this port. 0 means any free port; None means the usual port, or any free one if it is in use."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, USUAL_PORT if port is None else port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        if port is None and isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            return listen(0)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "there is no such port"
        raise VitrailError(
            f"cannot listen on port {port or USUAL_PORT}: {reason.lower()}",
            where=LOOPBACK,
            fix="choose another --port; 0 picks a free one",
        ) from None
    return listening


def serve(app: ASGIApp, listening: socket.socket, *, open_address: str | None) -> None:
    """Serve until Ctrl-C. The socket is listening already, so the browser can be opened at once."""
    # Requests are not logged: their URLs contain the token.
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, lifespan="off")
    try:
        with nullcontext() if open_address is None else opened(open_address):
            uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # uvicorn has shut down cleanly, then raises the signal again
    finally:
        listening.close()
