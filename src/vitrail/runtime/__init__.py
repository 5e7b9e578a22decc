"""The same weights arranged for inference: engines, and the choice between them. Imports torch only if it is needed."""

from vitrail.runtime.choice import Runtime, cores
from vitrail.runtime.engine import Engine, Job

__all__ = ["Engine", "Job", "Runtime", "cores"]
