"""Which of torchrun's processes this is, from its environment variables; without torchrun there is only one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from vitrail.errors import VitrailError


def is_first(*, here: bool = False) -> bool:
    """Whether this is the first process, which shows progress and results; with `here`, the first on this computer."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return True
    return os.environ.get("LOCAL_RANK" if here else "RANK", "0") == "0"


@contextmanager
def report_once() -> Iterator[None]:
    """For errors that all processes raise alike: only the first one on each computer reports it."""
    try:
        yield
    except VitrailError as error:
        if is_first(here=True):
            raise
        raise typer.Exit(error.exit_code) from error
