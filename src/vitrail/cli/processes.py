"""Which of the processes that torchrun started this is. It says so in the environment; without it there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from vitrail.errors import VitrailError


def is_first() -> bool:
    """Whether this is the process that shows progress and results."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def told_once() -> Iterator[None]:
    """For what goes wrong in all processes alike: the first one of each computer tells it."""
    try:
        yield
    except VitrailError as error:
        if os.environ.get("LOCAL_RANK", "0") == "0":
            raise
        raise typer.Exit(error.exit_code) from error
