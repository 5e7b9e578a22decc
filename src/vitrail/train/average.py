"""Averaging checkpoints: the paper's last 5 (section 6.1), or any number of one's own."""

from __future__ import annotations

from pathlib import Path

from vitrail.errors import FolderError
from vitrail.folder import ModelFolder
from vitrail.storage import new_folder
from vitrail.train.checkpoint import average_weights, list_steps
from vitrail.train.lock import sole_writer


def average_checkpoints(run: Path, *, last: int, out: Path | None) -> tuple[Path, list[int]]:
    """Write the mean of a run's newest checkpoints into `out`, or over the run's own weights.

    As in training, those that were written by chance, on Ctrl-C or by the clock, do not count, but for the newest.
    """
    folder = ModelFolder.open(run)
    known = list_steps(run)
    steps = [step for step in known if step % folder.config.train.checkpoint_every == 0 or step == known[-1]][-last:]
    if not steps:
        raise FolderError(
            "this run has no checkpoints", where=str(run), fix="let the training go on, or give another run"
        )
    if out is not None and out.exists():
        raise FolderError("there is something here already", where=str(out), fix="choose another --out")
    if out is None:
        with sole_writer(run):
            folder.write_weights(average_weights(run, steps))
        return run, steps
    weights = average_weights(run, steps)
    with new_folder(out) as partial:
        ModelFolder.create(partial, folder.config, folder.tokenizers).write_weights(weights)
    return out, steps
