"""The training loop: batches in, steps of the optimiser, looks at the validation data, checkpoints."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from itertools import islice
from typing import NoReturn

import torch
from torch import Tensor

from vitrail.data import Batch, BatchStream, Position, Prepared, SubwordDropout
from vitrail.errors import TrainingError
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.model import Transformer
from vitrail.train.checkpoint import (
    EMA,
    RunState,
    average_weights,
    checkpoint_path,
    list_steps,
    remove_old,
    save_checkpoint,
)
from vitrail.train.ema import MovingAverage
from vitrail.train.events import Listener, StepDone, Validated
from vitrail.train.log import Log
from vitrail.train.objective import Objective
from vitrail.train.optimizer import set_rate
from vitrail.train.probes import ProbeLog
from vitrail.train.schedule import make_schedule
from vitrail.train.stop import StopRequest
from vitrail.train.validation import GREEDY, Validator
from vitrail.translator import Translator


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    step: int
    reason: str  # "max_steps", "max_epochs", "patience" or "interrupted"
    best_loss: float | None


class Trainer:
    """A run under way. All it knows is in `state`, the model and its average, the optimiser and torch's generator."""

    def __init__(
        self,
        folder: ModelFolder,
        prepared: Prepared,
        *,
        model: Transformer,
        average: MovingAverage | None,
        optimizer: torch.optim.Optimizer,
        state: RunState,
        log: Log,
        probes: ProbeLog,
        listener: Listener,
    ) -> None:
        self.folder, self.config = folder, folder.config.train
        self.model, self.average, self.optimizer, self.state = model, average, optimizer, state
        # What validation and probes look at: the weights that are going to be used, where there is a choice.
        self.judged = average.model if average is not None and self.config.use == "ema" else model
        self.log, self.probes, self.listener = log, probes, listener
        self.objective = Objective(model, smoothing=self.config.label_smoothing, r_drop=self.config.r_drop)
        self.stream = BatchStream(
            prepared.train,
            prepared.weights,
            batch_tokens=self.config.batch_tokens,
            seed=self.config.seed,
            subword_dropout=self._subword_dropout(),
        )
        self.rate = make_schedule(self.config, folder.config.model.d_model)
        self.validator = Validator(prepared, self.config)
        self.translator = Translator(self.judged, folder.tokenizers, GREEDY)
        self.probes.begin(self.translator, prepared.validation)
        self.pace = Pace(self._expected_steps() - state.step)
        self.newest: list[Batch] = []  # of the last step
        self.saved: int | None = None  # the step whose checkpoint and weights are both written

    def run(self, stop: StopRequest) -> Outcome:
        """Go on until the run is over or someone asks it to stop; either way nothing that was learned is lost."""
        batches = self.stream.from_position(self.state.position)
        self._probe()
        while (reason := self._why_over()) is None:
            self._step(list(islice(batches, self.config.accumulate)))
            self._probe()  # before anything is saved, so that a checkpoint knows of it
            if self.state.step % self.config.validate_every == 0:
                self._validate()
            if stop.requested:
                reason = self._why_over() or "interrupted"
                break
            if self._is_on_grid(self.state.step):
                self._save()
        self._save()  # where it is saved already, this does nothing
        if reason != "interrupted":
            # After the checkpoint, which does not know of it: a run that is made longer has no end here.
            self.judged.eval()
            self.probes.look(self.translator, self.state.step)
        return Outcome(self.state.step, reason, self.state.best_loss)

    def _step(self, batches: list[tuple[Position, Batch]]) -> None:
        """One step: the loss summed over all target tokens of its batches, divided once by their number."""
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        self.newest = [batch for _, batch in batches]
        tokens = sum(batch.target_tokens for batch in self.newest)
        loss_sum = 0.0
        for batch in self.newest:
            loss = self._loss(batch)
            (loss / tokens).backward()  # type: ignore[no-untyped-call]
            loss_sum += loss.item()
        norm = self._gradient_norm()
        step = self.state.step + 1
        if not math.isfinite(loss_sum):
            self._refuse(f"the loss is {loss_sum} at step {step}")
        if not math.isfinite(norm):
            self._refuse(f"the gradient's norm is {norm} at step {step}")
        rate = self.rate(step)
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        if self.average is not None:
            self.average.follow(self.model, step)
        position = batches[-1][0]
        self.state = replace(
            self.state,
            step=step,
            epoch=position.epoch,
            batch=position.batch,
            loss_sum=self.state.loss_sum + loss_sum,
            loss_tokens=self.state.loss_tokens + tokens,
        )
        self._tell(loss_sum / tokens, tokens, rate)

    def _loss(self, batch: Batch) -> Tensor:
        loss: Tensor = self.objective(torch.from_numpy(batch.source_BS), torch.from_numpy(batch.target_BT))
        return loss

    def _gradient_norm(self) -> float:
        parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        limit = self.config.clip_norm or math.inf
        return float(torch.nn.utils.clip_grad_norm_(parameters, limit))

    def _subword_dropout(self) -> SubwordDropout | None:
        share, longest = self.config.subword_dropout, self.model.max_positions
        if not share:
            return None
        return SubwordDropout(self.folder.tokenizers, share=share, seed=self.config.seed, longest=longest)

    def _tell(self, loss: float, tokens: int, rate: float) -> None:
        self.pace.add(tokens)
        state = self.state
        self.listener.stepped(
            StepDone(
                step=state.step,
                max_steps=state.step + self.pace.steps_left,
                epoch=state.epoch,
                loss=loss,
                rate=rate,
                tokens_per_second=self.pace.tokens_per_second,
                seconds_left=self.pace.seconds_left,
            )
        )
        if state.step % self.config.log_every == 0:
            values = {
                "step": state.step,
                "epoch": state.epoch,
                "loss": state.loss_sum / state.loss_tokens,
                "rate": rate,
            }
            clock = {"tokens_per_second": round(self.pace.tokens_per_second, 1), "seconds": round(self.pace.seconds, 1)}
            self.log.write("step", values, clock)
            self.state = replace(state, loss_sum=0.0, loss_tokens=0)

    def _validate(self) -> None:
        self._refuse_broken_weights()
        found = self.validator.look(self.judged, self.folder.tokenizers)
        if found is None:
            return
        is_best = self.state.best_loss is None or found.loss < self.state.best_loss
        if is_best:
            self.state = replace(self.state, best_loss=found.loss, best_step=self.state.step, stale=0)
        else:
            self.state = replace(self.state, stale=self.state.stale + 1)
        step = self.state.step
        samples = [{"source": s.source, "reference": s.reference, "translation": s.translation} for s in found.samples]
        self.log.write(
            "validation", {"step": step, "loss": found.loss, "bleu": found.bleu, "best": is_best, "samples": samples}
        )
        self.listener.validated(Validated(step, found.loss, found.bleu, is_best, found.samples))
        if is_best:
            self._save()

    def _probe(self) -> None:
        if self.probes.is_due(self.state.step):
            self._refuse_broken_weights()
            self.judged.eval()
            self.probes.look(self.translator, self.state.step)

    def _save(self) -> None:
        """Write a checkpoint, then the weights to use, and only then remove what is older."""
        step = self.state.step
        if step == self.saved:
            return
        self._refuse_broken_weights()
        if step not in list_steps(self.folder.path):
            self.state = replace(self.state, log_bytes=self.log.size(), probe_bytes=self.probes.size())
            save_checkpoint(self.folder.path, self.model, self.optimizer, self.state, self.average)
            self.listener.saved(step, checkpoint_path(self.folder.path, step))
        file = EMA if self.config.use == "ema" else WEIGHTS
        self.folder.write_weights(average_weights(self.folder.path, self._steps_to_use(), file=file))
        on_grid = [known for known in list_steps(self.folder.path) if self._is_on_grid(known)]
        kept = {*on_grid[-self.config.keep_checkpoints :], step}
        remove_old(self.folder.path, kept | {self.state.best_step or step})
        self.saved = step

    def _steps_to_use(self) -> list[int]:
        """The checkpoints whose mean is model.safetensors. Ones written by chance, on Ctrl-C, do not count later."""
        step = self.state.step
        if self.config.use in ("last", "ema"):
            return [step]
        if self.config.use == "best" and self.state.best_step is not None:
            if self.state.best_step in list_steps(self.folder.path):
                return [self.state.best_step]
            self.listener.note(f"the best checkpoint, step {self.state.best_step}, is gone: step {step} is used")
        if self.config.use == "best":
            return [step]
        steps = [known for known in list_steps(self.folder.path) if self._is_on_grid(known) or known == step]
        return steps[-self.config.average :]

    def _is_on_grid(self, step: int) -> bool:
        return step % self.config.checkpoint_every == 0

    def _why_over(self) -> str | None:
        if self.state.step >= self.config.max_steps:
            return "max_steps"
        if self.config.max_epochs is not None and self.state.epoch >= self.config.max_epochs:
            return "max_epochs"
        if self.config.patience is not None and self.state.stale >= self.config.patience:
            return "patience"
        return None

    def _expected_steps(self) -> int:
        if self.config.max_epochs is None:
            return self.config.max_steps
        steps: int = math.ceil(self.config.max_epochs * self.stream.batches_in_epoch(0) / self.config.accumulate)
        return min(self.config.max_steps, steps)

    def _refuse_broken_weights(self) -> None:
        """A step may end in weights that are not numbers though its loss was one: they are never saved."""
        broken = [name for name, value in self.model.named_parameters() if not value.isfinite().all()]
        if broken:
            self._refuse(f"step {self.state.step} made weights that are not numbers ({broken[0]})")

    def _refuse(self, what: str) -> NoReturn:
        saved = list_steps(self.folder.path)
        last = f"the last good checkpoint is step {saved[-1]}" if saved else "there is no checkpoint yet"
        raise TrainingError(
            f"{what}; {last}",
            where="; ".join(batch.origin() for batch in self.newest),
            fix="look at those lines; or choose another --out, with a lower learning rate or train.clip_norm = 1.0",
        )


class Pace:
    """How fast the run goes, and how long it will take."""

    def __init__(self, steps_left: int) -> None:
        self.steps_left = steps_left
        self.steps = self.tokens = 0
        self.began = time.monotonic()

    def add(self, tokens: int) -> None:
        """Count one more step."""
        self.steps += 1
        self.tokens += tokens
        self.steps_left = max(0, self.steps_left - 1)

    @property
    def seconds(self) -> float:
        """Since the loop began, this time."""
        return time.monotonic() - self.began

    @property
    def tokens_per_second(self) -> float:
        """Target tokens, padding not counted."""
        return self.tokens / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """At the pace so far."""
        return self.steps_left * self.seconds / max(self.steps, 1)
