"""The systems that benchmarks/training.py compares, each with one method: take a training step on a padded batch.

All have the same architecture, the same loss (cross-entropy, label smoothing 0.1) and Adam; each as its own users run
it, at its best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from vitrail.config import PRESETS, ModelConfig, TrainConfig
from vitrail.data import Batch
from vitrail.model import Transformer
from vitrail.text import BOS, PAD
from vitrail.train.device import make_scaler
from vitrail.train.gradients import Gradients
from vitrail.train.learner import Learner
from vitrail.train.memory import keep_memory
from vitrail.train.optimizer import make_optimizer, set_rate
from vitrail.train.peers import ALONE

VOCABULARY = 8000
RATE = 1e-4
SMOOTHING = 0.1
DROPOUT = 0.1

Ids = NDArray[np.int64]


class System:
    """Something that learns. `loss` is what its step makes smaller, summed over target tokens."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        self.model = model.train()
        self.optimizer = optimizer or torch.optim.Adam(
            model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True
        )

    def loss(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        raise NotImplementedError

    def step(self, source_BS: Ids, target_BT: Ids) -> float:
        """One step of training."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(torch.from_numpy(source_BS), torch.from_numpy(target_BT))
        tokens = int(np.count_nonzero(target_BT != PAD))
        (loss / tokens).backward()
        self.optimizer.step()
        return float(loss.detach()) / tokens


class Vitrail(System):
    """This project: the objective, dropout, gradients and optimiser that `vitrail train` uses."""

    def __init__(self, size: str, *, precision: str = "float32", **more: Any) -> None:
        keep_memory()
        config = ModelConfig(preset=size, dropout=DROPOUT, **more)  # type: ignore[arg-type]
        model = Transformer(config, VOCABULARY, VOCABULARY)
        optimizer = make_optimizer(model, TrainConfig())
        set_rate(optimizer, RATE)
        super().__init__(model, optimizer)
        cpu = torch.device("cpu")
        learner = Learner(model, optimizer, make_scaler(cpu, "float32"), average=None, device=cpu)
        self.gradients = Gradients(learner, ALONE, precision=precision, smoothing=SMOOTHING)

    def step(self, source_BS: Ids, target_BT: Ids) -> float:
        """One step of training, as the loop takes it."""
        batch = Batch(source_BS, target_BT, epoch=0, index=0, lines=())
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.gradients.fill([batch], batch.target_tokens)
        torch.nn.utils.get_total_norm([one.grad for one in self.model.parameters() if one.grad is not None])
        self.optimizer.step()
        return loss / batch.target_tokens


class VitrailEverywhere(Vitrail):
    """The same with dropout in the places where torch's own layers have it too: attention weights and activations."""

    def __init__(self, size: str) -> None:
        super().__init__(size, attention_dropout=DROPOUT, activation_dropout=DROPOUT)


class Plain(System):
    """A loop around torch.nn.Transformer, as tutorials write it: it drops attention weights and hidden values, too."""

    def __init__(self, size: str) -> None:
        super().__init__(PlainModel(size))

    def loss(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        input_BT = torch.cat([torch.full_like(target_BT[:, :1], BOS), target_BT[:, :-1]], dim=1)
        logits_BTV = self.model(source_BS, input_BT)
        return F.cross_entropy(
            logits_BTV.flatten(0, 1),
            target_BT.flatten(),
            ignore_index=PAD,
            label_smoothing=SMOOTHING,
            reduction="sum",
        )


class PlainPaper(Plain):
    """The same with dropout where the paper has it: none on attention weights, none on hidden values."""

    def __init__(self, size: str) -> None:
        super().__init__(size)
        for layer in self.model.modules():
            if isinstance(layer, nn.MultiheadAttention):
                layer.dropout = 0.0
            if isinstance(layer, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                layer.dropout = nn.Identity()  # type: ignore[assignment]


class PlainKept(PlainPaper):
    """The same in a process that keeps its memory as Vitrail's does: what a plain loop can borrow without a change."""

    def __init__(self, size: str) -> None:
        keep_memory()
        super().__init__(size)


class Compiled(Plain):
    """torch's with its own dropout, compiled."""

    def __init__(self, size: str) -> None:
        super().__init__(size)
        self.model = torch.compile(self.model, dynamic=True)  # type: ignore[assignment]


class PlainModel(nn.Module):
    """torch.nn.Transformer with shared embeddings and sinusoids."""

    def __init__(self, size: str) -> None:
        super().__init__()
        shape = PRESETS[size]
        width = int(shape["d_model"])
        self.table = nn.Parameter(torch.randn(VOCABULARY, width) * width**-0.5)
        angle_PF = torch.arange(512)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        self.register_buffer("position_PD", torch.stack([angle_PF.sin(), angle_PF.cos()], dim=-1).flatten(1))
        self.dropout = nn.Dropout(DROPOUT)
        self.transformer = nn.Transformer(
            width,
            int(shape["heads"]),
            int(shape["encoder_layers"]),
            int(shape["decoder_layers"]),
            int(shape["d_ff"]),
            DROPOUT,
            batch_first=True,
        )

    def embed(self, ids_BT: Tensor) -> Tensor:
        x_BTD = F.embedding(ids_BT, self.table) * self.table.size(1) ** 0.5
        embedded: Tensor = self.dropout(x_BTD + self.get_buffer("position_PD")[: ids_BT.size(1)])
        return embedded

    def forward(self, source_BS: Tensor, input_BT: Tensor) -> Tensor:
        hidden_BTD = self.transformer(
            self.embed(source_BS),
            self.embed(input_BT),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(input_BT.size(1)),
            tgt_is_causal=True,
            src_key_padding_mask=source_BS == PAD,
            memory_key_padding_mask=source_BS == PAD,
        )
        return F.linear(hidden_BTD, self.table)


class Marian(System):
    """Hugging Face's MarianMTModel, whose own settings have dropout where the paper has it."""

    def __init__(self, size: str) -> None:
        from transformers import MarianConfig, MarianMTModel

        shape = PRESETS[size]
        config = MarianConfig(
            vocab_size=VOCABULARY,
            d_model=int(shape["d_model"]),
            encoder_layers=int(shape["encoder_layers"]),
            decoder_layers=int(shape["decoder_layers"]),
            encoder_attention_heads=int(shape["heads"]),
            decoder_attention_heads=int(shape["heads"]),
            encoder_ffn_dim=int(shape["d_ff"]),
            decoder_ffn_dim=int(shape["d_ff"]),
            dropout=DROPOUT,
            activation_function="relu",  # the paper's, as in the others
            max_position_embeddings=512,
            pad_token_id=PAD,
            decoder_start_token_id=BOS,
            eos_token_id=3,
            scale_embedding=True,
            use_cache=False,
        )
        super().__init__(MarianMTModel(config))

    def loss(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        input_BT = torch.cat([torch.full_like(target_BT[:, :1], BOS), target_BT[:, :-1]], dim=1)
        found = self.model(input_ids=source_BS, attention_mask=source_BS != PAD, decoder_input_ids=input_BT)
        return F.cross_entropy(
            found.logits.flatten(0, 1),
            target_BT.flatten(),
            ignore_index=PAD,
            label_smoothing=SMOOTHING,
            reduction="sum",
        )


SYSTEMS: dict[str, type[System]] = {
    "vitrail": Vitrail,
    "vitrail, dropout everywhere": VitrailEverywhere,
    "torch.nn.Transformer": Plain,
    "torch.nn.Transformer, the paper's dropout": PlainPaper,
    "torch.nn.Transformer, the paper's dropout, memory kept": PlainKept,
    "torch.nn.Transformer, compiled": Compiled,
    "MarianMTModel": Marian,
}  # fmt: skip
