"""Which of the processes that torchrun started this is. It says so in the environment; without it there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from vitrail.errors import VitrailError


def is_first(*, here: bool = False) -> bool:
    """Whether this is the first process, the one that shows progress and results, or the first on this computer."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return True
    return os.environ.get("LOCAL_RANK" if here else "RANK", "0") == "0"


@contextmanager
def told_once() -> Iterator[None]:
    """For what goes wrong in all processes alike: the first one of each computer tells it."""
    try:
        yield
    except VitrailError as error:
        if is_first(here=True):
            raise
        raise typer.Exit(error.exit_code) from error
