"""Which batch size learns fastest on this data and this machine: short trainings of equal time, from equal weights."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from vitrail.config import Config
from vitrail.data import BatchStream, Position, Prepared, prepare
from vitrail.doctor.case import Case, Finding
from vitrail.errors import VitrailError
from vitrail.model import Transformer
from vitrail.train.device import choose_device, make_scaler
from vitrail.train.gradients import Gradients
from vitrail.train.learner import Learner
from vitrail.train.optimizer import make_optimizer, set_rate
from vitrail.train.peers import ALONE
from vitrail.train.schedule import make_schedule
from vitrail.train.validation import Validator

SECONDS = 40.0  # for each
WARM_UP = 50  # steps
WORTH = 0.02  # of the loss, as a share


def best_batch(case: Case) -> Iterator[Finding]:
    """The batch size of the settings against half of it and twice as much."""
    now = case.config.train.batch_tokens
    if now == "auto" or case.config.train.start_from is not None or not case.config.data.training_corpora():
        return
    with tempfile.TemporaryDirectory(prefix="vitrail-") as scratch:
        prepared = case.prepared or _prepared(case.config, Path(scratch))
        if not prepared.validation:
            return
        losses = {}
        for batch_tokens in (now, now // 2, now * 2):
            try:
                losses[batch_tokens] = loss_after(case.config, prepared, batch_tokens, SECONDS)
            except VitrailError:
                continue  # it does not fit, or it diverges
    best = min(losses, key=lambda size: losses[size])
    listed = ", ".join(f"{size:,} tokens: {loss:.3f}" for size, loss in sorted(losses.items()))
    if losses.get(now, float("inf")) <= losses[best] * (1 + WORTH):
        return
    yield Finding(
        f"in {SECONDS:.0f} seconds each, batches of {best:,} tokens learned most (validation loss after {listed})",
        f"try train.batch_tokens = {best}; so short a test favours small batches a little",
        "Popel and Bojar 2018: the larger the better; on small data it was the other way round here",
    )


def _prepared(config: Config, scratch: Path) -> Prepared:
    data = config.data
    if not data.validation_corpora() and not data.hold_out:
        data = data.model_copy(update={"hold_out": 500})
    return prepare(data, scratch / "data", seed=config.train.seed)


def loss_after(config: Config, prepared: Prepared, batch_tokens: int, seconds: float) -> float:
    """The validation loss of a new model after some seconds of training with batches of this size."""
    train = config.train.model_copy(
        update={"warmup_steps": WARM_UP, "bleu_sentences": 0, "samples": 0, "loss_sentences": 500}
    )
    device = choose_device(train, ALONE)
    torch.manual_seed(train.seed)
    sizes = prepared.tokenizers.source.size, prepared.tokenizers.target.size
    model = Transformer(config.model, *sizes).to(device).train()
    optimizer, scaler = make_optimizer(model, train), make_scaler(device, train.precision)
    learner = Learner(model=model, optimizer=optimizer, scaler=scaler, average=None, device=device)
    gradients = Gradients(learner, ALONE, precision=train.precision, smoothing=train.label_smoothing)
    rate = make_schedule(train, config.model.d_model)
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=batch_tokens, seed=train.seed)
    began = time.monotonic()
    for step, (_, batch) in enumerate(stream.from_position(Position()), start=1):
        optimizer.zero_grad(set_to_none=True)
        model.train()
        gradients.fill([batch], batch.target_tokens, r_drop=0.0)
        scaler.unscale_(optimizer)
        set_rate(optimizer, rate(step))
        scaler.step(optimizer)
        scaler.update()
        if time.monotonic() - began > seconds:
            break
    found = Validator(prepared, train).look(model.cpu(), prepared.tokenizers)
    assert found is not None
    return found.loss
