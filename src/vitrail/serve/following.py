"""How a training run is going: what the page asks for again and again while it goes on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from vitrail.config import parse_config, read_toml
from vitrail.errors import VitrailError
from vitrail.folder import CONFIG
from vitrail.trace.probes import PROBES, read_probes
from vitrail.trace.run import LOG, read_run


def run_state(folder: Path, since: str) -> dict[str, Any]:
    """The state of a run: in full if it has changed since the client's stamp, else just that it has not."""
    stamps = []
    newest = None
    for name in (LOG, PROBES):
        try:
            status = (folder / name).stat()
        except OSError:
            stamps.append("-")
            continue
        stamps.append(f"{status.st_size:x}.{status.st_mtime_ns:x}")
        newest = max(newest or 0.0, status.st_mtime)
    stamp = "-".join(stamps)
    quiet = None if newest is None else round(max(0.0, time.time() - newest), 1)
    answer: dict[str, Any] = {"stamp": stamp, "seconds_quiet": quiet, "changed": stamp != since}
    if stamp != since:
        answer |= {"run": read_run(folder), "probes": read_probes(folder), "max_steps": _max_steps(folder)}
    return answer


def _max_steps(folder: Path) -> int | None:
    try:
        return parse_config(read_toml(folder / CONFIG), where=CONFIG).train.max_steps
    except VitrailError:
        return None
