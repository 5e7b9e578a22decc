"""A trace that a page can hold: of a long sentence, the insides of some layers are left out.

What a layer holds grows with the square of the sentence's length: 200 tokens of a `base` model are 300 MB. Of a layer
without its inside, where its heads look and what leaves it remain; of the output layer, the log-probabilities.
"""

from __future__ import annotations

from vitrail.errors import TraceError
from vitrail.trace.format import COPY, Array, Trace, same_numbers
from vitrail.trace.weights import OUTPUT, encoded_size

MOST_LAYERS = 1000  # of a stack, as in the settings
PAGE_MB = 100.0  # beyond, a browser takes its time; 1 MB is a million bytes


def lighter(trace: Trace, max_mb: float = PAGE_MB) -> Trace:
    """The trace if it fits; else without the insides of as many parts as it takes, the middle of a stack first.

    Parts whose weights are in the trace keep theirs: they were asked for.
    """
    held: dict[str, Array] = trace.document["arrays"]
    room = round(max_mb * 1e6) - _size(trace.document["weights"])
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
    """The parts whose insides are not in this trace."""
    return [part for part in _parts(trace) if part not in trace.document.get("inside_of", _parts(trace))]


def inside(trace: Trace, part: str) -> dict[str, Array]:
    """What a part computed, but for what a lighter trace keeps of it."""
    if part not in _parts(trace):
        raise TraceError(f"this model has no layer '{part}'", where="layer", fix=f"it has {', '.join(_parts(trace))}")
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
        raise TraceError(f"{layers!r} is no number of layers", where=f"model.config.{stack}_layers", fix=COPY)
    return layers


def _importance(trace: Trace, part: str) -> tuple[int, int, bool]:
    """What is left out first comes first: the middle of a stack, then its top, its bottom, and the output.

    The bottom of the encoder stays longer than the decoder's: the page opens there.
    """
    if part == OUTPUT:
        return (1, 0, False)
    stack, _, layer = part.partition(".")
    above = _layers(trace, stack) - 1 - int(layer)
    return (-min(int(layer), above), -int(layer), stack == "encoder")


def _size(arrays: dict[str, Array]) -> int:
    earlier = same_numbers(arrays)
    return sum(encoded_size(name, array.shape, same=earlier[name]) for name, array in arrays.items())
