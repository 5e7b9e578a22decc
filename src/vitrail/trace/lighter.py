"""Shrink the trace of a long sentence to what a page can hold, by omitting the internals of some layers.

A layer's arrays grow with the square of the sentence's length: 200 tokens through a `base` model take 300 MB. A layer
without its internals keeps its attention weights and its output; the output layer keeps its log-probabilities.
"""

from __future__ import annotations

from vitrail.errors import TraceError
from vitrail.trace.format import COPY, Array, Trace, same_numbers
from vitrail.trace.weights import OUTPUT, encoded_size

MOST_LAYERS = 1000  # of a stack, as in the settings
PAGE_MB = 100.0  # browsers are slow with larger pages; 1 MB is a million bytes


def lighter(trace: Trace, max_mb: float = PAGE_MB) -> Trace:
    """Return the trace if it fits, else a copy that omits the internals of parts until it does.

    The middle of each stack goes first. Parts whose weights are in the trace stay whole: the user requested them.
    """
    held: dict[str, Array] = trace.document["arrays"]
    room = max_mb * 1e6 - _size(trace.document["weights"])
    kept = _parts(trace)
    for part in sorted(_parts(trace), key=lambda part: _importance(trace, part)):
        if _size(held) <= room:
            break
        if part not in trace.document.get("weights_of", []):
            kept.remove(part)
            gone = inside(trace, part)
            held = {name: array for name, array in held.items() if name not in gone}
    if len(kept) == len(_parts(trace)):
        return trace
    return Trace({**trace.document, "arrays": held, "inside_of": kept})


def left_out(trace: Trace) -> list[str]:
    """The parts whose internals this trace omits."""
    return [part for part in _parts(trace) if part not in trace.document.get("inside_of", _parts(trace))]


def inside(trace: Trace, part: str) -> dict[str, Array]:
    """The arrays of a part that a lighter trace omits."""
    if part not in _parts(trace):
        raise TraceError(
            f"this model has no layer '{part}'", where="layer", fix=f"choose from {', '.join(_parts(trace))}"
        )
    arrays: dict[str, Array] = trace.document["arrays"]
    if part == OUTPUT:
        return {name: arrays[name] for name in ("logits",) if name in arrays}
    return {
        name: array
        for name, array in arrays.items()
        if name.startswith(f"{part}.") and name != f"{part}.output" and not name.endswith("_attention.weights")
    }


def _parts(trace: Trace) -> list[str]:
    """The layers from the bottom up, then the output layer."""
    return [f"{stack}.{n}" for stack in ("encoder", "decoder") for n in range(_layers(trace, stack))] + [OUTPUT]


def _layers(trace: Trace, stack: str) -> int:
    layers = trace.document["model"]["config"].get(f"{stack}_layers")
    if not isinstance(layers, int) or not 0 <= layers <= MOST_LAYERS:
        raise TraceError(f"{layers!r} is not a number of layers", where=f"model.config.{stack}_layers", fix=COPY)
    return layers


def _importance(trace: Trace, part: str) -> tuple[int, int, bool]:
    """Sort key: the parts to omit first. The middle of a stack, then its top, its bottom, and the output layer.

    The encoder's bottom layer outlasts the decoder's, because the page opens there.
    """
    if part == OUTPUT:
        return (1, 0, False)
    stack, _, layer = part.partition(".")
    above = _layers(trace, stack) - 1 - int(layer)
    return (-min(int(layer), above), -int(layer), stack == "encoder")


def _size(arrays: dict[str, Array]) -> int:
    earlier = same_numbers(arrays)
    return sum(encoded_size(name, array.shape, same=earlier[name]) for name, array in arrays.items())
