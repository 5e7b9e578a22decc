"""The same weights arranged for inference: engines, and the choice between them. Imports torch only if it is needed."""

from vitrail.runtime.choice import Runtime
from vitrail.runtime.engine import Engine, Job
from vitrail.runtime.tuning import cores

__all__ = ["Engine", "Job", "Runtime", "cores"]
