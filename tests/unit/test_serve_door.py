"""The door of a server: who is let in while others are being answered."""

import asyncio

import httpx
from loops import in_a_loop

from vitrail.serve.door import Door
from vitrail.serve.limits import Limits


class Everybody:
    """A policy that lets everybody in."""

    def check(self, scope, visit):
        pass

    def headers(self, scope):
        return {}


def test_more_requests_than_can_be_answered_at_once_are_told_to_come_again():
    in_a_loop(_three_for_two())


async def _three_for_two():
    go = asyncio.Event()

    async def slow(scope, receive, send):
        if scope["method"] == "POST":
            await go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    door = Door(slow, Everybody(), Limits(connections=4))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(door), base_url="http://127.0.0.1") as client:
        inside = [asyncio.ensure_future(client.post("/translate", content=b"x")) for _ in range(2)]
        while door.running < 2:
            await asyncio.sleep(0)
        refused = await client.post("/translate", content=b"x")
        assert refused.status_code == 429 and refused.headers["retry-after"] == "1"
        assert (await client.get("/health")).status_code == 200, "whoever watches the server is answered"
        go.set()
        assert [(await one).status_code for one in inside] == [200, 200]
        assert (await client.post("/translate", content=b"x")).status_code == 200, "there is room again"
