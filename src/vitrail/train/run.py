"""Start or resume a run: the entry point of training."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from vitrail.config import Config
from vitrail.data import Prepared, prepare
from vitrail.errors import ConfigError, DataError, FolderError, TrainingError
from vitrail.folder import (
    CONFIG,
    DATA,
    DISTILLED,
    MANIFEST,
    ORIGIN,
    TOKENIZER,
    WEIGHTS,
    ModelFolder,
    drop_damaged_weights,
    read_manifest,
)
from vitrail.model import Transformer
from vitrail.storage import remove_folder
from vitrail.trace.probes import PROBES
from vitrail.train.budget import batch_tokens_for, free_memory
from vitrail.train.checkpoint import CHECKPOINTS, RunState, list_steps, restore_checkpoint
from vitrail.train.device import choose_device, is_slow, make_scaler
from vitrail.train.ema import MovingAverage
from vitrail.train.events import Listener, Silence
from vitrail.train.freeze import freeze
from vitrail.train.learner import Learner
from vitrail.train.lock import sole_writer
from vitrail.train.log import LOG, Log
from vitrail.train.loop import Outcome, Trainer
from vitrail.train.minutes import Budget, as_chosen
from vitrail.train.optimizer import make_optimizer
from vitrail.train.peers import Peers, joined
from vitrail.train.probes import ProbeLog
from vitrail.train.records import Records, what_is_judged
from vitrail.train.resume import check_same_run
from vitrail.train.start import Start, inherit, refuse_another_start, write_origin
from vitrail.train.stop import stop_on_signals
from vitrail.train.tensorboard import FOLDER as TENSORBOARD


def train(config: Config, out: Path, listener: Listener | None = None) -> Outcome:
    """Train into `out`. If the folder holds the same run, stopped or killed, it resumes from the last checkpoint.

    Under torchrun every process calls this. They train one model together; only the first one writes and reports.
    """
    began = time.monotonic()
    with ExitStack() as held:
        peers = held.enter_context(joined(out))
        with peers.leader_first():
            device = choose_device(config.train, peers)
            if peers.leads:
                if not _holds_a_run(out):
                    _refuse_other_folders(out)
                held.enter_context(sole_writer(out))
                folder, prepared = _open(config, out, listener or Silence(), device, peers, began=began)
            else:
                folder = ModelFolder.open(out)
                prepared = Prepared.open(folder.data)
        precision = config.train.precision
        if peers.leads and listener is not None and is_slow(device, precision):
            listener.note(f"this processor has no {precision} instructions: train.precision = 'float32' is faster")
        if config.train.threads is not None:
            torch.set_num_threads(config.train.threads)
        stop = held.enter_context(stop_on_signals())
        return _trainer(folder, prepared, listener or Silence(), device, peers).run(stop)


def _open(
    config: Config, out: Path, listener: Listener, device: torch.device, peers: Peers, *, began: float
) -> tuple[ModelFolder, Prepared]:
    """The run's folder and data, newly created or reopened."""
    if _holds_a_run(out):
        return _reopen(config, out, listener)
    budget = Budget.of(config, began=began, processes=peers.count)
    start = Start.of(config)
    if start is not None:
        config = inherit(config, start.folder.config)
    if budget is not None:
        config = budget.with_data(config)
    prepared = _prepare(config, out, listener, start)
    if start is not None:
        new = start.refuse_other_vocabulary(prepared, config)
        symbols = f", with new symbols for {', '.join(new)}" if new else ""
        listener.note(f"starting from {start.origin.model} (weights {start.origin.weights[:12]}){symbols}")
    _refuse_missing_validation(config, prepared)
    if budget is not None:
        if config.train.threads is not None:
            torch.set_num_threads(config.train.threads)
        config, choice = budget.with_rest(config, prepared, device)
        listener.note(choice)
    rise, fall, end = config.train.warmup_steps, config.train.fall_steps, config.train.max_steps
    if rise >= end:
        listener.note(
            f"the learning rate rises for {rise:,} steps, but the run ends after {end:,} (train.warmup_steps)"
        )
    elif rise + fall > end:
        listener.note(
            f"the learning rate falls in the last {fall:,} of {end:,} steps, but rises for {rise:,} (train.fall_steps)"
        )
    remove_folder(out / TOKENIZER)
    folder = ModelFolder.create(out, config, prepared.tokenizers)
    write_origin(out, start.origin if start is not None else None)
    if config.train.batch_tokens == "auto":
        folder = _with_budget(folder, device, peers)
        listener.note(f"batches of {folder.config.train.batch_tokens:,} tokens, chosen to fit in memory")
    return folder, prepared


def _with_budget(folder: ModelFolder, device: torch.device, peers: Peers) -> ModelFolder:
    """The folder with `batch_tokens = "auto"` resolved to a number, which a resumed run keeps."""
    threads = folder.config.train.threads or torch.get_num_threads()
    with torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in folder.new_model().parameters())
    found = batch_tokens_for(
        folder.config,
        parameters=parameters,
        vocabulary=folder.tokenizers.target.size,
        free=free_memory(device),
        peers=peers,
        threads=threads if peers.count == 1 and device.type == "cpu" else 1,
        is_shared=device.type == "cpu",
    )
    config = _with_batch_tokens(folder.config, found)
    folder.write_config(config)
    return replace(folder, config=config)


def _with_batch_tokens(config: Config, batch_tokens: int | Literal["auto"]) -> Config:
    return config.model_copy(update={"train": config.train.model_copy(update={"batch_tokens": batch_tokens})})


def _trainer(
    folder: ModelFolder, prepared: Prepared, listener: Listener, device: torch.device, peers: Peers
) -> Trainer:
    """A trainer at the newest checkpoint, or at the beginning."""
    config = folder.config.train
    newest = peers.lead(lambda: max(list_steps(folder.path), default=None))
    torch.manual_seed(config.seed)
    model = folder.new_model()
    if newest is None:
        _start_from(folder, model, peers)
    model = model.to(device)
    frozen = freeze(model, config.freeze)
    learner = Learner(
        model=model,
        optimizer=make_optimizer(model, config),
        scaler=make_scaler(device, config.precision),
        average=MovingAverage(model, config.ema) if config.ema is not None and peers.leads else None,
        device=device,
    )
    state = RunState(
        threads=torch.get_num_threads(),
        processes=peers.count,
        device=device.type,
        data=prepared.contents(),
        judged=what_is_judged(config, prepared),
    )
    if newest is not None:
        began, state = state, restore_checkpoint(folder.path, newest, learner)
        _refuse_other_data(state, prepared)
        if peers.leads:
            listener.note(f"resuming from step {state.step:,}")
            _note_changes(state, began, listener)
        state = _updated(state, began)
    records = None
    if peers.leads:
        log = Log(folder.path / LOG, keep_bytes=state.log_bytes, after_step=state.step)
        if newest is None:
            count = sum(parameter.numel() for parameter in model.parameters())
            pairs = sum(len(shard) for shard in prepared.train)
            log.write("start", {"parameters": count, "frozen": frozen, "pairs": pairs})
        probes = ProbeLog(folder.path, config, keep_bytes=state.probe_bytes)
        records = Records(folder, prepared, learner, log=log, probes=probes, listener=listener)
    return Trainer(folder, prepared, learner=learner, state=state, records=records, peers=peers)


def _start_from(folder: ModelFolder, model: Transformer, peers: Peers) -> None:
    """Give a new model the weights it starts from, if the settings name any."""
    start = Start.of(folder.config)
    if start is not None:
        refuse_another_start(start, folder.path)
        start.load_into(model, folder.tokenizers)


def _note_changes(before: RunState, now: RunState, listener: Listener) -> None:
    """Note changes that affect the results, if only in their last bits."""
    changes = [
        (f"{before.threads} threads", f"{now.threads}", before.threads != now.threads),
        (f"{before.processes} processes", f"{now.processes}", before.processes != now.processes),
        (f"device {before.device}", now.device, before.device != now.device),
    ]
    for had, has, is_other in changes:
        if is_other:
            listener.note(
                f"the run started with {had} and resumes with {has}: equally good, but not identical to the last bit"
            )

    if _is_judged_differently(before, now):
        listener.note("the validation loss is no longer measured as before: the best one so far is discarded")


def _updated(before: RunState, now: RunState) -> RunState:
    """The state, updated for this machine and data. A best loss that cannot be compared is discarded."""
    if _is_judged_differently(before, now):
        before = replace(before, best_loss=None, best_step=None, stale=0)
    return replace(before, threads=now.threads, processes=now.processes, device=now.device, judged=now.judged)


def _is_judged_differently(before: RunState, now: RunState) -> bool:
    return before.judged not in ("", now.judged)  # "": written by a version that did not record it


def _reopen(config: Config, out: Path, listener: Listener) -> tuple[ModelFolder, Prepared]:
    """The folder and the data of a run to resume. Settings are written only after all checks have passed."""
    if list_steps(out) and drop_damaged_weights(out):
        listener.note(f"{WEIGHTS} was missing or damaged: the next checkpoint writes it again")
    folder = ModelFolder.open(out)
    if config.train.minutes is not None:
        config = as_chosen(config, folder.config)
    if config.train.start_from is not None:
        config = inherit(config, folder.config)  # the run has them from there, and no longer needs that model
    if not list_steps(out):
        raise TrainingError(
            "this folder holds a model, but no checkpoint to resume from",
            where=str(out / CHECKPOINTS),
            fix=f"choose another --out, or remove {WEIGHTS} to start again",
        )
    if config.train.batch_tokens == "auto":
        config = _with_batch_tokens(config, folder.config.train.batch_tokens)
    check_same_run(folder.config, config, where=str(out))
    prepared = Prepared.open(folder.data)
    _refuse_other_vocabulary(folder, prepared)
    prepared.check()
    for name in prepared.changed_files():
        listener.note(f"{name} has a different size or date now: the run continues with the data read before")
    _refuse_missing_validation(config, prepared)
    if folder.config != config:
        folder.write_config(config)
    return replace(folder, config=config), prepared


def _prepare(config: Config, out: Path, listener: Listener, start: Start | None) -> Prepared:
    if not config.data.training_corpora() and config.data.prepared is None:
        raise DataError(
            "there is nothing to train on",
            where="[data]",
            fix="give --source and --target, or a recipe with source and target, pairs, or corpora",
        )
    if config.data.prepared is not None:
        prepared = Prepared.open(Path(config.data.prepared))
        prepared.check()
        if prepared.tokenizers.joint != config.data.joint:
            has = "one vocabulary for both sides" if prepared.tokenizers.joint else "a vocabulary for each side"
            raise ConfigError(
                f"the prepared data has {has}, but data.joint = {str(config.data.joint).lower()}",
                where=config.data.prepared,
                fix="use the [data] settings it was prepared with",
            )
        _refuse_long_rows(config, prepared)
        if not prepared.validation and (config.data.hold_out or config.data.validation_corpora()):
            listener.note(
                "the prepared data has no validation data: prepare it again with validation files or data.hold_out"
            )
        return prepared
    vocabulary = start.vocabulary if start is not None else None
    prepared = prepare(config.data, out / DATA, seed=config.train.seed, report=listener.working, vocabulary=vocabulary)
    for line in prepared.report.lines():
        listener.note(line)
    return prepared


def _holds_a_run(out: Path) -> bool:
    """Whether anything was learnt already. A run that ended before that starts anew, possibly with other settings."""
    return (out / MANIFEST).exists() and ((out / WEIGHTS).exists() or bool(list_steps(out)))


def _refuse_missing_validation(config: Config, prepared: Prepared) -> None:
    """Refuse settings that depend on the validation loss if there is no validation data."""
    needing = [
        name for name, needs in (("patience", config.train.patience), ("use", config.train.use == "best")) if needs
    ]
    if needing and not prepared.validation:
        raise ConfigError(
            f"train.{needing[0]} = {getattr(config.train, needing[0])!r} needs validation data, but there is none",
            where="[data]",
            fix="give --validation-source and --validation-target, or set data.hold_out, or remove this setting",
        )


def _refuse_long_rows(config: Config, prepared: Prepared) -> None:
    """Refuse prepared data with rows longer than the model's learned positions."""
    longest = max(int(shard.index[side].max()) for shard in prepared.train for side in ("source", "target"))
    limit = config.model.position_limit
    if limit is not None and longest > limit:
        raise ConfigError(
            f"the prepared data has a row of {longest} tokens, but model.max_positions = {limit}",
            where=str(prepared.path),
            fix=f"set model.max_positions = {longest} or more, or prepare the data with a smaller data.max_length",
        )


def _refuse_other_vocabulary(folder: ModelFolder, prepared: Prepared) -> None:
    if not folder.has_vocabulary_of(prepared.path):
        raise TrainingError(
            "the prepared data has a different vocabulary from the run",
            where=str(prepared.path),
            fix="give the data that the run started with, or choose another --out",
        )


def _refuse_other_data(state: RunState, prepared: Prepared) -> None:
    if state.data != prepared.contents():
        raise TrainingError(
            "this is not the data that the run started with",
            where=str(prepared.path),
            fix="prepare it again from the same files with the same settings, or choose another --out",
        )


def _refuse_other_folders(out: Path) -> None:
    """Refuse to write into a folder that holds anything but a run."""
    if out.is_file():
        raise FolderError("this is a file", where=str(out), fix="give a folder as --out")
    if (out / MANIFEST).exists():
        read_manifest(out)
    # What a run that was stopped early, or a teacher, may have left behind.
    ours = (DATA, DISTILLED, CONFIG, MANIFEST, ORIGIN, TOKENIZER, LOG, PROBES, CHECKPOINTS, TENSORBOARD)
    names = [path.name for path in out.iterdir()] if out.is_dir() else []
    strange = [name for name in names if name not in ours and not name.startswith(".")]
    if strange:
        raise TrainingError(
            f"this folder holds other files ({', '.join(sorted(strange)[:3])}), but no run",
            where=str(out),
            fix="choose another --out, or empty it",
        )
