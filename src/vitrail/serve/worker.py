"""A worker: a process that holds models and computes one job after the other, until its server is gone.

It runs as `python -m vitrail.serve.worker`, reads jobs from standard input and answers on standard output. A signal
(SIGUSR1) interrupts a job that nobody waits for any more; torch computes in short operations, so this takes effect at
once.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from types import FrameType

from vitrail.errors import VitrailError, is_shortage
from vitrail.serve.frames import Message, packed, receive_all, send
from vitrail.serve.tasks import Bench

INTERRUPT = signal.SIGUSR1


class InterruptedJob(BaseException):
    """Nobody waits for this job any more."""


class Worker:
    """The worker's loop: takes a job, answers with what it found or what went wrong."""

    def __init__(self, inlet: int, outlet: int, bench: Bench) -> None:
        self.inlet = inlet
        self.outlet = outlet
        self.bench = bench
        self._is_busy = False

    def run(self) -> None:
        """Work until the server has gone."""
        signal.signal(INTERRUPT, self._interrupt)
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.SIG_IGN)  # they are for the server; it ends its workers when they are done
        send(self.outlet, packed({"ready": os.getpid()}))
        for job, _ in receive_all(self.inlet):
            send(self.outlet, self._answer(job))

    def _answer(self, job: Message) -> bytes:
        modules = len(sys.modules)
        try:
            self._is_busy = True
            found, content = self.bench.do(job, lambda part: send(self.outlet, packed({"part": part})))
            self._is_busy = False
            return packed({"found": found, "grown": self.bench.grown()}, content)
        except InterruptedJob:
            self._is_busy = False
            # A module that was only half imported is broken for good: then a new worker takes over.
            return packed({"interrupted": True, "leaves": len(sys.modules) != modules, "grown": self.bench.grown()})
        except VitrailError as error:
            self._is_busy = False
            refused = {"kind": type(error).__name__, "what": error.what, "where": error.where, "fix": error.fix}
            return packed({"refused": refused, "grown": self.bench.grown()})
        except ModuleNotFoundError as error:
            self._is_busy = False
            missing = {
                "kind": "MissingPackage",
                "what": f"this needs the package {error.name}, which is not installed where the server runs",
                "where": "the server",
                "fix": "ask for plain translations, or install it there",
            }
            return packed({"refused": missing, "grown": self.bench.grown()})
        except Exception as error:
            self._is_busy = False
            if is_shortage(error):
                os._exit(1)  # memory may be in any state: a new worker begins afresh
            traceback.print_exc()
            return packed({"fault": type(error).__name__, "grown": self.bench.grown()})

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._is_busy:
            self._is_busy = False
            raise InterruptedJob


def main() -> None:
    """Work for the process that started this one. Arguments: how many models to keep, how many cores to use."""
    kept, cores = int(sys.argv[1]), int(sys.argv[2])
    inlet, outlet = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # what a library prints must not end up among the answers
    warnings.simplefilter("ignore")  # what they would say is in the answers: a sentence that was cut, and so on
    with suppress(BrokenPipeError):  # the server is gone
        Worker(inlet, outlet, Bench(kept, cores or None)).run()


if __name__ == "__main__":
    main()
