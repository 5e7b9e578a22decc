"""The benchmark of training: its rows, and that every system in it takes steps on the same loss."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import training
import training_systems
from vitrail.text import PAD


def test_a_row_is_the_median_of_ratios_in_the_same_round():
    def found(ours, theirs, peak):
        values = {"vitrail": ours, "other": theirs}
        systems = {
            name: {"tokens_per_second": speed, "flops_per_second": speed * 1e7, "peak_mb": speed}
            for name, speed in values.items()
        }
        return {**systems, "peak": {"flops_per_second": peak}}

    rounds = [found(3000.0, 1500.0, 1e11), found(2000.0, 1600.0, 1e11), found(1000.0, 1000.0, 5e10)]
    row = training.row("other", "small", rounds)
    assert row.keys() >= {"system", "size", "tokens_per_second", "peak_mb", "utilisation"}
    assert (row["system"], row["size"], row["tokens_per_second"], row["peak_mb"]) == ("other", "small", 1500.0, 1600.0)
    assert row["vitrail_is"] == 1.25
    assert row["utilisation"] == 0.16


def test_batches_have_about_as_many_target_tokens_as_the_issue_asks_for():
    tokens = [np.count_nonzero(target_BT != PAD) for _, target_BT in training.make_batches()]
    assert len(tokens) == training.BATCHES
    assert max(tokens) <= training.TOKENS
    assert sum(tokens) > 0.75 * training.TOKENS * len(tokens)


@pytest.mark.parametrize(
    "name",
    ["vitrail", "vitrail, dropout everywhere", "torch.nn.Transformer", "torch.nn.Transformer, the paper's dropout"],
)
def test_every_system_learns_from_its_steps(monkeypatch, name):
    monkeypatch.setattr(training_systems, "keep_memory", lambda: None)  # of this process, that is
    monkeypatch.setattr(training_systems, "RATE", 1e-3)
    system = training_systems.SYSTEMS[name]("tiny")
    random = np.random.default_rng(1)
    source_BS, target_BT = (np.where(np.arange(9) < random.integers(3, 10, (8, 1)), 17, PAD) for _ in range(2))
    losses = [system.step(source_BS, target_BT) for _ in range(4)]
    assert losses[0] > 0
    assert losses[-1] < losses[0]
