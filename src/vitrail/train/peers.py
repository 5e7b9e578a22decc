"""The processes that train one model together: who they are, what they tell each other, and what if one is gone.

`torchrun` starts them and says in the environment who each of them is. The first one leads: what is written, looked at
or decided once, it does alone, and the others hear what came of it. Whoever trains alone pays nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from vitrail.errors import TrainingError, VitrailError

ResultT = TypeVar("ResultT")

# How long to wait for each other. A process that dies is noticed at once, by its closed connections; the others may
# have to wait for the first one's preparing of a large corpus.
LONGEST_WAIT = timedelta(hours=24)
_GONE = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe")


class HeardError(VitrailError):
    """What the leading process failed with, as the others hear it: it has told it already."""


@dataclass(frozen=True)
class Peers:
    """The processes of a run, as one of them sees them."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0  # on this computer
    local_count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes, looks and decides."""
        return self.rank == 0

    def total(self, *values: float) -> list[float]:
        """The sum over all processes of each value."""
        if self.count == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(summed)
        return summed.tolist()

    def gather(self, text: str) -> list[str]:
        """What each of the processes has to say."""
        if self.count == 1:
            return [text]
        found = [""] * self.count
        dist.all_gather_object(found, text)
        return found

    def lead(self, act: Callable[[], ResultT]) -> ResultT:
        """Let the leader act while the others wait; all get what came of it, or fail with it."""
        if self.count == 1:
            return act()
        if not self.leads:
            heard: ResultT = self._hear()
            return heard
        try:
            result = act()
        except Exception as error:
            self._tell(None, error)
            raise
        self._tell(result)
        return result

    @contextmanager
    def leader_first(self) -> Iterator[None]:
        """Let the leader through this block before the others enter it, so that they find what it made."""
        if not self.leads:
            self._hear()
            yield
            return
        try:
            yield
        except Exception as error:
            self._tell(None, error)
            raise
        self._tell(None)

    def reseed(self, seed: int, step: int) -> None:
        """Give every process dropout of its own. The leader's generator goes on as if it were alone, and is in the
        checkpoint; the others' follows from the step, so that there is nothing to keep."""
        if not self.leads:
            drawn = np.random.SeedSequence([seed, step, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(drawn[0]))

    def _tell(self, result: Any, error: Exception | None = None) -> None:
        if self.count == 1:
            return
        failure = None
        if isinstance(error, VitrailError):
            failure = (error.what, error.where, error.fix)
        elif error is not None:
            failure = (f"the first process failed: {type(error).__name__}: {error}", None, None)
        dist.broadcast_object_list([result, failure], src=0, device=torch.device("cpu"))

    def _hear(self) -> Any:
        heard: list[Any] = [None, None]
        dist.broadcast_object_list(heard, src=0, device=torch.device("cpu"))
        result, failure = heard
        if failure is not None:
            what, where, fix = failure
            raise HeardError(what, where=where, fix=fix)
        return result


ALONE = Peers()
# What torchrun says in the environment, and what holds without it.
_TORCHRUN = {
    "RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "GROUP_WORLD_SIZE": "1",
    "TORCHELASTIC_RESTART_COUNT": "0",
}


@contextmanager
def joined(run: Path) -> Iterator[Peers]:
    """The processes that torchrun started beside this one, for the length of a block; without torchrun, none."""
    place = {name: int(os.environ.get(name, default)) for name, default in _TORCHRUN.items()}
    count = place["WORLD_SIZE"]
    if count == 1:
        yield ALONE
        return
    peers = Peers(place["RANK"], count, place["LOCAL_RANK"], place["LOCAL_WORLD_SIZE"])
    try:
        _join(peers, nodes=place["GROUP_WORLD_SIZE"], attempt=place["TORCHELASTIC_RESTART_COUNT"])
        yield peers
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and not any(sign in str(error) for sign in _GONE):
            raise
        raise TrainingError(
            f"another of the run's {count} processes is gone, and process {peers.rank} cannot go on without it",
            where=str(run),
            fix="see what it said; run the same command again, and the run goes on from its last checkpoint "
            "(torchrun --max-restarts 3 does so by itself)",
        ) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _join(peers: Peers, *, nodes: int, attempt: int) -> None:
    # Messages between the processes go over the CPU; NCCL carries the gradients where they are on GPUs.
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
    store, _, _ = next(rendezvous("env://", timeout=LONGEST_WAIT))
    if nodes == 1:
        # On one computer torchrun keeps the addresses of processes that are gone when it starts them again.
        store = dist.PrefixStore(f"attempt {attempt}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=store, rank=peers.rank, world_size=peers.count, timeout=LONGEST_WAIT)
