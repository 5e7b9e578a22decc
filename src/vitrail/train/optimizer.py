"""The optimiser (section 5.3 of the paper), and its state as named tensors, so that nothing has to be pickled."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vitrail.config import TrainConfig
from vitrail.train.muon import Muon


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam as in the paper (0.9, 0.98, 1e-9), AdamW, Adafactor or Muon. The rate is set before every step."""
    if config.optimizer == "muon":
        rounds_in = torch.bfloat16 if config.precision == "bf16" else None
        return Muon(model, weight_decay=config.weight_decay, rounds_in=rounds_in)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if config.optimizer == "adafactor":
        return torch.optim.Adafactor(parameters, lr=0.0, weight_decay=config.weight_decay)
    if config.optimizer == "adamw":
        return torch.optim.AdamW(
            parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=config.weight_decay, fused=True
        )
    return torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use this learning rate from the next step on."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Everything that the optimiser remembers: `12.exp_avg` is the running mean of the 13th parameter's gradient."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": value for number, values in state.items() for name, value in values.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Give an optimiser back what it remembered; a ValueError where it is not what such an optimiser remembers.

    Adam's fused step takes it for granted that all of a parameter's tensors are as large as the parameter.
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
            raise ValueError(f"the optimiser cannot remember '{key}', which is {kind}")
        state.setdefault(place, {})[name] = value
    for place, values in state.items():
        if values.keys() != known[place].keys():
            raise ValueError(f"the optimiser lacks something of parameter {place}")
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _remembered(optimizer: torch.optim.Optimizer, parameter: Tensor) -> dict[str, torch.Size]:
    """What an optimiser remembers of a parameter after its first step, each with its shape."""
    whole, number = parameter.shape, torch.Size()
    if isinstance(optimizer, torch.optim.Adafactor):
        if len(whole) < 2:
            return {"step": number, "variance": whole}
        rows, columns = torch.Size((*whole[:-1], 1)), torch.Size((*whole[:-2], 1, whole[-1]))
        return {"step": number, "row_var": rows, "col_var": columns}
    if isinstance(optimizer, Muon) and any(parameter is matrix for matrix in optimizer.param_groups[0]["params"]):
        return {"step": number, "momentum": whole}
    return {"step": number, "exp_avg": whole, "exp_avg_sq": whole}
