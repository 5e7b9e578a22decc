"""The workers of a server: started, given jobs, interrupted if nobody waits, and replaced when they die."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from vitrail.errors import VitrailError
from vitrail.serve.frames import Frame, Message, packed, receive
from vitrail.serve.worker import INTERRUPT

PROGRAM = (sys.executable, "-P", "-m", "vitrail.serve.worker")  # -P: no module of the current folder is imported
PATIENCE = 5.0  # seconds that an interrupted worker has before it is killed
AGAIN = 0.05  # seconds between two signals to interrupt
PAUSES = (0.0, 0.1, 0.5, 2.0, 5.0)  # seconds before the n-th worker in a row that died without finishing a job
GROWTH = 1_000_000_000  # bytes that a worker may need beyond its models before it is replaced

Heard = Callable[[Message], None]


class Refused(VitrailError):  # noqa: N818 (what the worker's error says)
    """A worker's answer to a job that cannot be done; `kind` is the error's class there."""

    def __init__(self, kind: str, what: str, where: str | None, fix: str | None) -> None:
        super().__init__(what, where=where, fix=fix)
        self.kind = kind


class WorkerDied(Exception):  # noqa: N818
    """The process that computed this has died, or could not be started."""


class WorkerFailed(Exception):  # noqa: N818
    """A bug in Vitrail, found by a job."""


@dataclass(eq=False)
class _Worker:
    """A running process, and what it is doing."""

    process: Process
    jobs: int = 0
    leaves: bool = False  # it is not used again
    settling: asyncio.Task[None] | None = None

    @property
    def number(self) -> int:
        return self.process.pid


@dataclass(eq=False)
class _Turn:
    """Somebody who waits for a worker."""

    worker: asyncio.Future[_Worker]
    is_long: bool
    number: int | None  # of the only worker that will do


@dataclass
class Pool:
    """A fixed number of workers. Long jobs never take the last of them, so short ones do not wait for them."""

    count: int
    models: int  # how many models each keeps in memory
    threads: int | None = 1  # the cores that each uses; None: all
    died: int = 0  # how many workers have died
    _workers: set[_Worker] = field(default_factory=set)
    _idle: list[_Worker] = field(default_factory=list)
    _waiting: deque[_Turn] = field(default_factory=deque)
    _long: int = 0  # workers that do long jobs
    _background: set[asyncio.Task[None]] = field(default_factory=set)
    _first: list[asyncio.Task[None]] = field(default_factory=list)  # they start the first workers
    _failures: int = 0
    _closed: bool = False

    @property
    def alive(self) -> int:
        """How many workers are there."""
        return len(self._workers)

    def numbers(self) -> list[int]:
        """The numbers of the workers, to ask each of them."""
        return [worker.number for worker in self._workers]

    @property
    def idle(self) -> int:
        """How many of them have nothing to do."""
        return len(self._idle)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The workers exist in this block."""
        self.start()
        try:
            yield
        finally:
            await self.close()

    def start(self) -> None:
        """Start the workers; jobs wait until they are there. They load models when they need them."""
        self._first = [self._begin(self._start_one()) for _ in range(self.count)]

    async def started(self) -> None:
        """Wait until the first workers are there, as many as could be started."""
        await asyncio.gather(*self._first, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def close(self) -> None:
        """End all workers."""
        self._closed = True
        for starting in list(self._background):
            starting.cancel()
        for turn in self._waiting:
            turn.worker.cancel()
        workers = list(self._workers)
        for worker in workers:
            with suppress(ProcessLookupError):
                worker.process.kill()
        await asyncio.gather(*(worker.process.wait() for worker in workers))
        self._workers.clear()
        self._idle.clear()

    async def run(
        self, job: Message, *, is_long: bool = False, number: int | None = None, heard: Heard | None = None
    ) -> Frame:
        """Do a job: what was found, and the bytes beside it. If the caller is cancelled, so is the job."""
        async with self.turn(is_long=is_long, number=number) as worker:
            return await self.ask(worker, job, heard)

    @asynccontextmanager
    async def turn(self, *, is_long: bool = False, number: int | None = None) -> AsyncIterator[_Worker]:
        """A worker of one's own. With a `number`, that worker; a `LookupError` if it is gone."""
        worker = await self._take(is_long, number)
        try:
            yield worker
        finally:
            if worker.settling is None:
                self._release(worker, is_long)
            else:  # it goes on for a moment, until the interruption is heard
                worker.settling.add_done_callback(lambda _: self._release(worker, is_long))

    async def ask(self, worker: _Worker, job: Message, heard: Heard | None = None) -> Frame:
        """Give a job to a worker that one has, and wait for the answer."""
        exchange = asyncio.ensure_future(self._exchange(worker, job, heard))
        try:
            # Shielded: half a message must not stay behind in the pipe.
            return await asyncio.shield(exchange)
        except asyncio.CancelledError:
            worker.settling = asyncio.ensure_future(self._settle(worker, exchange))
            raise

    async def _exchange(self, worker: _Worker, job: Message, heard: Heard | None) -> Frame:
        assert worker.process.stdin is not None
        try:
            worker.process.stdin.write(packed(job))
            await worker.process.stdin.drain()
            answer, content = await self._answer(worker, heard)
        except (asyncio.IncompleteReadError, ConnectionError):
            worker.leaves = True
            self.died += 1
            raise WorkerDied from None
        if "refused" in answer:
            raise Refused(**answer["refused"])
        if "fault" in answer:
            raise WorkerFailed(answer["fault"])
        if "interrupted" in answer:  # by nobody of ours
            raise WorkerDied
        return {"found": answer["found"]}, content

    async def _answer(self, worker: _Worker, heard: Heard | None = None) -> Frame:
        """The last message about a job; those before it are parts of its result."""
        assert worker.process.stdout is not None
        while True:
            answer, content = await receive(worker.process.stdout)
            if "part" not in answer:
                worker.jobs += 1
                worker.leaves = worker.leaves or answer.get("leaves", False) or answer["grown"] > GROWTH
                return answer, content
            if heard is not None:
                heard(answer["part"])

    async def _settle(self, worker: _Worker, exchange: asyncio.Future[Frame]) -> None:
        """Interrupt a job that nobody waits for; a worker that does not listen is killed."""
        try:
            for _ in range(int(PATIENCE / AGAIN)):
                with suppress(ProcessLookupError):
                    worker.process.send_signal(INTERRUPT)  # again and again: it may not have begun the job yet
                await asyncio.wait({exchange}, timeout=AGAIN)
                if exchange.done():
                    break
            else:
                worker.leaves = True
                exchange.cancel()
                await asyncio.wait({exchange})
            if not exchange.cancelled():
                exchange.exception()  # whatever it is: nobody wants to know
        finally:
            worker.settling = None

    async def _take(self, is_long: bool, number: int | None) -> _Worker:
        turn = _Turn(asyncio.get_running_loop().create_future(), is_long, number)
        self._waiting.append(turn)
        self._hand_out()
        try:
            return await turn.worker
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif turn.worker.done() and not turn.worker.cancelled() and turn.worker.exception() is None:
                self._release(turn.worker.result(), is_long)
            raise

    def _hand_out(self) -> None:
        """Give idle workers to those who wait, first come first served."""
        for turn in list(self._waiting):
            found = self._fitting(turn)
            if found is not None:
                self._idle.remove(found)
                self._waiting.remove(turn)
                self._long += turn.is_long
                turn.worker.set_result(found)
            elif turn.number is not None and all(worker.number != turn.number for worker in self._workers):
                self._waiting.remove(turn)
                turn.worker.set_exception(LookupError())

    def _fitting(self, turn: _Turn) -> _Worker | None:
        if turn.is_long and self._long >= max(1, self.count - 1):
            return None
        # The one that worked last, because it has loaded what it needs; a new one has not.
        return next((one for one in reversed(self._idle) if turn.number in (None, one.number)), None)

    def _release(self, worker: _Worker, is_long: bool) -> None:
        self._long -= is_long
        if self._closed:
            return
        if worker.leaves or worker.process.returncode is not None:
            self._replace(worker)
        else:
            self._failures = 0
            self._idle.append(worker)
        self._hand_out()

    def _replace(self, worker: _Worker) -> None:
        """End a worker, if it has not ended by itself, and start another."""
        self._workers.discard(worker)
        self._failures = self._failures + 1 if worker.jobs == 0 else 0
        with suppress(ProcessLookupError):
            worker.process.kill()
        self._begin(self._start_one(PAUSES[min(self._failures, len(PAUSES) - 1)]))

    async def _start_one(self, pause: float = 0.0) -> None:
        await asyncio.sleep(pause)
        environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(self.threads or ""))}
        if not environment["OMP_NUM_THREADS"]:
            del environment["OMP_NUM_THREADS"]
        process = await asyncio.create_subprocess_exec(
            *PROGRAM, str(self.models), str(self.threads or 0), stdin=PIPE, stdout=PIPE, env=environment
        )
        worker = _Worker(process)
        self._workers.add(worker)
        try:
            assert process.stdout is not None
            await receive(process.stdout)  # it is ready
        except (asyncio.IncompleteReadError, ConnectionError):
            await process.wait()
            self._replace(worker)
            return
        self._begin(self._watch(worker))
        self._idle.insert(0, worker)
        self._hand_out()

    async def _watch(self, worker: _Worker) -> None:
        """Replace a worker that dies while it has nothing to do. One that dies at work is replaced after its job."""
        await worker.process.wait()
        if worker in self._idle and not self._closed:
            self._idle.remove(worker)
            self.died += 1
            self._replace(worker)
            self._hand_out()


def job_of(task: str, **what: Any) -> Message:
    """A job for a worker."""
    return {"task": task, **what}
