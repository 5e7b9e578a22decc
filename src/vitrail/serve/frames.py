"""Messages between the server and its workers: a JSON object and, for what is large, bytes beside it. No pickles."""

from __future__ import annotations

import json
import os
import struct
from asyncio import StreamReader
from collections.abc import Iterator
from typing import Any

_SIZES = struct.Struct("!II")  # of the object and of the bytes

Message = dict[str, Any]
Frame = tuple[Message, bytes]


def packed(message: Message, content: bytes = b"") -> bytes:
    """A message as it is sent."""
    # ASCII: JSON can escape half a character, UTF-8 cannot encode one.
    head = json.dumps(message).encode("ascii")
    return _SIZES.pack(len(head), len(content)) + head + content


async def receive(stream: StreamReader) -> Frame:
    """The next message; `asyncio.IncompleteReadError` if the other side has gone."""
    head, content = _SIZES.unpack(await stream.readexactly(_SIZES.size))
    return json.loads(await stream.readexactly(head)), await stream.readexactly(content)


def receive_all(descriptor: int) -> Iterator[Frame]:
    """The messages of a pipe, one at a time, until the other side has gone."""
    while sizes := _exactly(descriptor, _SIZES.size):
        head, content = _SIZES.unpack(sizes)
        yield json.loads(_exactly(descriptor, head)), _exactly(descriptor, content)


def send(descriptor: int, frame: bytes) -> None:
    """Send a packed message."""
    waiting = memoryview(frame)
    while waiting:
        waiting = waiting[os.write(descriptor, waiting) :]


def _exactly(descriptor: int, count: int) -> bytes:
    """So many bytes, or none if there are no more."""
    found = bytearray()
    while len(found) < count:
        part = os.read(descriptor, count - len(found))
        if not part:
            return b""
        found += part
    return bytes(found)
