"""Record what a model does with one sentence, through its taps and its search. docs/trace.md describes the format."""

from vitrail.trace.format import FORMAT, VERSION, Trace
from vitrail.trace.lighter import inside, lighter
from vitrail.trace.record import TraceOptions, record
from vitrail.trace.weights import layer_weights

__all__ = ["FORMAT", "VERSION", "Trace", "TraceOptions", "inside", "layer_weights", "lighter", "record"]
