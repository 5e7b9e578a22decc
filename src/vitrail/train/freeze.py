"""Parts of a model that training leaves as they are (`train.freeze`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vitrail.errors import ConfigError, did_you_mean
from vitrail.model import Transformer


def freeze(model: Transformer, parts: Sequence[str]) -> int:
    """Exclude these parts from training; return how many numbers they hold.

    A frozen parameter gets no gradient, so that no optimiser, weight decay or clipping sees it.
    """
    parameters = dict(model.named_parameters())
    names = frozen_names(parameters, parts)
    for name in names:
        parameters[name].requires_grad_(False)
    return sum(parameters[name].numel() for name in names)


def frozen_names(names: Iterable[str], parts: Sequence[str]) -> set[str]:
    """The parameters in these parts. A part that does not exist, or nothing left to train, is refused."""
    known = {_without_layers(name): name for name in names}
    found: set[str] = set()
    for part in parts:
        inside = {name for short, name in known.items() if short == part or short.startswith(f"{part}.")}
        if not inside:
            raise _unknown(part, known)
        found |= inside
    if found and len(found) == len(known):
        raise ConfigError(
            "every part of the model is frozen, so there is nothing to train",
            where="train.freeze",
            fix="leave a part out of it",
        )
    return found


def _without_layers(name: str) -> str:
    """A parameter's name as a trace has it: encoder.0.self_attention.query.weight."""
    return name.replace("coder.layers.", "coder.")


def _unknown(part: str, known: Iterable[str]) -> ConfigError:
    parts = dict.fromkeys(".".join(name.split(".")[:depth]) for depth in (1, 2) for name in known)
    listed = [name for name in parts if not name.startswith("embeddings.")]
    near = did_you_mean(part, listed)
    choices = f"choose from {', '.join(listed)}, or a part of a layer, such as encoder.0.self_attention"
    return ConfigError(
        f"the model has no part '{part}'", where="train.freeze", fix=f"{near} {choices}" if near else choices
    )
