"""The training loop: batches in, optimiser steps out. `records.py` records them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NoReturn

import torch

from vitrail.data import Batch, BatchStream, Part, Position, Prepared, SubwordDropout
from vitrail.folder import ModelFolder
from vitrail.train.budget import explained_shortage
from vitrail.train.checkpoint import RunState
from vitrail.train.gradients import Gradients
from vitrail.train.learner import Learner
from vitrail.train.optimizer import set_rate
from vitrail.train.peers import ALONE, HeardError, Peers
from vitrail.train.records import Records, Step, gone_wrong, why_over
from vitrail.train.schedule import make_schedule
from vitrail.train.stop import StopRequest


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    step: int
    reason: str  # "max_steps", "max_epochs", "patience" or "interrupted"
    best_loss: float | None
    has_validation: bool


class Trainer:
    """A run in progress. Its whole state is in `state`, the learner and torch's generator.

    Every process of a run has one, and each takes every step: their weights are the same at all times. Only the leader
    has records, so it alone validates, decides when the run is over, and tells the others.
    """

    def __init__(
        self,
        folder: ModelFolder,
        prepared: Prepared,
        *,
        learner: Learner,
        state: RunState,
        records: Records | None,
        peers: Peers = ALONE,
    ) -> None:
        assert peers.leads == (records is not None)
        self.folder, self.config = folder, folder.config.train
        self.learner, self.state, self.records, self.peers = learner, state, records, peers
        self.gradients = Gradients(
            learner, peers, precision=self.config.precision, smoothing=self.config.label_smoothing
        )
        batch_tokens = self.config.batch_tokens
        assert batch_tokens != "auto", "a run's settings hold the resolved number"
        self.stream = BatchStream(
            prepared.train,
            prepared.weights,
            batch_tokens=batch_tokens,
            seed=self.config.seed,
            subword_dropout=self._subword_dropout(),
            part=Part(peers.rank, peers.count),
        )
        self.rate = make_schedule(self.config, folder.config.model.d_model)
        self.newest: list[Batch] = []  # of the last step

    def run(self, stop: StopRequest) -> Outcome:
        """Train until the run is over or is asked to stop. Either way, progress is saved."""
        batches = self.stream.from_position(self.state.position)
        reason = self.peers.lead(self._begin)
        while reason is None:
            step = self._step(list(islice(batches, self.config.accumulate)), stop)
            reason = self.peers.lead(partial(self._look_back, step))
        return self.peers.lead(partial(self._finish, reason))

    def _step(self, batches: list[tuple[Position, Batch]], stop: StopRequest) -> Step:
        """One step: the loss summed over all target tokens of its batches, divided once by their number."""
        step, optimizer, scaler = self.state.step + 1, self.learner.optimizer, self.learner.scaler
        self.newest = [batch for _, batch in batches]
        origin = self._origin()
        self.peers.reseed(self.config.seed, step)
        self.learner.model.train()
        r_drop = self.config.r_drop if step > self.config.r_drop_after else 0.0
        optimizer.zero_grad(set_to_none=True)
        tokens = int(self.peers.total(sum(batch.target_tokens for batch in self.newest))[0])
        with explained_shortage(self.newest, self.config, origin):
            own_loss_sum = self.gradients.fill(self.newest, tokens, r_drop=r_drop)
        loss_sum, asked_to_stop = self.peers.total(own_loss_sum, stop.requested)
        scaler.unscale_(optimizer)
        norm = self._gradient_norm()
        if not math.isfinite(loss_sum):
            self._refuse(f"the loss is {loss_sum} at step {step}")
        if not math.isfinite(norm) and (not scaler.is_enabled() or scaler.get_scale() < 1):
            self._refuse(f"the gradient's norm is {norm} at step {step}")
        rate = self.rate(step)
        set_rate(optimizer, rate)
        with explained_shortage(self.newest, self.config, origin):
            scaler.step(optimizer)  # with fp16, skipped if the norm is not finite; the scale then shrinks
        scaler.update()
        if self.learner.average is not None:
            self.learner.average.follow(self.learner.model, step)
        position = batches[-1][0]
        self.state = replace(
            self.state,
            step=step,
            epoch=position.epoch,
            batch=position.batch,
            loss_sum=self.state.loss_sum + loss_sum,
            loss_tokens=self.state.loss_tokens + tokens,
        )
        return Step(loss_sum / tokens, tokens, rate, origin, is_last=asked_to_stop > 0)

    def _begin(self) -> str | None:
        assert self.records is not None
        self.records.begin(self.state, expected_steps=self._expected_steps())
        return why_over(self.config, self.state)

    def _look_back(self, step: Step) -> str | None:
        assert self.records is not None
        self.state, reason = self.records.after(self.state, step)
        return reason

    def _finish(self, reason: str) -> Outcome:
        assert self.records is not None
        self.state = self.records.finish(self.state, reason, origin=self._origin())
        return Outcome(self.state.step, reason, self.state.best_loss, bool(self.records.validator.sets))

    def _gradient_norm(self) -> float:
        """The norm of the whole gradient before clipping; clips it if the settings say so."""
        parameters = list(self.learner.model.parameters())
        norm = torch.nn.utils.get_total_norm([one.grad for one in parameters if one.grad is not None])
        if self.config.clip_norm is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.config.clip_norm, norm)
        return float(norm)

    def _subword_dropout(self) -> SubwordDropout | None:
        share, longest = self.config.subword_dropout, self.learner.model.max_positions
        if not share:
            return None
        return SubwordDropout(self.folder.tokenizers, share=share, seed=self.config.seed, longest=longest)

    def _expected_steps(self) -> int:
        if self.config.max_epochs is None:
            return self.config.max_steps
        steps: int = math.ceil(self.config.max_epochs * self.stream.batches_in_epoch(0) / self.config.accumulate)
        return min(self.config.max_steps, steps)

    def _origin(self) -> str:
        return "; ".join(batch.origin() for batch in self.newest)

    def _refuse(self, what: str) -> NoReturn:
        """End the run in all processes at once. The leader reports why, and which batches each process had."""
        error = gone_wrong(what, self.folder, "; ".join(self.peers.gather(self._origin())))
        if self.peers.leads:
            raise error
        raise HeardError(error.what, where=error.where, fix=error.fix)
