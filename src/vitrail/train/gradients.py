"""The gradient of a step: summed over its batches and over all processes, and divided once by the number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from vitrail.data import Batch
from vitrail.fast import Masks, Padded, Twin, openblas_on_one_core
from vitrail.text import EOS
from vitrail.train.device import autocast, is_half
from vitrail.train.learner import Learner
from vitrail.train.objective import Objective
from vitrail.train.peers import Peers
from vitrail.train.side_by_side import Share, SideBySide, draw_seed


class Gradients:
    """Computes gradients: on a CPU with a thread for each part of a batch, with peers with a process for each part."""

    def __init__(self, learner: Learner, peers: Peers, *, precision: str, smoothing: float) -> None:
        self.learner, self.peers, self.precision, self.smoothing = learner, peers, precision, smoothing
        self._on_cpu = learner.device.type == "cpu"
        self._twins: dict[tuple[int, bool], Objective] = {}
        # fp16 scales its loss, which only the whole batch has.
        in_shares = self._on_cpu and peers.count == 1 and not learner.scaler.is_enabled()
        self.side_by_side = SideBySide(torch.get_num_threads()) if in_shares else None
        if self.side_by_side is None:
            self._whole = self._make_objective(one_core=torch.get_num_threads() == 1)
            self._meeting: Objective | DistributedDataParallel = self._whole
        if peers.count > 1:
            gpus = [learner.device.index] if learner.device.type == "cuda" else None
            self._meeting = DistributedDataParallel(self._whole, device_ids=gpus)
            self._settle()

    def fill(self, batches: Sequence[Batch], tokens: int, *, r_drop: float = 0.0) -> float:
        """Put the gradient of a step into the weights' `grad`; return the summed loss of this process's rows."""
        if self.side_by_side is not None:
            return sum(self._fill_in_parts(self.side_by_side, batch, tokens, r_drop) for batch in batches)
        loss_sum = 0.0
        for number, batch in enumerate(batches, start=1):
            is_last = number == len(batches)
            # Processes meet once a step, not once a batch.
            with self._without_peers(not is_last), openblas_on_one_core():
                source_BS, target_BT = torch.from_numpy(batch.source_BS), torch.from_numpy(batch.target_BT)
                loss = self._loss(self._meeting, source_BS, target_BT, draw_seed(), r_drop)
                # DDP averages the gradients of all processes, but a step needs their sum.
                self._backward(loss * self.peers.count / tokens)
            loss_sum += loss.item()
        return loss_sum

    def _fill_in_parts(self, side_by_side: SideBySide, batch: Batch, tokens: int, r_drop: float) -> float:
        def loss_of(share: Share) -> Tensor:
            return self._loss(self._twin(share), share.source_BS, share.target_BT, share.seed, r_drop)

        parameters = [parameter for parameter in self.learner.model.parameters() if parameter.requires_grad]
        loss_sum, found = side_by_side.gradient(loss_of, parameters, batch, tokens=tokens)
        for parameter, gradient in zip(parameters, found, strict=True):
            parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
        return loss_sum

    def _twin(self, share: Share) -> Objective:
        """The objective of one share. Shares are computed at the same time, so each has a twin of its own."""
        key = share.number, share.cores == 1
        if key not in self._twins:
            self._twins[key] = self._make_objective(one_core=share.cores == 1)
        return self._twins[key]

    def _make_objective(self, *, one_core: bool) -> Objective:
        model = self.learner.model
        if not self._on_cpu:
            return Objective(Padded(model), smoothing=self.smoothing)
        twin = Twin(model, Masks(0), one_core=one_core, half_precision=is_half(self.precision))
        return Objective(twin, smoothing=self.smoothing)

    def _loss(
        self,
        objective: Objective | DistributedDataParallel,
        source_BS: Tensor,
        target_BT: Tensor,
        seed: int,
        r_drop: float,
    ) -> Tensor:
        objective.train(self.learner.model.training)
        body = (objective.module if isinstance(objective, DistributedDataParallel) else objective).body
        if isinstance(body, Twin):
            body.masks.restart(seed)
        device = self.learner.device
        with autocast(device, self.precision):
            loss: Tensor = objective(source_BS.to(device), target_BT.to(device), r_drop)
        return loss

    def _backward(self, loss: Tensor) -> None:
        scaled: Tensor = self.learner.scaler.scale(loss)
        scaled.backward()  # type: ignore[no-untyped-call]

    def _without_peers(self, apart: bool) -> AbstractContextManager[None]:
        if apart and isinstance(self._meeting, DistributedDataParallel):
            return self._meeting.no_sync()
        return nullcontext()

    def _settle(self) -> None:
        """Go through one empty sentence and discard the result.

        After the first backward pass torch rearranges the order in which it adds gradients up. With three processes or
        more the last bits depend on that order, so the first step of a resumed run would differ from the same step of
        a run that never stopped.
        """
        self.learner.model.eval()  # no dropout
        end_11 = torch.tensor([[EOS]])
        self._loss(self._meeting, end_11, end_11, 0, 0.0).backward()  # type: ignore[no-untyped-call]
        self.learner.model.zero_grad(set_to_none=True)
