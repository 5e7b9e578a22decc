"""Where sentences wait: together if they can be, once if they are equal, and not at all if nobody waits for them."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest
from loops import in_a_loop

from vitrail.serve.desk import TOGETHER, Busy, Desk, Search

FR, EN = Search("model", (1,), "fr"), Search("model", (1,), "en")


class Workers:
    """Stands in for the pool: answers when it is allowed to, and remembers what it was asked."""

    def __init__(self, count=1):
        self.count, self.free = count, asyncio.Semaphore(count)
        self.asked, self.cancelled = [], 0
        self.go = asyncio.Event()
        self.failure = None

    @property
    def idle(self):
        return self.free._value

    @asynccontextmanager
    async def turn(self):
        async with self.free:
            yield self

    async def ask(self, worker, job):
        self.asked.append(job["texts"])
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failure is not None:
            raise self.failure
        done = [{"source": text, "text": text.upper(), "tokens": ["x"]} for text in job["texts"]]
        return {"found": {"translations": done, "seconds": 0.01 * len(done)}}, b""


def texts_of(found):
    return [one["text"] for one in found]


async def begin(desk, search, *texts):
    task = asyncio.ensure_future(desk.translate(search, list(texts)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


def test_what_arrives_while_a_worker_is_busy_is_translated_together():
    async def run():
        pool = Workers()
        desk = Desk(pool, 100, 10)
        first = await begin(desk, FR, "a")
        others = [await begin(desk, FR, f"t{number}", f"u{number}") for number in range(5)]
        pool.go.set()
        assert texts_of(await first) == ["A"]
        assert [texts_of(await one) for one in others] == [[f"T{n}", f"U{n}"] for n in range(5)]
        assert [len(batch) for batch in pool.asked] == [1, 10]
        assert desk.waiting == 0

    in_a_loop(run())


def test_different_searches_take_turns_and_never_share_a_batch():
    async def run():
        pool = Workers()
        desk = Desk(pool, 1000, 10)
        first = await begin(desk, FR, "a")
        many = await begin(desk, FR, *(f"f{number}" for number in range(3 * TOGETHER)))
        few = await begin(desk, EN, "e")
        pool.go.set()
        await asyncio.gather(first, many, few)
        assert pool.asked[2] == ["e"], "it did not have to wait for all of the others"
        assert max(map(len, pool.asked)) <= TOGETHER

    in_a_loop(run())


def test_equal_sentences_that_wait_at_the_same_time_are_computed_once():
    async def run():
        pool = Workers()
        desk = Desk(pool, 100, 10)
        tasks = [await begin(desk, FR, "same", "same") for _ in range(4)]
        other = await begin(desk, EN, "same")
        pool.go.set()
        assert [texts_of(await one) for one in tasks] == [["SAME", "SAME"]] * 4
        await other
        assert pool.asked == [["same"], ["same"]], "once for each search"
        await begin(desk, FR, "same")
        assert len(pool.asked) == 3, "nothing is kept for later"

    in_a_loop(run())


def test_what_nobody_waits_for_leaves_the_queue():
    async def run():
        pool = Workers()
        desk = Desk(pool, 100, 10)
        first = await begin(desk, FR, "a")
        gone, stays = await begin(desk, FR, "b", "c"), await begin(desk, FR, "c")
        assert desk.waiting == 2
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        assert desk.waiting == 1
        pool.go.set()
        assert texts_of(await stays) == ["C"], "somebody else waits for it"
        await first
        assert pool.asked == [["a"], ["c"]]

    in_a_loop(run())


def test_a_batch_that_nobody_waits_for_is_interrupted():
    async def run():
        pool = Workers()
        desk = Desk(pool, 100, 10)
        tasks = [await begin(desk, FR, "a"), await begin(desk, FR, "a")]
        tasks[0].cancel()
        await asyncio.sleep(0.01)
        assert pool.cancelled == 0
        tasks[1].cancel()
        await asyncio.sleep(0.01)
        assert pool.cancelled == 1
        pool.go.set()
        assert texts_of(await asyncio.wait_for(desk.translate(FR, ["b"]), 5)) == ["B"], "the worker is free again"

    in_a_loop(run())


def test_a_failure_reaches_all_who_wait_and_nobody_later():
    async def run():
        pool = Workers()
        desk = Desk(pool, 100, 10)
        tasks = [await begin(desk, FR, "a"), await begin(desk, FR, "a")]
        pool.failure = ValueError("broken")
        pool.go.set()
        for task in tasks:
            with pytest.raises(ValueError, match="broken"):
                await task
        pool.failure = None
        assert texts_of(await desk.translate(FR, ["a"])) == ["A"]
        assert desk.waiting == 0

    in_a_loop(run())


def test_too_much_is_refused_at_once_and_room_is_given_again():
    async def run():
        pool = Workers()
        desk = Desk(pool, 10, 10)
        first = await begin(desk, FR, "a")
        full = await begin(desk, FR, *(f"t{number}" for number in range(10)))
        with pytest.raises(Busy):
            await desk.translate(FR, ["one more"])
        assert await begin(desk, FR, "t3"), "what waits already takes no more room"
        pool.go.set()
        await asyncio.gather(first, full)
        assert texts_of(await desk.translate(FR, ["one more"])) == ["ONE MORE"]

    in_a_loop(run())


def test_who_would_wait_too_long_is_refused_with_the_time_to_wait():
    async def run():
        pool = Workers()
        desk = Desk(pool, 10**6, 10)
        pool.go.set()
        await desk.translate(FR, ["x" * 10])  # 0.01 seconds: a thousand characters a second
        pool.go.clear()
        busy = await begin(desk, FR, "a")
        waiting = await begin(desk, FR, *(f"{number:0500}" for number in range(21)))
        assert desk.wait_seconds() == pytest.approx(10.5)
        with pytest.raises(Busy) as refusal:
            await desk.translate(FR, ["y"])
        assert refusal.value.seconds in (10, 11)
        pool.go.set()
        await asyncio.gather(busy, waiting)

    in_a_loop(run())


def test_a_small_batch_is_shared_among_idle_workers():
    async def run():
        pool = Workers(count=2)
        desk = Desk(pool, 100, 10)
        task = await begin(desk, FR, *(f"t{number}" for number in range(32)))
        await asyncio.sleep(0.01)
        assert [len(batch) for batch in pool.asked] == [16, 16]
        pool.go.set()
        await task

    in_a_loop(run())
