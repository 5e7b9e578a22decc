"""Start a run, or go on with one: the door to training."""

from __future__ import annotations

from pathlib import Path

import torch

from vitrail.config import Config
from vitrail.data import Prepared, prepare
from vitrail.errors import ConfigError, DataError, FolderError, TrainingError
from vitrail.folder import CONFIG, MANIFEST, TOKENIZER, WEIGHTS, ModelFolder, read_manifest
from vitrail.storage import checksum, remove_folder
from vitrail.trace.probes import PROBES
from vitrail.train.checkpoint import CHECKPOINTS, RunState, list_steps, restore_checkpoint
from vitrail.train.ema import MovingAverage
from vitrail.train.events import Listener, Silence
from vitrail.train.lock import sole_writer
from vitrail.train.log import LOG, Log
from vitrail.train.loop import Outcome, Trainer
from vitrail.train.optimizer import make_optimizer
from vitrail.train.probes import ProbeLog
from vitrail.train.resume import check_same_run
from vitrail.train.stop import stop_on_signals
from vitrail.train.tensorboard import FOLDER as TENSORBOARD

DATA = "data"


def train(config: Config, out: Path, listener: Listener | None = None) -> Outcome:
    """Train into `out`. A folder that holds the same run, stopped or killed, goes on from its last checkpoint."""
    if not _holds_a_run(out):
        _refuse_other_folders(out)
    with sole_writer(out):
        return _train(config, out, listener or Silence())


def _train(config: Config, out: Path, listener: Listener) -> Outcome:
    if _holds_a_run(out):
        folder = _reopen(config, out)
        prepared = Prepared.open(_data_folder(config, out))
        _refuse_other_vocabulary(folder, prepared)
    else:
        prepared = _prepare(config, out, listener)
        remove_folder(out / TOKENIZER)
        folder = ModelFolder.create(out, config, prepared.tokenizers)
    if config.train.threads is not None:
        torch.set_num_threads(config.train.threads)
    with stop_on_signals() as stop:
        return _trainer(folder, prepared, listener).run(stop)


def _trainer(folder: ModelFolder, prepared: Prepared, listener: Listener) -> Trainer:
    """A trainer that stands where the newest checkpoint stood, or at the beginning."""
    config = folder.config.train
    torch.manual_seed(config.seed)
    model = folder.new_model()
    optimizer = make_optimizer(model, config)
    average = MovingAverage(model, config.ema) if config.ema is not None else None
    state, steps = RunState(threads=torch.get_num_threads(), data=prepared.contents()), list_steps(folder.path)
    if steps:
        state = restore_checkpoint(folder.path, steps[-1], model, optimizer, average)
        _refuse_other_data(state, prepared)
        listener.note(f"going on from step {state.step:,}")
        if state.threads != torch.get_num_threads():
            listener.note(
                f"the run began with {state.threads} threads and goes on with {torch.get_num_threads()}: "
                "it will be as good, but not the same to the last bit"
            )
    log = Log(folder.path / LOG, keep_bytes=state.log_bytes)
    if not steps:
        count = sum(parameter.numel() for parameter in model.parameters())
        log.write("start", {"parameters": count, "pairs": sum(len(shard) for shard in prepared.train)})
    probes = ProbeLog(folder.path, config, keep_bytes=state.probe_bytes)
    return Trainer(
        folder,
        prepared,
        model=model,
        average=average,
        optimizer=optimizer,
        state=state,
        log=log,
        probes=probes,
        listener=listener,
    )


def _reopen(config: Config, out: Path) -> ModelFolder:
    folder = ModelFolder.open(out)
    if not list_steps(out):
        raise TrainingError(
            "this folder holds a model, but no checkpoint to go on from",
            where=str(out / CHECKPOINTS),
            fix=f"choose another --out; or remove {WEIGHTS} there, and the run begins again",
        )
    check_same_run(folder.config, config, where=str(out))
    if folder.config != config:
        folder.write_config(config)
    return ModelFolder(out, config, folder.tokenizers)


def _prepare(config: Config, out: Path, listener: Listener) -> Prepared:
    if not config.data.training_corpora() and config.data.prepared is None:
        raise DataError(
            "there is nothing to train on",
            where="[data]",
            fix="give --source and --target, or a recipe with source and target, pairs, or corpora",
        )
    if config.data.prepared is not None:
        prepared = Prepared.open(Path(config.data.prepared))
        if prepared.tokenizers.joint != config.data.joint:
            has = "one vocabulary for both sides" if prepared.tokenizers.joint else "a vocabulary for each side"
            raise ConfigError(
                f"the prepared data has {has}, but data.joint = {str(config.data.joint).lower()}",
                where=config.data.prepared,
                fix="use the [data] settings that it was prepared with",
            )
        return prepared
    prepared = prepare(config.data, out / DATA, seed=config.train.seed, report=listener.working)
    for line in prepared.report.lines():
        listener.note(line)
    return prepared


def _data_folder(config: Config, out: Path) -> Path:
    return Path(config.data.prepared) if config.data.prepared is not None else out / DATA


def _holds_a_run(out: Path) -> bool:
    """Whether something was learnt already. What ended before that begins anew, with other settings if need be."""
    return (out / MANIFEST).exists() and ((out / WEIGHTS).exists() or bool(list_steps(out)))


def _refuse_other_vocabulary(folder: ModelFolder, prepared: Prepared) -> None:
    ours, theirs = (
        {file.name: checksum(file) for file in (path / TOKENIZER).iterdir()} for path in (folder.path, prepared.path)
    )
    if ours != theirs:
        raise TrainingError(
            "the vocabulary of the prepared data is not the run's",
            where=str(prepared.path),
            fix="give the data that the run began with, or choose another --out",
        )


def _refuse_other_data(state: RunState, prepared: Prepared) -> None:
    if state.data != prepared.contents():
        raise TrainingError(
            "this is not the data that the run began with",
            where=str(prepared.path),
            fix="prepare it again from the same files with the same settings, or choose another --out",
        )


def _refuse_other_folders(out: Path) -> None:
    """A place that holds something else is not written into."""
    if out.is_file():
        raise FolderError("this is a file", where=str(out), fix="give --out a folder")
    if (out / MANIFEST).exists():
        read_manifest(out)
    # What a run that was stopped early may have left.
    ours = (DATA, CONFIG, MANIFEST, TOKENIZER, LOG, PROBES, CHECKPOINTS, TENSORBOARD)
    names = [path.name for path in out.iterdir()] if out.is_dir() else []
    strange = [name for name in names if name not in ours and not name.startswith(".")]
    if strange:
        raise TrainingError(
            f"this folder holds other things ({', '.join(sorted(strange)[:3])}), but no run",
            where=str(out),
            fix="choose another --out, or empty it",
        )
