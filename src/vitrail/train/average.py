"""Average checkpoints: the last 5 as in the paper (section 6.1), or any other number."""

from __future__ import annotations

from pathlib import Path

from vitrail.errors import FolderError
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.storage import new_folder
from vitrail.train.checkpoint import EMA, average_weights, in_a_row, list_steps
from vitrail.train.lock import sole_writer
from vitrail.train.start import read_origin, write_origin


def average_checkpoints(run: Path, *, last: int, out: Path | None) -> tuple[Path, list[int]]:
    """Write the mean of a run's newest checkpoints to `out`, or over the run's own weights.

    If the run uses a moving average (`train.use = "ema"`), the checkpoints' moving averages are averaged.
    """
    folder = ModelFolder.open(run)
    config = folder.config.train
    steps = in_a_row(list_steps(run), every=config.checkpoint_every)[-last:]
    file = EMA if config.use == "ema" else WEIGHTS
    if not steps:
        raise FolderError(
            "this run has no checkpoints", where=str(run), fix="let the training continue, or give another run"
        )
    if out is not None and out.exists():
        raise FolderError("this path already exists", where=str(out), fix="choose another --out")
    if out is None:
        with sole_writer(run):
            folder.write_weights(average_weights(run, steps, file=file))
        return run, steps
    weights = average_weights(run, steps, file=file)
    origin = read_origin(run)
    with new_folder(out) as partial:
        ModelFolder.create(partial, folder.config, folder.tokenizers).write_weights(weights)
        write_origin(partial, origin)
    return out, steps
