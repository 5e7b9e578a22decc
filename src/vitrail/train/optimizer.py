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
    """Give an optimiser back what it remembered."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
