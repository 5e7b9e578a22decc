"""Folders of Vitrail models with random weights and small subword vocabularies."""

from pathlib import Path
from typing import Any

import torch

from vitrail.config import parse_config
from vitrail.folder import ModelFolder
from vitrail.text import Tokenizers

SOURCES = ["the cat sat on the mat", "a dog ran (in) the park", "hello world, it's me!", "we are here: 3.5 %"]
TARGETS = ["le chat est assis sur le tapis", "un chien courait au parc", "bonjour, c'est moi !", "nous voici à 3,5 %"]
SMALL = {"d_model": 24, "heads": 4, "d_ff": 40, "encoder_layers": 2, "decoder_layers": 3}


def write_ours(
    folder: Path,
    *,
    kind: str = "bpe",
    joint: bool = True,
    languages: tuple[str, ...] = (),
    seed: int = 0,
    decode: dict[str, Any] | None = None,
    **options: Any,
) -> ModelFolder:
    """Write one; `options` are settings of its [model]."""
    torch.manual_seed(seed)
    words = Tokenizers.train(SOURCES, TARGETS, kind=kind, size=340, joint=joint, languages=languages)
    ties = {} if joint else {"tie_embeddings": "target"}
    data = {"vocabulary": kind, "joint": joint}
    table = {"model": {**SMALL, **ties, **options}, "data": data, "decode": decode or {}}
    made = ModelFolder.create(folder, parse_config(table, where="here"), words)
    model = made.new_model()
    with torch.no_grad():
        for parameter in model.parameters():  # biases of 0 and gains of 1 would hide mistakes
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    made.write_weights(model.state_dict())
    return ModelFolder.open(folder)
