"""The records of a run: log, probes, validation and checkpoints. They also decide when the run is over.

Only the leading process has them.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

from vitrail.config import TrainConfig
from vitrail.data import Prepared
from vitrail.errors import TrainingError
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.train.checkpoint import (
    EMA,
    RunState,
    average_weights,
    in_a_row,
    list_steps,
    remove_old,
    save_checkpoint,
)
from vitrail.train.events import Listener, StepDone, Validated
from vitrail.train.learner import Learner
from vitrail.train.log import Log
from vitrail.train.pace import Pace
from vitrail.train.probes import ProbeLog
from vitrail.train.validation import GREEDY, Validator
from vitrail.translator import Translator

MUCH = 0.1  # share of a run's time for validation, above which we warn


@dataclass(frozen=True)
class Step:
    """The result of a step, over all processes."""

    loss: float  # mean per target token
    tokens: int
    rate: float
    origin: str  # where its batches came from
    is_last: bool  # the run was asked to stop


class Records:
    """Records what a run does, and decides when it is over."""

    def __init__(
        self,
        folder: ModelFolder,
        prepared: Prepared,
        learner: Learner,
        *,
        log: Log,
        probes: ProbeLog,
        listener: Listener,
    ) -> None:
        self.folder, self.config, self.learner = folder, folder.config.train, learner
        self.log, self.probes, self.listener = log, probes, listener
        # Validation and probes use the weights that will be used in the end: the moving average, if `use` says so.
        average = learner.average if self.config.use == "ema" else None
        self.used = learner.model if average is None else average.model
        # Search runs on the CPU: a model trained elsewhere gets a copy there.
        self.judged = self.used if learner.device.type == "cpu" else deepcopy(self.used).cpu()
        self.validator = Validator(prepared, self.config)
        self.translator = Translator(self.judged, folder.tokenizers, GREEDY)
        self.probes.begin(self.translator, prepared.validation)
        self.warned = False
        self.saved: int | None = None  # the step whose checkpoint and weights have both been written

    def begin(self, state: RunState, *, expected_steps: int) -> None:
        """Record the probes before the first step, and start the clock."""
        self.pace = Pace(expected_steps - state.step)
        self._probe(state, origin="the beginning")

    def after(self, state: RunState, step: Step) -> tuple[RunState, str | None]:
        """Record a step and do what is due after it. Return the state, and the reason if the run is over."""
        state = self._tell(state, step)
        self._probe(state, origin=step.origin)  # before saving, so that the checkpoint includes it
        if state.step % self.config.validate_every == 0:
            state = self._validate(state, origin=step.origin)
        reason = why_over(self.config, state) or ("interrupted" if step.is_last else None)
        if reason is None and self._is_on_grid(state.step):
            state = self._save(state, origin=step.origin)
        elif reason is None and self._is_late():
            state = self._save_in_between(state, origin=step.origin)
        return state, reason

    def finish(self, state: RunState, reason: str, *, origin: str) -> RunState:
        """Save what is not saved yet, and record the probes a last time."""
        state = self._save(state, origin=origin)
        if reason != "interrupted":
            # After the checkpoint, which must not include it: if the run is extended, it does not end here.
            self._update_judged()
            self.probes.look(self.translator, state.step)
        return state

    def _tell(self, state: RunState, step: Step) -> RunState:
        self.pace.add(step.tokens)
        self.listener.stepped(
            StepDone(
                step=state.step,
                max_steps=state.step + self.pace.steps_left,
                epoch=state.epoch,
                loss=step.loss,
                rate=step.rate,
                tokens_per_second=self.pace.tokens_per_second,
                seconds_left=self.pace.seconds_left,
            )
        )
        if state.step % self.config.log_every:
            return state
        values = {
            "step": state.step,
            "epoch": state.epoch,
            "loss": state.loss_sum / state.loss_tokens,
            "rate": step.rate,
        }
        measured = {"tokens_per_second": self.pace.tokens_per_second, "seconds": self.pace.seconds, **self.pace.spent}
        clock = {name: round(value, 1) for name, value in measured.items()}
        self.log.write("step", values, clock)
        return replace(state, loss_sum=0.0, loss_tokens=0)

    def _validate(self, state: RunState, *, origin: str) -> RunState:
        self._refuse_bad_weights(state, origin)
        self._update_judged()
        with self.pace.counted("validation"):
            found = self.validator.look(self.judged, self.folder.tokenizers)
        if found is None:
            return state
        is_best = state.best_loss is None or found.loss < state.best_loss
        if is_best:
            state = replace(state, best_loss=found.loss, best_step=state.step, stale=0)
        else:
            state = replace(state, stale=state.stale + 1)
        samples = [{"source": s.source, "reference": s.reference, "translation": s.translation} for s in found.samples]
        values = {"step": state.step, "loss": found.loss, "bleu": found.bleu, "best": is_best, "samples": samples}
        self.log.write("validation", values)
        if is_best:
            state = self._save(state, origin=origin)
        self.listener.validated(Validated(state.step, found.loss, found.bleu, is_best, found.samples))
        self._warn_of_slow_validation()
        return state

    def _warn_of_slow_validation(self) -> None:
        share = self.pace.share("validation")
        if share > MUCH and not self.warned:
            self.warned = True
            self.listener.note(
                f"validation took {share:.0%} of the time so far; to speed up training, raise train.validate_every "
                "or lower train.loss_sentences and train.bleu_sentences"
            )

    def _probe(self, state: RunState, *, origin: str) -> None:
        if self.probes.is_due(state.step):
            self._refuse_bad_weights(state, origin)
            self._update_judged()
            self.probes.look(self.translator, state.step)

    def _update_judged(self) -> None:
        if self.judged is not self.used:
            self.judged.load_state_dict(self.used.state_dict())
        self.judged.eval()

    def _save(self, state: RunState, *, origin: str) -> RunState:
        """Write a checkpoint, then the weights to use, and only then remove older checkpoints."""
        if state.step == self.saved:
            return state
        with self.pace.counted("checkpoints"):
            state = self._save_checkpoint(state, origin=origin)
            file = EMA if self.config.use == "ema" else WEIGHTS
            self.folder.write_weights(average_weights(self.folder.path, self._steps_to_use(state), file=file))
            self._remove_old(state)
        self.saved = state.step
        return state

    def _save_in_between(self, state: RunState, *, origin: str) -> RunState:
        """Write a checkpoint. If weights to use exist already, new ones can wait: averaging costs more than saving."""
        if not self.folder.has_weights:
            return self._save(state, origin=origin)
        with self.pace.counted("checkpoints"):
            state = self._save_checkpoint(state, origin=origin)
            self._remove_old(state)
        return state

    def _save_checkpoint(self, state: RunState, *, origin: str) -> RunState:
        """Write a checkpoint, unless it exists already."""
        self._refuse_bad_weights(state, origin)
        if state.step not in list_steps(self.folder.path):
            state = replace(state, log_bytes=self.log.size(), probe_bytes=self.probes.size())
            save_checkpoint(self.folder.path, self.learner, state)
        return state

    def _remove_old(self, state: RunState) -> None:
        on_grid = [known for known in list_steps(self.folder.path) if self._is_on_grid(known)]
        kept = {*on_grid[-self.config.keep_checkpoints :], state.step, state.best_step or state.step}
        remove_old(self.folder.path, kept)

    def _steps_to_use(self, state: RunState) -> list[int]:
        """The checkpoints whose mean becomes model.safetensors. Those written on Ctrl-C do not count later."""
        step = state.step
        if self.config.use in ("last", "ema"):
            return [step]
        if self.config.use == "best" and state.best_step is not None:
            if state.best_step in list_steps(self.folder.path):
                return [state.best_step]
            self.listener.note(f"the best checkpoint (step {state.best_step}) is missing: using step {step}")
        if self.config.use == "best":
            return [step]
        return in_a_row(list_steps(self.folder.path), every=self.config.checkpoint_every)[-self.config.average :]

    def _is_on_grid(self, step: int) -> bool:
        return step % self.config.checkpoint_every == 0

    def _is_late(self) -> bool:
        """Whether waiting for the next step risks losing too much. A checkpoint saved for this joins no average."""
        most = self.config.checkpoint_minutes * 60
        return self.pace.unsaved_seconds + min(self.pace.longest_step, most / 2) >= most

    def _refuse_bad_weights(self, state: RunState, origin: str) -> None:
        """Never save weights that are not finite."""
        broken = self.learner.broken_weight()
        if broken is not None:
            what = f"step {state.step} produced weights that are not finite ({broken})"
            raise gone_wrong(what, self.folder, origin)


def what_is_judged(config: TrainConfig, prepared: Prepared) -> str:
    """What validation losses are measured on. Losses can only be compared if this is equal."""
    weights = "moving average" if config.use == "ema" else "weights"
    return f"{weights}, {config.loss_sentences} sentences of {prepared.validation_contents()}"


def why_over(config: TrainConfig, state: RunState) -> str | None:
    """The setting that ends the run now; None if it goes on."""
    if state.step >= config.max_steps:
        return "max_steps"
    if config.max_epochs is not None and state.epoch >= config.max_epochs:
        return "max_epochs"
    if config.patience is not None and state.stale >= config.patience:
        return "patience"
    return None


def gone_wrong(what: str, folder: ModelFolder, origin: str) -> TrainingError:
    """The error for losses or weights that are not finite."""
    saved = list_steps(folder.path)
    last = f"the last good checkpoint is step {saved[-1]}" if saved else "there is no checkpoint yet"
    return TrainingError(
        f"{what}; {last}",
        where=origin,
        fix="check those lines; or start again in another --out with a lower learning rate or train.clip_norm = 1.0",
    )
