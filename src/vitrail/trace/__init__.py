"""Record what a model did with one sentence, through its taps and its search; the trace's format is docs/trace.md."""

from vitrail.trace.format import FORMAT, VERSION, Trace
from vitrail.trace.record import record
from vitrail.trace.weights import layer_weights

__all__ = ["FORMAT", "VERSION", "Trace", "layer_weights", "record"]
