"""Applications of `vitrail.serve` asked from inside this process: real workers, no network."""

from contextlib import contextmanager

import httpx
from anyio.from_thread import start_blocking_portal

ADDRESS = "http://127.0.0.1:8765"


class Client:
    """Asks an application, in a loop of its own: a browser's tests may keep one here."""

    def __init__(self, portal, door, headers=None):
        self.portal, self.door, self.headers = portal, door, headers or {}

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def request(self, method, path, *, headers=None, **options):
        return self.portal.call(lambda: self.ask(method, path, headers=headers, **options))

    async def ask(self, method, path, *, headers=None, **options):
        transport = httpx.ASGITransport(self.door)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, timeout=None) as client:
            return await client.request(method, path, headers={**self.headers, **(headers or {})}, **options)


@contextmanager
def open_client(door, running, headers=None):
    """A client of this door, while `running` (an async context manager) is entered."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(running):
        yield Client(portal, door, headers)
