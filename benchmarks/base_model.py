"""A model as large as the paper's base model that translates like the built-in one, to measure speed with.

    python benchmarks/base_model.py runs/base-sized

Speed depends on the sizes of matrices, not on what is in them, but also on how long translations are. A model with
random weights never ends a sentence, and training a base model takes a day here. So the built-in model is widened (Chen
et al. 2016, "Net2Net"): every vector holds its numbers twice, every matrix is four copies of half of itself, and layers
that add nothing fill up the stacks. Sums and norms stay what they were, and so do the translations, up to rounding.
"""

from __future__ import annotations

import argparse
import shutil
from math import sqrt
from pathlib import Path

import torch
from torch import Tensor

from vitrail.box import model_path
from vitrail.config import ModelConfig
from vitrail.folder import ModelFolder
from vitrail.model import Transformer
from vitrail.runtime.shortlist import FILE

BASE = {"d_model": 512, "heads": 8, "kv_heads": 8, "d_k": 64, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 6}
POSITIONS = 512  # a table of them: sinusoids of twice the width are not the same numbers twice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    print(base_model(parser.parse_args().out).path)


def base_model(out: Path) -> ModelFolder:
    """Write the model into a folder."""
    small = ModelFolder.open(model_path("builtin"))
    shape = small.config.model.model_dump() | BASE | {"positions": "learned", "max_positions": POSITIONS}
    folder = ModelFolder.create(
        out, small.config.model_copy(update={"model": ModelConfig.model_validate(shape)}), small.tokenizers
    )
    folder.write_weights(widened(small.model(), folder.new_model()))
    shutil.copy(small.path / FILE, out / FILE)
    return ModelFolder.open(out)


def widened(small: Transformer, wide: Transformer) -> dict[str, Tensor]:
    """The weights of the wide model."""
    known, found = small.state_dict(), {}
    for name, there in wide.state_dict().items():
        if "positions" in name:
            found[name] = small.source_positions.vectors(0, POSITIONS, like=known["embeddings.shared"]).repeat(1, 2)
        elif name in known:
            found[name] = _twice(name, known[name])
        elif name.endswith(("output.weight", "outer.weight", "output.bias", "outer.bias")):
            found[name] = torch.zeros_like(there)  # a further layer adds nothing to what it gets
        else:
            stack, _, rest = name.partition(".layers.")
            found[name] = _twice(name, known[f"{stack}.layers.0.{rest.partition('.')[2]}"])
        assert found[name].shape == there.shape, name
    return found


def _twice(name: str, weight: Tensor) -> Tensor:
    if name == "embeddings.shared":  # looked up, they are scaled by √d_model, which has grown by √2
        return weight.repeat(1, 2) / sqrt(2)
    if name.startswith("decoder.final_norm"):  # multiplied by the embeddings: twice the numbers, one of the √2
        return weight.repeat(2) / sqrt(2)
    return weight.repeat(2) if weight.dim() == 1 else weight.repeat(2, 2) / 2


if __name__ == "__main__":
    main()
