"""A time budget (`train.minutes`): which settings make the best use of it, on this machine and with this data.

The rule, in order. Nothing that the user gave is changed; what is chosen is written into the run's settings.
1. Vocabulary: a third of the number of pairs, between 1,000 and 10,000. Without validation data, 1,000 pairs are held
   out, or a tenth.
2. Size: SIZES take steps for a few seconds each. The largest one is used that still learns from ENOUGH target tokens
   per parameter in the time. The built-in model had 1.3, and half of its run, 0.6, had most of its quality.
3. Steps: as many as fit into the time that is left, less a share for validation and checkpoints.
4. Dropout by the number of epochs; the rest as in the recipes for real corpora, which were chosen on validation data:
   Muon, a cosine, small batches, a moving average, and bf16 if the processor has it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import torch

from vitrail.config import Config, DataConfig, parse_config
from vitrail.data import BatchStream, Position, Prepared, count_lines
from vitrail.data.corpora import PHRASEBOOK_PAIRS, Corpus
from vitrail.errors import ConfigError
from vitrail.model import Transformer
from vitrail.train.device import is_slow, make_scaler
from vitrail.train.gradients import Gradients
from vitrail.train.learner import Learner
from vitrail.train.optimizer import make_optimizer
from vitrail.train.peers import ALONE

Values = dict[str, Any]

SIZES: tuple[Values, ...] = (
    {"preset": "tiny"},
    {"preset": "tiny", "d_model": 192, "heads": 4, "d_ff": 768, "encoder_layers": 4, "decoder_layers": 2},
    {"preset": "tiny", "d_model": 256, "heads": 4, "d_ff": 1024, "encoder_layers": 4, "decoder_layers": 2},
    {"preset": "tiny", "d_model": 384, "heads": 6, "d_ff": 1536, "encoder_layers": 6, "decoder_layers": 3},
    {"preset": "base", "encoder_layers": 6, "decoder_layers": 4},
    {"preset": "base"},
)
ENOUGH = 0.6  # target tokens for each parameter
FOR_STEPS = 0.9  # share of the time; the rest is for validation, checkpoints and the end
WARM_UP, MEASURED, SECONDS = 2, 40, 4.0  # steps that do not count; then so many, or so many seconds
LOOKS = 8  # validations, and checkpoints, in a run; one in two minutes at most
SHAPE = ("preset", "d_model", "heads", "d_ff", "encoder_layers", "decoder_layers", "norm", "dropout")
LEARNING = ("optimizer", "schedule", "peak_rate", "warmup_steps", "fall_steps", "weight_decay")
USED = ("use", "average", "ema", "keep_checkpoints")


@dataclass(frozen=True)
class Budget:
    """A time budget, and the settings that the user gave."""

    ends: float  # by time.monotonic
    given: frozenset[str]

    @classmethod
    def of(cls, config: Config, *, began: float, processes: int) -> Budget | None:
        """The budget that the settings name; None if they name none."""
        if config.train.minutes is None:
            return None
        given = given_settings(config)
        ends = [name for name in ("max_steps", "max_epochs") if f"train.{name}" in given]
        if ends:
            raise ConfigError(
                f"train.minutes cannot go with train.{ends[0]}: both say how long to train",
                where="[train]",
                fix="remove one of them",
            )
        if processes > 1:
            raise ConfigError(
                "train.minutes measures the speed of one process, and this run has several",
                where="torchrun",
                fix="run it without torchrun, or set train.max_steps",
            )
        return cls(began + 60 * config.train.minutes, frozenset(given))

    def with_data(self, config: Config) -> Config:
        """The settings with a vocabulary for the amount of data, and something to validate on."""
        data: Values = {}
        if config.data.prepared is None:
            if config.train.start_from is None and not self._names("data", ("vocabulary", "vocabulary_size")):
                data["vocabulary_size"] = min(10_000, max(1000, _pairs(config.data) // 3))
            if not config.data.validation_corpora() and not self._names("data", ("hold_out",)):
                data["hold_out"] = 1000
        return _changed(config, {"data": data})

    def with_rest(self, config: Config, prepared: Prepared, device: torch.device) -> tuple[Config, str]:
        """The settings with a size, a number of steps and everything else, and what to say about it."""
        precision = "bf16" if not is_slow(device, "bf16") else "float32"
        train: Values = {} if self._names("train", ("precision",)) else {"precision": precision}
        if not self._names("train", LEARNING):
            rate = 0.001 if config.train.start_from is not None else 0.003
            train |= {"optimizer": "muon", "schedule": "cosine", "peak_rate": rate, "weight_decay": 0.05}
            train["warmup_steps"] = 1  # for now: the number of steps decides
        if not self._names("train", ("batch_tokens", "accumulate")):
            train["batch_tokens"] = 3072
        config = _changed(config, {"train": train})
        chooses_size = config.train.start_from is None and not self._names("model", SHAPE)
        best: tuple[Config, Speed] | None = None
        for size in SIZES if chooses_size else ({},):
            shape = {**size, "norm": "pre"} if chooses_size else {}
            tried = _changed(config, {"model": shape})
            speed = measure(tried, prepared, device)
            if best is not None and self._tokens(speed) < ENOUGH * speed.parameters:
                break
            best = tried, speed
        assert best is not None
        config, speed = best
        return self._finished(config, speed, prepared, chooses_size)

    def _finished(self, config: Config, speed: Speed, prepared: Prepared, chooses_size: bool) -> tuple[Config, str]:
        steps = max(10, int(self._seconds() / speed.seconds / config.train.accumulate))
        pairs = sum(len(shard) * weight for shard, weight in zip(prepared.train, prepared.weights, strict=True))
        epochs = steps * config.train.accumulate * speed.pairs / pairs
        minutes = config.train.minutes or 0.0
        every = max(1, steps // max(1, min(LOOKS, int(minutes / 2))))
        train: Values = {"max_steps": steps}
        if not self._names("train", LEARNING):
            train["warmup_steps"] = max(1, min(500, steps // 10))
        if not self._names("train", USED):
            ema = round(min(0.999, max(0.9, 1 - 10 / steps)), 4)
            train |= {"ema": ema, "use": "ema", "average": 1, "keep_checkpoints": 2}
        chosen = {
            "validate_every": every,
            "checkpoint_every": every,
            "loss_sentences": 1000,
            "log_every": max(1, min(50, steps // 50)),
        }
        train |= {name: value for name, value in chosen.items() if not self._names("train", (name,))}
        dropout = 0.1 if epochs < 8 else 0.2 if epochs < 30 else 0.3
        config = _changed(config, {"model": {"dropout": dropout} if chooses_size else {}, "train": train})
        shape = config.model
        return config, (
            f"{minutes:g} minutes at {speed.tokens / speed.seconds:,.0f} tokens/s (measured): "
            f"{steps:,} steps, {epochs:.1f} epochs, of a model with {shape.encoder_layers}+{shape.decoder_layers} "
            f"layers, {shape.d_model} wide, {speed.parameters / 1e6:.1f} million parameters"
        )

    def _names(self, section: Literal["model", "data", "train"], names: tuple[str, ...]) -> bool:
        """Whether the user gave one of these settings, so that none of their group is chosen."""
        return any(f"{section}.{name}" in self.given for name in names)

    def _seconds(self) -> float:
        return max(1.0, FOR_STEPS * (self.ends - time.monotonic()))

    def _tokens(self, speed: Speed) -> float:
        return self._seconds() * speed.tokens / speed.seconds


@dataclass(frozen=True)
class Speed:
    """What a step of a model takes on this machine, on average."""

    seconds: float
    tokens: float  # of the target, without padding
    pairs: float
    parameters: int


def measure(config: Config, prepared: Prepared, device: torch.device) -> Speed:
    """Take steps with a new model of these settings for a few seconds."""
    sizes = prepared.tokenizers.source.size, prepared.tokenizers.target.size
    model = Transformer(config.model, *sizes).to(device).train()
    optimizer, scaler = make_optimizer(model, config.train), make_scaler(device, config.train.precision)
    learner = Learner(model=model, optimizer=optimizer, scaler=scaler, average=None, device=device)
    gradients = Gradients(learner, ALONE, precision=config.train.precision, smoothing=config.train.label_smoothing)
    tokens = 4096 if config.train.batch_tokens == "auto" else config.train.batch_tokens
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=tokens, seed=config.train.seed)
    began, steps, seen, pairs = 0.0, 0, 0, 0
    for number, (_, batch) in enumerate(islice(stream.from_position(Position()), WARM_UP + MEASURED)):
        if number == WARM_UP:
            began = time.monotonic()
        optimizer.zero_grad(set_to_none=True)
        gradients.fill([batch], batch.target_tokens, r_drop=config.train.r_drop)
        optimizer.step()
        if number >= WARM_UP:
            steps, seen, pairs = steps + 1, seen + batch.target_tokens, pairs + batch.pairs
            if time.monotonic() - began > SECONDS:
                break
    seconds = max(time.monotonic() - began, 1e-6)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Speed(seconds / steps, seen / steps, pairs / steps, parameters)


def given_settings(config: Config) -> set[str]:
    """The settings that somebody gave, by `section.key`; the others have their defaults."""
    sections = {name: getattr(config, name) for name in type(config).model_fields}
    return {f"{name}.{key}" for name, section in sections.items() for key in section.model_fields_set}


def as_chosen(config: Config, stored: Config) -> Config:
    """The settings of a run that resumes: what was chosen when it began, for all that the user did not give."""
    given = given_settings(config)
    table = config.model_dump(mode="json", exclude_none=True)
    for section, held in stored.model_dump(mode="json", exclude_none=True).items():
        table[section] |= {name: value for name, value in held.items() if f"{section}.{name}" not in given}
    return parse_config(table, where="the settings, with those that were chosen for train.minutes")


def _pairs(data: DataConfig) -> int:
    """About how many pairs the corpora have."""
    found = 0
    for corpus in map(Corpus, data.training_corpora()):
        found += count_lines(corpus.files()[0]) if corpus.files() else PHRASEBOOK_PAIRS
    return found


def _changed(config: Config, changes: dict[str, Values]) -> Config:
    table = config.model_dump(mode="json", exclude_none=True)
    for section, values in changes.items():
        if section == "model" and "preset" in values:
            kept = ("positions", "activation", "bias", "output_bias", "embedding_scale", "tie_embeddings")
            table["model"] = {name: table["model"][name] for name in kept}
        table[section] |= values
    return parse_config(table, where="the settings chosen for train.minutes")
