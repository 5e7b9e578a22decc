"""A task that must be learned: say a row of words backwards, one by one, from rows never seen."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from vitrail.config import ModelConfig
from vitrail.model import Transformer
from vitrail.text.special import BOS, EOS, PAD

WORDS, LONGEST = 8, 6


def rows_to_reverse(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Source rows, decoder inputs and what is to be predicted."""
    source = torch.full((count, LONGEST + 1), PAD)
    target_in, target_out = source.clone(), source.clone()
    for row in range(count):
        length = int(torch.randint(2, LONGEST + 1, (), generator=generator))
        words = torch.randint(4, 4 + WORDS, (length,), generator=generator)
        source[row, : length + 1] = torch.cat([words, torch.tensor([EOS])])
        target_in[row, : length + 1] = torch.cat([torch.tensor([BOS]), words.flip(0)])
        target_out[row, : length + 1] = torch.cat([words.flip(0), torch.tensor([EOS])])
    return source, target_in, target_out


@pytest.mark.parametrize("positions", ["sinusoidal", "relative", "rope"])
def test_it_learns_to_say_rows_of_words_backwards(positions: str) -> None:
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    config = ModelConfig(
        d_model=32,
        heads=4,
        d_ff=64,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        positions=positions,
        max_distance=8,
    )
    model = Transformer(config, 4 + WORDS, 4 + WORDS)
    steps = 400
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=steps)
    for _ in range(steps):
        source, target_in, target_out = rows_to_reverse(48, generator)
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
    accuracy = right.all(-1).float().mean().item()
    print(positions, accuracy, loss.item())
    assert accuracy > 0.9
