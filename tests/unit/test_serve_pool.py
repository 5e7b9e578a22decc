"""The workers of a server: reused, interrupted, replaced, and never all taken by long jobs."""

import asyncio
import os
import signal
import sys
from contextlib import suppress

import pytest
from loops import in_a_loop

from vitrail.serve.pool import Pool, WorkerDied

# A worker whose only task is to wait, for ever or until it has counted its jobs.
IDLER = """
import time
from vitrail.serve import tasks, worker
def do(self, job, emit):
    while job["task"] == "wait":
        time.sleep(0.01)
    return None, b""
tasks.Bench.do = do
worker.main()
"""


@pytest.fixture(autouse=True)
def idlers(monkeypatch):
    monkeypatch.setattr("vitrail.serve.pool.PROGRAM", (sys.executable, "-c", IDLER))


async def until(condition):
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.02)


def test_one_after_the_other_goes_to_the_worker_that_is_warm():
    async def run():
        pool = Pool(count=2, models=1)
        async with pool.running():
            await until(lambda: pool.idle == 2)
            for _ in range(4):
                await pool.run({"task": "nothing"})
            assert sorted(worker.jobs for worker in pool._workers) == [0, 4]

    in_a_loop(run())


def test_a_job_that_nobody_waits_for_is_interrupted_and_its_worker_goes_on():
    async def run():
        pool = Pool(count=1, models=1)
        async with pool.running():
            job = asyncio.ensure_future(pool.run({"task": "wait"}))
            await until(lambda: pool.alive and not pool.idle)
            numbers = pool.numbers()
            job.cancel()
            with suppress(asyncio.CancelledError):
                await job
            await pool.run({"task": "nothing"})
            assert (pool.numbers(), pool.died) == (numbers, 0)

    in_a_loop(run())


def test_long_jobs_leave_a_worker_for_the_others():
    async def run():
        pool = Pool(count=2, models=1)
        async with pool.running():
            long = [asyncio.ensure_future(pool.run({"task": "wait"}, is_long=True)) for _ in range(3)]
            await until(lambda: pool.alive == 2 and pool.idle == 1)
            await pool.run({"task": "nothing"})
            for job in long:
                job.cancel()
            await asyncio.gather(*long, return_exceptions=True)
            await pool.run({"task": "nothing"}, is_long=True)

    in_a_loop(run())


@pytest.mark.parametrize("task", ["wait", None])
def test_a_worker_that_dies_is_replaced(task):
    async def run():
        pool = Pool(count=1, models=1)
        async with pool.running():
            await until(lambda: pool.idle == 1)
            (number,) = pool.numbers()
            job = asyncio.ensure_future(pool.run({"task": task})) if task else None
            await asyncio.sleep(0.1)
            os.kill(number, signal.SIGKILL)
            if job is not None:
                with pytest.raises(WorkerDied):
                    await job
            await until(lambda: pool.idle == 1 and pool.numbers() != [number])
            await pool.run({"task": "nothing"})
            assert pool.died == 1
            with pytest.raises(LookupError):
                await pool.run({"task": "nothing"}, number=number)

    in_a_loop(run())
