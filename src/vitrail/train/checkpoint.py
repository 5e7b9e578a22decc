"""Checkpoints: everything a run needs to resume as if it had never stopped.

checkpoints/step-000500/
  model.safetensors  optimizer.safetensors  random.safetensors   weights, optimiser state, random generator state
  ema.safetensors                                                the moving average of the weights, if there is one
  state.json                                                     step, place in the data, best loss so far, scale of
                                                                 fp16 losses
  manifest.json                                                  the checksum of each file
A checkpoint gets its name only when it is complete. Old ones are removed only after that.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from pydantic import Field
from torch import Tensor

from vitrail.data import Position
from vitrail.documents import Count, Document, parse_json
from vitrail.errors import FolderError
from vitrail.folder import WEIGHTS, load_weights, readable, refuse_other_shapes
from vitrail.storage import PARTIAL, checksum, explained, new_folder, read_text, remove_folder, save_tensors
from vitrail.train.learner import Learner
from vitrail.train.optimizer import optimizer_tensors, restore_optimizer
from vitrail.weights import read_tensors, read_weights

CHECKPOINTS = "checkpoints"
EMA = "ema.safetensors"
_NAME = re.compile(r"step-(\d{6,})")
_FILES = (WEIGHTS, "optimizer.safetensors", "random.safetensors", "state.json")


@dataclass(frozen=True)
class RunState:
    """The state of a run, without its tensors."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # the next batch in the epoch
    log_bytes: int = 0
    probe_bytes: int = 0
    loss_sum: float = 0.0  # since the last log line
    loss_tokens: int = 0
    best_loss: float | None = None
    best_step: int | None = None
    stale: int = 0  # validations since the best one
    judged: str = ""  # what best_loss was measured on: records.what_is_judged
    threads: int = 0
    processes: int = 1
    device: str = "cpu"
    data: str = ""  # the training data: Prepared.contents
    scaler: dict[str, float] = field(default_factory=dict)  # of fp16 losses

    @property
    def position(self) -> Position:
        """The place in the data."""
        return Position(epoch=self.epoch, batch=self.batch)


class _StateFile(Document):
    """The contents of state.json. Every value may be a stranger's; older files have fewer fields."""

    step: Count
    epoch: Count = 0
    batch: Count = 0
    log_bytes: Count = 0
    probe_bytes: Count = 0
    loss_sum: float = 0.0
    loss_tokens: Count = 0
    best_loss: float | None = None
    best_step: Count | None = None
    stale: Count = 0
    judged: str = ""
    threads: Count = 0
    processes: Count = 1
    device: str = "cpu"
    data: str = ""
    scaler: dict[str, int | float] = Field(default_factory=dict)


def checkpoint_path(run: Path, step: int) -> Path:
    """The folder of a step's checkpoint."""
    return run / CHECKPOINTS / f"step-{step:06d}"


def list_steps(run: Path) -> list[int]:
    """The steps that have a complete checkpoint, oldest first."""
    folder = run / CHECKPOINTS
    with readable(folder):
        names = [_NAME.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name[1]) for name in names if name)


def save_checkpoint(run: Path, learner: Learner, state: RunState) -> None:
    """Write a checkpoint atomically."""
    state = replace(state, scaler=learner.scaler.state_dict())
    with new_folder(checkpoint_path(run, state.step)) as folder:
        save_tensors(learner.model.state_dict(), folder / WEIGHTS)
        save_tensors(optimizer_tensors(learner.optimizer), folder / "optimizer.safetensors")
        save_tensors(_generators(learner.device), folder / "random.safetensors")
        if learner.average is not None:
            save_tensors(learner.average.model.state_dict(), folder / EMA)
        (folder / "state.json").write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
        sums = {file.name: checksum(file) for file in sorted(folder.iterdir())}
        (folder / "manifest.json").write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


def restore_checkpoint(run: Path, step: int, learner: Learner) -> RunState:
    """Load a checkpoint into the learner and the random generators; return its state."""
    folder = checkpoint_path(run, step)
    check_checkpoint(folder, needs=(*_FILES, EMA) if learner.average is not None else _FILES)
    load_weights(learner.model, folder / WEIGHTS)
    if learner.average is not None:
        load_weights(learner.average.model, folder / EMA)
    state = _read_state(folder, step)
    try:
        restore_optimizer(learner.optimizer, read_tensors(folder / "optimizer.safetensors"))
        _restore_generators(read_tensors(folder / "random.safetensors"), learner.device)
        if learner.scaler.is_enabled():
            _restore_scaler(learner.scaler, state.scaler)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:  # torch's errors for values that do not fit
        raise _damaged(folder, str(error)) from error
    return state


def _read_state(folder: Path, step: int) -> RunState:
    try:
        known = _StateFile.parse(read_text(folder / "state.json"))
    except (OSError, ValueError) as error:
        raise _damaged(folder, f"state.json: {error}") from error
    if known.step != step:
        raise _damaged(folder, f"state.json is of step {known.step:,}")
    return RunState(**known.model_dump())


def _restore_scaler(scaler: torch.amp.GradScaler, values: dict[str, float]) -> None:
    kinds, found = ({name: type(value) for name, value in table.items()} for table in (scaler.state_dict(), values))
    if found != kinds:
        raise ValueError("the state of the fp16 gradient scaler has other fields")
    scaler.load_state_dict(values)


def _restore_generators(states: dict[str, Tensor], device: torch.device) -> None:
    for name, now in _generators(device).items():
        if name == "torch" or name in states:  # a run may have begun without a GPU
            found = states[name]
            if (found.dtype, found.shape) != (now.dtype, now.shape):
                raise ValueError(f"the state of the generator '{name}' has another size")
    torch.set_rng_state(states["torch"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)


def _generators(device: torch.device) -> dict[str, Tensor]:
    """The states of the random generators that a run uses."""
    states = {"torch": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def check_checkpoint(folder: Path, *, needs: tuple[str, ...] = _FILES) -> None:
    """Raise an error if a needed file of a checkpoint is missing or damaged."""
    try:
        sums = parse_json(read_text(folder / "manifest.json"))
        wrong = [name for name in needs if name not in sums or checksum(folder / name) != sums[name]]
    except (OSError, ValueError, TypeError):
        wrong = ["manifest.json"]
    if wrong:
        raise _damaged(folder, ", ".join(wrong))


def _damaged(folder: Path, what: str) -> FolderError:
    return FolderError(
        f"the checkpoint is damaged or incomplete: {what}",
        where=str(folder),
        fix=f"remove {folder.name} and run the same command again: it resumes from the newest remaining checkpoint",
    )


def in_a_row(known: list[int], *, every: int) -> list[int]:
    """The newest checkpoints without a gap. An older one beyond a gap was kept only because it is the best.

    Checkpoints off the grid of `every`, written on Ctrl-C or by the clock, do not count unless they are the newest.
    """
    found = known[-1:]
    for step in reversed([step for step in known[:-1] if step % every == 0]):
        if found[0] - step > every:
            break
        found.insert(0, step)
    return found


def average_weights(run: Path, steps: list[int], *, file: str = WEIGHTS) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights, summed in float64 so that their order does not matter."""
    total: dict[str, Tensor] = {}
    for step in steps:
        folder = checkpoint_path(run, step)
        check_checkpoint(folder, needs=(file,))
        if total:
            refuse_other_shapes({name: tuple(value.shape) for name, value in total.items()}, folder / file)
        for name, value in read_weights(folder / file).items():
            total[name] = value.double() + total[name] if name in total else value.double()
    return {name: (value / len(steps)).float() for name, value in total.items()}


def remove_old(run: Path, keep: set[int]) -> None:
    """Remove every checkpoint not in `keep`, and leftovers of interrupted writes."""
    with explained(run / CHECKPOINTS):
        for step in list_steps(run):
            if step not in keep:
                remove_folder(checkpoint_path(run, step))
        for leftover in (run / CHECKPOINTS).glob(f".*{PARTIAL}"):
            shutil.rmtree(leftover)
