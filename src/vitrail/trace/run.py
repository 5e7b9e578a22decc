"""How a run went, for the page: its curves and samples, thinned out, from the log.jsonl beside a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vitrail.trace.lines import read_lines
from vitrail.trace.probes import spread

LOG = "log.jsonl"
POINTS = 300  # of a curve
LOOKS = 100  # at the validation data, with their samples

Event = dict[str, Any]


def read_run(folder: Path) -> dict[str, list[Event]] | None:
    """The events of a run, {"events": […]}, in order; None where there is no log, or none that can be read."""
    try:
        events = read_lines(folder / LOG)
        steps = [event for event in events if event["event"] == "step"]
        looks = [event for event in events if event["event"] == "validation"]
        others = [event for event in events if event["event"] not in ("step", "validation")]
        kept = [*others, *spread(steps, POINTS), *spread(looks, LOOKS)]
        kept.sort(key=lambda event: event.get("step", 0))  # stable: a step stands before the look that followed it
    except (OSError, ValueError, KeyError, TypeError):
        return None  # a translation can be shown without it
    return {"events": kept} if kept else None
