"""The processes that train one model together: ranks, messages, and what happens if one dies.

`torchrun` starts them and sets their ranks in the environment. The first process leads: it alone writes, validates and
decides, and sends the others the result. A single process pays nothing for this.
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

# How long processes wait for each other. A dead process is noticed at once by its closed connections; the long wait is
# for the leader, which may have to prepare a large corpus.
LONGEST_WAIT = timedelta(hours=24)
_GONE = ("gloo", "NCCL", "Connection closed", "Connection reset", "Broken pipe")


class HeardError(VitrailError):
    """The error of the leading process, raised in the others. The leader has already reported it."""


@dataclass(frozen=True)
class Peers:
    """The processes of a run, seen from one of them."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0  # on this computer
    local_count: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes, validates and decides."""
        return self.rank == 0

    def total(self, *values: float) -> list[float]:
        """Each value, summed over all processes."""
        if self.count == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(summed)
        return summed.tolist()

    def gather(self, text: str) -> list[str]:
        """The texts of all processes, by rank."""
        if self.count == 1:
            return [text]
        found = [""] * self.count
        dist.all_gather_object(found, text)
        return found

    def lead(self, act: Callable[[], ResultT]) -> ResultT:
        """Run `act` in the leader while the others wait. All get its result, or raise its error."""
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
        """The leader runs the block first; the others enter it afterwards and find what the leader wrote."""
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
        """Give every process its own dropout. The leader's generator continues as if it were alone, and is saved in the
        checkpoint; the others are reseeded from the step, so they need no saved state."""
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
# The environment variables that torchrun sets, with their values without it.
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
    """Connect the processes that torchrun started, for the duration of the block. Without torchrun, there is one."""
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
            f"another of the run's {count} processes died, and process {peers.rank} cannot continue without it",
            where=str(run),
            fix="check its output; run the same command again to resume from the last checkpoint "
            "(torchrun --max-restarts 3 does so automatically)",
        ) from error
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _join(peers: Peers, *, nodes: int, attempt: int) -> None:
    # Messages between processes use the CPU (gloo); gradients on GPUs use NCCL.
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
    store, _, _ = next(rendezvous("env://", timeout=LONGEST_WAIT))
    if nodes == 1:
        # On a single computer, torchrun keeps the addresses of dead processes when it restarts them.
        store = dist.PrefixStore(f"attempt {attempt}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=store, rank=peers.rank, world_size=peers.count, timeout=LONGEST_WAIT)
