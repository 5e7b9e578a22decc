"""Which settings may change when a run resumes, and which would make it a different run."""

from __future__ import annotations

from typing import Any

from vitrail.config import Config
from vitrail.errors import TrainingError

# How often to validate and save, how long to train, and everything about translating: none of it affects the weights.
# Threads and device affect their last bits; changing them prints a note.
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
    """Refuse settings that would make it a different run; name each, with both values."""
    may_change = set(MAY_CHANGE)
    if stored.train.ends_at_zero:
        may_change -= {"train.max_steps"}  # the learning rate ends there: another end changes it on the way
    old, new = _flat(stored), _flat(given)
    changed = [key for key in old if old[key] != new[key] and key not in may_change and not key.startswith("decode.")]
    if changed:
        lines = ", ".join(f"{key} was {old[key]!r}, now {new[key]!r}" for key in changed)
        raise TrainingError(
            f"these settings would make it a different run: {lines}",
            where=where,
            fix="use the settings that the run started with, or choose another --out",
        )


def _flat(config: Config) -> dict[str, Any]:
    table = config.model_dump(mode="json")
    return {f"{section}.{key}": value for section, keys in table.items() for key, value in keys.items()}
