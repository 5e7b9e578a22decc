"""Processes that train one model together, as torchrun starts them, but forked from one that has imported torch."""

import multiprocessing
import os
import socket
import sys
from dataclasses import dataclass

from dying import PRELOADED

from vitrail.cli import main
from vitrail.train.loop import Trainer


@dataclass(frozen=True)
class Strike:
    """A signal sent to one of the processes after this many steps."""

    rank: int
    number: int
    after: int


class Together:
    """`vitrail` with the same arguments in several processes; each writes its output to its own file."""

    def __init__(self, count, arguments, folder, strike=None):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*PRELOADED, "together", "torch.nn.parallel"])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        folder.mkdir(exist_ok=True, parents=True)
        self.files = [folder / f"said-{rank}" for rank in range(count)]
        self.processes = [
            context.Process(target=_run, args=([*map(str, arguments)], rank, count, port, file, strike))
            for rank, file in enumerate(self.files)
        ]
        for process in self.processes:
            process.start()

    def end(self):
        """The exit code and output of each process."""
        for process in self.processes:
            process.join()
        return [process.exitcode for process in self.processes], [
            file.read_text(encoding="utf-8") for file in self.files
        ]


def _run(arguments, rank, count, port, file, strike):
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    os.environ.update({key: str(value) for key, value in place.items()}, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    if strike is not None and strike.rank == rank:
        _arm(strike)
    sys.argv = ["vitrail", *arguments]
    main()


def _arm(strike):
    real = Trainer._step

    def struck(trainer, *given):
        if trainer.state.step == strike.after:
            os.kill(os.getpid(), strike.number)
        return real(trainer, *given)

    Trainer._step = struck
