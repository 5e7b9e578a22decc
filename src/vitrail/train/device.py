"""Where a run computes, and how precisely: on the CPU or a GPU, in float32 or partly in half precision."""

from __future__ import annotations

import torch

from vitrail.config import TrainConfig
from vitrail.errors import ConfigError
from vitrail.train.peers import Peers

HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def choose_device(config: TrainConfig, peers: Peers) -> torch.device:
    """The device that the settings name. With several GPUs, each process gets its own."""
    has_gpu = torch.cuda.is_available()
    if config.device == "cuda" and not has_gpu:
        raise ConfigError(
            "train.device = 'cuda', but torch finds no GPU here",
            where="[train] device",
            fix="set train.device = 'auto' or 'cpu'; or install a torch build for your GPU",
        )
    if config.device == "cpu" or not has_gpu:
        if config.precision == "fp16":
            raise ConfigError(
                "train.precision = 'fp16' needs a GPU",
                where="[train] precision",
                fix="set train.precision = 'bf16' or 'float32'",
            )
        return torch.device("cpu")
    if peers.local_rank >= torch.cuda.device_count():
        raise ConfigError(
            f"there are {peers.local_count} processes here, but {torch.cuda.device_count()} GPUs",
            where="torchrun --nproc-per-node",
            fix="start a process for each GPU, or set train.device = 'cpu'",
        )
    device = torch.device("cuda", peers.local_rank)
    torch.cuda.set_device(device)
    return device


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Run this block in half precision if the settings ask for it, except for operations that need float32."""
    return torch.autocast(device.type, dtype=HALVES.get(precision), enabled=precision in HALVES)


def is_half(precision: str) -> bool:
    """Whether linear layers compute in half precision."""
    return precision in HALVES


def is_slow(device: torch.device, precision: str) -> bool:
    """Whether half precision is slower than float32 here, because the processor has no instructions for it."""
    find = getattr(torch.cpu, "get_capabilities", None)  # not in every version of torch
    if device.type != "cpu" or precision not in HALVES or find is None:
        return False
    has = find()
    return bool(has.get("architecture") == "x86_64" and not (has.get("avx512_bf16") or has.get("amx_bf16")))


def make_scaler(device: torch.device, precision: str) -> torch.amp.GradScaler:
    """Keeps gradients within fp16's small range: the loss is scaled up, and steps that overflow are skipped."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
