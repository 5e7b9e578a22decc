"""The gradient of a step: summed over its batches and over all processes, and divided once by the number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from vitrail.data import Batch
from vitrail.model import numpy_multiplies, openblas_on_one_core
from vitrail.text import EOS
from vitrail.train.device import autocast
from vitrail.train.learner import Learner
from vitrail.train.objective import Objective
from vitrail.train.peers import Peers
from vitrail.train.side_by_side import SideBySide


class Gradients:
    """Computes gradients. With peers, each process goes through its own part of every batch, and all get the whole."""

    def __init__(self, objective: Objective, learner: Learner, peers: Peers, *, precision: str) -> None:
        self.learner, self.peers, self.precision = learner, peers, precision
        self.objective: Objective | DistributedDataParallel = objective
        alone_on_cpu = peers.count == 1 and learner.device.type == "cpu"
        self.side_by_side = SideBySide(torch.get_num_threads()) if alone_on_cpu else None
        if peers.count > 1:
            gpus = [learner.device.index] if learner.device.type == "cuda" else None
            self.objective = DistributedDataParallel(objective, device_ids=gpus)
            self._settle()

    def fill(self, batches: Sequence[Batch], tokens: int) -> float:
        """Put the gradient of a step into the weights' `grad`; give the summed loss of this process's rows."""
        loss_sum = 0.0
        for number, batch in enumerate(batches, start=1):
            parts = self._parts(batch)
            if parts > 1:
                loss_sum += self._fill_in_parts(batch, tokens, parts)
                continue
            is_last = number == len(batches)
            # Processes meet once a step, not once a batch.
            with self._without_peers(not is_last), openblas_on_one_core(), numpy_multiplies(self._has_one_core()):
                loss = self._loss(torch.from_numpy(batch.source_BS), torch.from_numpy(batch.target_BT))
                # Processes are averaged, so that a sum is their number too small.
                self._backward(loss * self.peers.count / tokens)
            loss_sum += loss.item()
        return loss_sum

    def _has_one_core(self) -> bool:
        return self.learner.device.type == "cpu" and torch.get_num_threads() == 1

    def _parts(self, batch: Batch) -> int:
        return 1 if self.side_by_side is None else self.side_by_side.parts(batch)

    def _fill_in_parts(self, batch: Batch, tokens: int, parts: int) -> float:
        assert self.side_by_side is not None
        parameters = [parameter for parameter in self.learner.model.parameters() if parameter.requires_grad]
        loss_sum, found = self.side_by_side.gradient(self._loss, parameters, batch, tokens=tokens, parts=parts)
        for parameter, gradient in zip(parameters, found, strict=True):
            parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
        return loss_sum

    def _loss(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        with autocast(self.learner.device, self.precision):
            loss: Tensor = self.objective(source_BS.to(self.learner.device), target_BT.to(self.learner.device))
        return loss

    def _backward(self, loss: Tensor) -> None:
        scaled: Tensor = self.learner.scaler.scale(loss)
        scaled.backward()  # type: ignore[no-untyped-call]

    def _without_peers(self, apart: bool) -> AbstractContextManager[None]:
        if apart and isinstance(self.objective, DistributedDataParallel):
            return self.objective.no_sync()
        return nullcontext()

    def _settle(self) -> None:
        """Go through one empty sentence, and forget it.

        torch arranges anew, after the first time, in which order it adds up gradients. With three processes or more the
        order is in their last bits, and a run that goes on would have another first step than one that never stopped.
        """
        self.learner.model.eval()  # nothing random
        end_11 = torch.tensor([[EOS]])
        self._loss(end_11, end_11).backward()  # type: ignore[no-untyped-call]
        self.learner.model.zero_grad(set_to_none=True)
