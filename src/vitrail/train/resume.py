"""Which settings may change when a run goes on, and which would make it another run."""

from __future__ import annotations

from typing import Any

from vitrail.config import Config
from vitrail.errors import TrainingError

# How often to look and to save, how long to go on, and everything about translating: none of it touches the weights.
# Threads and device do in their last bits; whoever changes them is told.
MAY_CHANGE = {
    "train.max_steps",
    "train.max_epochs",
    "train.checkpoint_every",
    "train.checkpoint_minutes",
    "train.validate_every",
    "train.keep_checkpoints",
    "train.average",
    "train.use",
    "train.patience",
    "train.samples",
    "train.loss_sentences",
    "train.bleu_sentences",
    "train.log_every",
    "train.probes",
    "train.probe_sentences",
    "train.probe_every",
    "train.threads",
    "train.device",
}


def check_same_run(stored: Config, given: Config, *, where: str) -> None:
    """Refuse to go on with settings that would change the run; name each of them, with both values."""
    may_change = set(MAY_CHANGE)
    if stored.train.ends_at_zero:
        may_change -= {"train.max_steps"}  # where the rate ends: another end is another rate on the way
    old, new = _flat(stored), _flat(given)
    changed = [key for key in old if old[key] != new[key] and key not in may_change and not key.startswith("decode.")]
    if changed:
        lines = ", ".join(f"{key} was {old[key]!r}, now {new[key]!r}" for key in changed)
        raise TrainingError(
            f"these settings would make it another run: {lines}",
            where=where,
            fix="run with the settings it began with, or choose another --out",
        )


def _flat(config: Config) -> dict[str, Any]:
    table = config.model_dump(mode="json")
    return {f"{section}.{key}": value for section, keys in table.items() for key, value in keys.items()}
