"""Record what a model did with one sentence, through its taps and its search; the trace's format is docs/trace.md."""

from vitrail.trace.format import FORMAT, VERSION, Trace
from vitrail.trace.lighter import inside, lighter
from vitrail.trace.record import TraceOptions, record
from vitrail.trace.weights import layer_weights

__all__ = ["FORMAT", "VERSION", "Trace", "TraceOptions", "inside", "layer_weights", "lighter", "record"]
