"""A run's curves and samples for the page, thinned out, from the log.jsonl beside a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vitrail.trace.lines import read_lines, spread

LOG = "log.jsonl"
POINTS = 300  # of a curve
VALIDATIONS = 100  # with their samples

Event = dict[str, Any]


def read_run(folder: Path) -> dict[str, list[Event]] | None:
    """The events of a run in order, {"events": […]}. None if the log is missing, empty or malformed."""
    try:
        events = read_lines(folder / LOG)
        steps = [event for event in events if event["event"] == "step"]
        validations = [event for event in events if event["event"] == "validation"]
        others = [event for event in events if event["event"] not in ("step", "validation")]
        kept = [*others, *spread(steps, POINTS), *spread(validations, VALIDATIONS)]
        kept.sort(key=lambda event: event.get("step", 0))  # stable: a validation stays after its step
    except (OSError, ValueError, KeyError, TypeError):
        return None  # the page can do without it
    return {"events": kept} if kept else None
