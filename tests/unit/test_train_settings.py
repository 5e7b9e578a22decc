"""Settings of training at work, in runs of a few steps."""

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest
import torch

from vitrail.config import Config, load_config
from vitrail.data import BatchStream, Position, Prepared
from vitrail.data.phrasebook import training_pairs
from vitrail.folder import ModelFolder
from vitrail.train import train
from vitrail.train.objective import Objective

SMALL = {
    "model.d_model": 16,
    "model.heads": 2,
    "model.d_ff": 24,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "data.vocabulary_size": 300,
    "train.batch_tokens": 200,
    "train.warmup_steps": 4,
    "train.max_steps": 4,
    "train.checkpoint_every": 2,
    "train.validate_every": 2,
    "train.log_every": 1,
    "train.bleu_sentences": 0,
    "train.samples": 0,
    "train.probes": 1,
    "train.threads": 1,
}


@dataclass(frozen=True)
class Desk:
    """A corpus, and runs on it."""

    folder: Path

    def config(self, **changes: object) -> Config:
        files = {f"data.{name}": str(self.folder / "pairs.tsv") for name in ("pairs", "validation_pairs")}
        changed = {key.replace("__", "."): value for key, value in changes.items()}
        return load_config(None, given={**SMALL, **files, **changed})

    def run(self, name: str, **changes: object) -> Path:
        train(self.config(**changes), self.folder / name)
        return self.folder / name


@pytest.fixture
def desk(tmp_path):
    pairs = [pair for pair in training_pairs(400, seed=3) if pair.target_language == "en"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in pairs[:120]), encoding="utf-8")
    return Desk(tmp_path)


def events(run, kind):
    log = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [event for event in log if event["event"] == kind]


def test_r_drop_is_the_loss_that_is_learnt_from(desk):
    run = desk.run("run", train__r_drop=4.0, train__max_steps=1)
    folder, prepared = ModelFolder.open(run), Prepared.open(run / "data")
    torch.manual_seed(folder.config.train.seed)
    model = folder.new_model().train()
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=200, seed=folder.config.train.seed)
    ((_, batch),) = islice(stream.from_position(Position()), 1)
    objective = Objective(model, smoothing=0.1, r_drop=4.0)
    wanted = objective(torch.from_numpy(batch.source_BS), torch.from_numpy(batch.target_BT)).item()
    assert events(run, "step")[0]["loss"] == pytest.approx(wanted / batch.target_tokens, rel=1e-6)
