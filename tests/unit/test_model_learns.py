"""A task that must be learned: reverse a row of words. Few of the test rows were seen in training."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from vitrail.config import ModelConfig
from vitrail.model import Transformer
from vitrail.text.special import BOS, EOS, PAD

WORDS, LONGEST, STEPS = 8, 6, 250


def rows_to_reverse(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Source rows, decoder inputs and the ids to predict."""
    length = torch.randint(2, LONGEST + 1, (count, 1), generator=generator)
    words = torch.randint(4, 4 + WORDS, (count, LONGEST + 1), generator=generator)
    place = torch.arange(LONGEST + 1).expand_as(words)
    backwards = words.gather(1, (length - 1 - place).clamp(min=0))
    source, target_out = (
        torch.where(place < length, row, EOS).where(place <= length, PAD) for row in (words, backwards)
    )
    target_in = torch.cat([torch.full((count, 1), BOS), target_out[:, :-1]], dim=1)
    return source, target_in, target_out


@pytest.mark.parametrize(("positions", "norm"), [("sinusoidal", "post"), ("rope", "pre")])
def test_it_learns_to_say_rows_of_words_backwards(positions: str, norm: str) -> None:
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    shape = {"d_model": 48, "heads": 4, "d_ff": 96, "encoder_layers": 1, "decoder_layers": 1, "max_distance": 8}
    model = Transformer(ModelConfig(**shape, dropout=0.0, positions=positions, norm=norm), 4 + WORDS, 4 + WORDS)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=STEPS, pct_start=0.1)
    for _ in range(STEPS):
        source, target_in, target_out = rows_to_reverse(64, generator)
        loss = F.cross_entropy(model(source, target_in).flatten(0, 1), target_out.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()

    source, _, expected = rows_to_reverse(200, generator)
    model.eval()
    cache, newest, said = model.start(source), torch.full((200, 1), BOS), []
    for _ in range(LONGEST + 1):
        newest = model.step(newest, cache).argmax(-1)
        said.append(newest)
    right = (torch.cat(said, dim=1) == expected) | (expected == PAD)
    assert right.all(-1).float().mean() > 0.9
