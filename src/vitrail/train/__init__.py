"""Training: loss, schedule, optimiser, loop, checkpoints, log."""

from vitrail.train.average import average_checkpoints
from vitrail.train.checkpoint import list_steps
from vitrail.train.events import Listener, Sample, Silence, StepDone, Validated
from vitrail.train.log import LOG, read_log
from vitrail.train.loop import Outcome
from vitrail.train.loss import smoothed_loss, smoothed_target
from vitrail.train.memory import keep_memory
from vitrail.train.peers import HeardError
from vitrail.train.run import train
from vitrail.train.start import read_origin

__all__ = [
    "LOG",
    "HeardError",
    "Listener",
    "Outcome",
    "Sample",
    "Silence",
    "StepDone",
    "Validated",
    "average_checkpoints",
    "keep_memory",
    "list_steps",
    "read_log",
    "read_origin",
    "smoothed_loss",
    "smoothed_target",
    "train",
]
