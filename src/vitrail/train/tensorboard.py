"""Write the curves of log.jsonl for TensorBoard, if it is installed (`pip install "vitrail[tensorboard]"`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CURVES = ("loss", "rate", "bleu")
FOLDER = "tensorboard"


class Curves:
    """Writes the numbers of events as curves; does nothing if TensorBoard is not installed."""

    def __init__(self, run: Path, *, after_step: int = 0) -> None:
        self.writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        # Hide what was written after the checkpoint, before the run was stopped.
        self.writer = SummaryWriter(str(run / FOLDER), purge_step=after_step + 1)

    def add(self, event: str, values: dict[str, Any]) -> None:
        """Add an event's numbers."""
        if self.writer is None or "step" not in values:
            return
        for name in CURVES:
            if values.get(name) is not None:
                self.writer.add_scalar(f"{event}/{name}", values[name], values["step"])
        self.writer.flush()
