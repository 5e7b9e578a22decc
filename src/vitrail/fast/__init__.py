"""The same parameters, arranged for training speed on a CPU.

`model/` says what is computed. This package says how to compute it faster: `Twin` is a copy of the model's modules that
shares its parameters and swaps some of the parts. Tests hold the twin equal to the model, loss and every gradient. Each
mechanism is measured by itself in whole training steps: benchmarks/training_choices.py, docs/speed.md.
"""

from vitrail.fast.linear import apply_linear
from vitrail.fast.masks import Masks
from vitrail.fast.padded import Padded
from vitrail.fast.products import openblas_on_one_core
from vitrail.fast.twin import Twin

__all__ = ["Masks", "Padded", "Twin", "apply_linear", "openblas_on_one_core"]
