"""The optimiser (section 5.3 of the paper), and its state as named tensors, so that nothing has to be pickled.

`config/kinds.py` lists the same names, with what each one can do.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from vitrail.config import TrainConfig
from vitrail.train.muon import Muon

BETAS, EPSILON = (0.9, 0.98), 1e-9  # the paper's


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """The optimiser that the settings name. Its learning rate is zero: `set_rate` sets it before every step."""
    return OPTIMIZERS[config.optimizer](model, config)


def adam(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam, with the paper's numbers."""
    return torch.optim.Adam(_trained(model), lr=0.0, betas=BETAS, eps=EPSILON, fused=True)


def adamw(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam with a weight decay that does not pass through its moments."""
    return torch.optim.AdamW(
        _trained(model), lr=0.0, betas=BETAS, eps=EPSILON, weight_decay=config.weight_decay, fused=True
    )


def adafactor(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Adafactor, which keeps one number per row and column instead of one per weight."""
    return torch.optim.Adafactor(_trained(model), lr=0.0, weight_decay=config.weight_decay)


def muon(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Muon for the matrices inside the layers, AdamW for the rest. In bf16, its rounds are bf16 too."""
    rounds_in = torch.bfloat16 if config.precision == "bf16" else None
    return Muon(model, weight_decay=config.weight_decay, rounds_in=rounds_in)


OPTIMIZERS: dict[str, Callable[[nn.Module, TrainConfig], torch.optim.Optimizer]] = {
    "adam": adam,
    "adamw": adamw,
    "adafactor": adafactor,
    "muon": muon,
}


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use this learning rate from the next step on."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state by name: `12.exp_avg` is the running mean of the 13th parameter's gradient."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": value for number, values in state.items() for name, value in values.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back a state that `optimizer_tensors` returned; a ValueError if this optimiser cannot have such a state.

    Adam's fused step assumes, without a check, that its tensors have the parameter's shape.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    known = {number: _remembered(optimizer, parameter) for number, parameter in enumerate(parameters)}
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        place = int(number) if number.isascii() and number.isdigit() else -1
        shape = known.get(place, {}).get(name)
        if value.dtype != torch.float32 or shape != value.shape:
            kind = f"{str(value.dtype).removeprefix('torch.')} of {tuple(value.shape)}"
            raise ValueError(f"the optimiser has no state '{key}' that is {kind}")
        state.setdefault(place, {})[name] = value
    for place, values in state.items():
        if values.keys() != known[place].keys():
            raise ValueError(f"the optimiser's state of parameter {place} is incomplete")
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _remembered(optimizer: torch.optim.Optimizer, parameter: Tensor) -> dict[str, torch.Size]:
    """The names and shapes of what an optimiser keeps for a parameter after its first step."""
    whole, number = parameter.shape, torch.Size()
    if isinstance(optimizer, torch.optim.Adafactor):
        if len(whole) < 2:
            return {"step": number, "variance": whole}
        rows, columns = torch.Size((*whole[:-1], 1)), torch.Size((*whole[:-2], 1, whole[-1]))
        return {"step": number, "row_var": rows, "col_var": columns}
    if isinstance(optimizer, Muon) and any(parameter is matrix for matrix in optimizer.param_groups[0]["params"]):
        return {"step": number, "momentum": whole}
    return {"step": number, "exp_avg": whole, "exp_avg_sq": whole}
