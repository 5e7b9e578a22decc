"""log.jsonl: one line per event. The page, `vitrail info` and receipts read it.

Everything that depends on time is under "clock". Apart from that, two runs with the same settings have equal logs.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from vitrail.documents import Document, parse_json
from vitrail.errors import FolderError
from vitrail.storage import cut_back, explained, flush, whole_lines
from vitrail.train.tensorboard import Curves

LOG = "log.jsonl"


class Log:
    """An append-only log that can be cut back to its length at a checkpoint."""

    def __init__(self, path: Path, *, keep_bytes: int = 0, after_step: int = 0) -> None:
        self.path = path
        with explained(path):
            self.curves = Curves(path.parent, after_step=after_step)
            path.touch()
        cut_back(path, keep_bytes)

    def write(self, event: str, values: dict[str, Any], clock: dict[str, float] | None = None) -> None:
        """Append one event."""
        line = {"event": event, **values, "clock": {"time": round(time.time(), 3), **(clock or {})}}
        with explained(self.path):
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self.curves.add(event, values)

    def size(self) -> int:
        """The number of bytes, after flushing them to the disk; a checkpoint stores it."""
        with explained(self.path):
            flush(self.path)
            return self.path.stat().st_size


def read_log(path: Path) -> list[dict[str, Any]]:
    """Every event of a log. An unfinished last line, in a run still being written, is skipped."""
    try:
        lines = whole_lines(path) if path.exists() else []
        events = [parse_json(line) for line in lines if line]
        if all(map(_is_event, events)):
            return events
        reason = "it has lines that are not events"
    except (OSError, ValueError) as error:
        reason = str(error)
    raise FolderError(f"the log is damaged: {reason}", where=str(path), fix="remove it: the model works without it")


class _Validation(Document):
    """What every validation event has."""

    step: int
    loss: float
    bleu: float | None


def _is_event(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("event"), str):
        return False
    if value["event"] == "validation":
        _Validation.of(value)
    return True
