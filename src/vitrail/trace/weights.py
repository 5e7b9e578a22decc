"""Which of a model's parameters go into a trace: those of the requested layers, or as many as fit.

The gain and bias of every norm and the embeddings of the words that occur are always included. They are small, and most
steps can be checked with them. A *part* is a layer, `encoder.0`, or `output`, the final linear layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from torch import Tensor, nn

from vitrail.errors import TraceError
from vitrail.model import Transformer
from vitrail.trace.format import Array

OUTPUT = "output"
ALL = "all"


def parts_of(model: Transformer) -> list[str]:
    """The parts that can be requested: the layers from the bottom up, then the output layer."""
    stacks = (("encoder", model.encoder), ("decoder", model.decoder))
    return [f"{name}.{number}" for name, stack in stacks for number in range(len(stack.layers))] + [OUTPUT]


def check_parts(model: Transformer, requested: Sequence[str]) -> list[str]:
    """The requested parts in the model's order; `all` stands for every part."""
    known = parts_of(model)
    for part in requested:
        if part not in (*known, ALL):
            raise TraceError(
                f"this model has no layer '{part}'", where="layers", fix=f"choose from {', '.join(known)}, or '{ALL}'"
            )
    return known if ALL in requested else [part for part in known if part in requested]


def layer_weights(model: Transformer, part: str) -> dict[str, Array]:
    """Every parameter of a part, by its name in the model."""
    check_parts(model, [part])
    names = _output_names(model) if part == OUTPUT else _layer_names(model, part)
    held = model.state_dict()
    return {name: as_array(held[name]) for name in names}


def norm_weights(model: Transformer) -> dict[str, Array]:
    """The gain and bias of every layer norm."""
    held = model.state_dict()
    return {name: as_array(held[name]) for name in norm_names(model)}


def norm_names(model: Transformer) -> list[str]:
    """The names of the norms' parameters."""
    norms = {name: module for name, module in model.named_modules() if isinstance(module, nn.LayerNorm)}
    return [f"{norm}.{name}" for norm, module in norms.items() for name, _ in module.named_parameters()]


def embedding_rows(model: Transformer, source_ids: Sequence[int], target_ids: Sequence[int]) -> dict[str, Any]:
    """The rows of both embedding tables, not scaled, for the ids that occur."""

    def rows(table_VD: Tensor, ids: Sequence[int]) -> dict[str, Any]:
        chosen = sorted(set(ids))
        return {"ids": chosen, "rows": as_array(table_VD[chosen])}

    embeddings = model.embeddings
    return {
        "source": rows(embeddings.source_table_VD(), source_ids),
        "target": rows(embeddings.target_table_VD(), target_ids),
    }


def fitting_parts(model: Transformer, room: float) -> list[str]:
    """As many parts, from the bottom up, as fit into `room` bytes of JSON besides the norms; possibly none."""
    held, found = model.state_dict(), []
    no_more_layers = False  # do not skip a layer for a smaller one above it
    for part in parts_of(model):
        names = _output_names(model) if part == OUTPUT else _layer_names(model, part)
        size = sum(encoded_size(name, held[name].shape) for name in names if name not in norm_names(model))
        if size > room or (no_more_layers and part != OUTPUT):
            no_more_layers = True
            continue
        found.append(part)
        room -= size
    return found


def encoded_size(name: str, shape: Sequence[int], *, same: str | None = None) -> int:
    """The bytes of JSON that an array takes, with its name and a comma. Base64 turns three bytes into four."""
    content = 4 * ((4 * prod(shape) + 2) // 3) if same is None else len(same)
    return content + len(str(list(shape)).replace(" ", "")) + len(name) + 24


def count_parameters(model: Transformer) -> dict[str, Any]:
    """Count the parameters: in total, in the embeddings, and in each part by name."""
    parts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        place = name.replace(".layers.", ".").split(".")
        if place[0] in ("encoder", "decoder"):
            # encoder.0.self_attention.query.weight counts for encoder.0 and for encoder.0.self_attention
            for depth in (2, 3):
                if place[1].isdigit() or depth == 2:
                    part = ".".join(place[:depth])
                    parts[part] = parts.get(part, 0) + parameter.numel()
        else:
            parts[place[0]] = parts.get(place[0], 0) + parameter.numel()
    total = sum(parameter.numel() for parameter in model.parameters())
    return {"total": total, "embeddings": parts.get("embeddings", 0), "parts": parts}


def as_array(values: Tensor) -> Array:
    """Copy a tensor into a float32 array."""
    return np.array(values.detach().float().cpu().numpy(), dtype=np.float32)


def _layer_names(model: Transformer, part: str) -> list[str]:
    stack, _, number = part.partition(".")
    return [name for name in model.state_dict() if name.startswith(f"{stack}.layers.{number}.")]


def _output_names(model: Transformer) -> list[str]:
    """The output layer's parameters: its table, under the name it is shared by, and its bias if any."""
    table_VD = model.embeddings.output_table_VD()
    names = [name for name, parameter in model.named_parameters() if parameter is table_VD]
    return names + ([] if model.output_bias is None else ["output_bias"])
