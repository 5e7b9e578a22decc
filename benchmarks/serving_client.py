"""Clients of a translation server, in a process of their own: benchmarks/serving.py starts it.

Reads a job as JSON from standard input and writes what happened: for every request its status and its seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any


@dataclass
class Clients:
    """Many clients of one server."""

    port: int
    bodies: list[bytes]
    statuses: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    texts: list[int] = field(default_factory=list)  # in every answer
    errors: list[str] = field(default_factory=list)
    next: Any = field(default_factory=count)

    async def ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = self.bodies[next(self.next) % len(self.bodies)]
        began = monotonic()
        writer.write(
            b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % (self.port, len(body)) + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        lines = head.lower().split(b"\r\n")
        length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
        content = await reader.readexactly(length)
        self.statuses.append(status)
        self.seconds.append(monotonic() - began)
        self.texts.append(len(json.loads(content)["translatedText"]) if status == 200 else 0)

    async def client(self, until: float) -> None:
        """A client that asks again as soon as it is answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            while monotonic() < until:
                await self.ask(reader, writer)
        except (OSError, asyncio.IncompleteReadError) as error:
            self.errors.append(repr(error))
        finally:
            writer.close()

    async def once(self) -> None:
        """A client that asks once."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            await self.ask(reader, writer)
            writer.close()
        except (OSError, asyncio.IncompleteReadError) as error:
            self.errors.append(repr(error))

    async def closed_loop(self, clients: int, seconds: float) -> None:
        """So many clients, each with one request at a time."""
        until = monotonic() + seconds
        await asyncio.gather(*(self.client(until) for _ in range(clients)))

    async def open_loop(self, rate: float, seconds: float) -> None:
        """So many requests a second, whatever the answers are."""
        began, sent, running = monotonic(), 0, set()
        while (now := monotonic() - began) < seconds:
            while sent < now * rate:
                task = asyncio.ensure_future(self.once())
                running.add(task)
                task.add_done_callback(running.discard)
                sent += 1
            await asyncio.sleep(0.01)
        await asyncio.gather(*running)


def main() -> None:
    job = json.load(sys.stdin)
    clients = Clients(job["port"], [body.encode() for body in job["bodies"]])
    began = monotonic()
    if job.get("rate"):
        asyncio.run(clients.open_loop(job["rate"], job["seconds"]))
    else:
        asyncio.run(clients.closed_loop(job["clients"], job["seconds"]))
    found = {name: getattr(clients, name) for name in ("statuses", "seconds", "texts", "errors")}
    json.dump({**found, "took": monotonic() - began}, sys.stdout)


if __name__ == "__main__":
    main()
