"""Sample translations: draw each id from the model's distribution, adjusted by temperature, top_k and top_p."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode.beam import remaining
from vitrail.decode.hypothesis import Hypothesis
from vitrail.decode.listener import SearchListener
from vitrail.decode.request import Request, refuse_broken
from vitrail.decode.step import CacheT, StepModel
from vitrail.errors import DecodeError
from vitrail.text.special import BOS, EOS


@dataclass(frozen=True)
class Draws:
    """The draws in progress: W independent ones for each sentence."""

    sentence_B: Tensor  # which sentence of the request each row is
    ids_BWT: Tensor  # begins with BOS; after EOS, only EOS
    log_probs_BWT: Tensor  # the model's own, of each id; BOS was given, so its own is 0
    ended_BW: Tensor

    @classmethod
    def begin(cls, sentences: int, draws: int) -> Draws:
        """Nothing drawn yet."""
        return cls(
            sentence_B=torch.arange(sentences),
            ids_BWT=torch.full((sentences, draws, 1), BOS),
            log_probs_BWT=torch.zeros(sentences, draws, 1),
            ended_BW=torch.zeros(sentences, draws, dtype=torch.bool),
        )

    def add(self, ids_BW: Tensor, log_probs_BW: Tensor) -> Draws:
        """Append one id to each draw."""
        ids_BW = ids_BW.masked_fill(self.ended_BW, EOS)
        return Draws(
            sentence_B=self.sentence_B,
            ids_BWT=torch.cat([self.ids_BWT, ids_BW[..., None]], dim=2),
            log_probs_BWT=torch.cat([self.log_probs_BWT, log_probs_BW[..., None]], dim=2),
            ended_BW=ids_BW == EOS,
        )

    def keep(self, rows: Tensor) -> Draws:
        """Keep only these sentences."""
        return Draws(self.sentence_B[rows], self.ids_BWT[rows], self.log_probs_BWT[rows], self.ended_BW[rows])


def sample(
    model: StepModel[CacheT], request: Request, config: DecodeConfig, listener: SearchListener | None = None
) -> list[list[Hypothesis]]:
    """`top_beams` independent draws for each sentence, in order."""
    drawn: list[list[Hypothesis]] = [[] for _ in request.sources]
    draws = Draws.begin(len(request.sources), config.top_beams)
    luck_BWT = _luck(request, config)
    cache = model.start(request.source_BS())
    step = 0
    while len(draws.sentence_B):
        step += 1
        # Before the first draw, all draws of a sentence are the same hypothesis.
        past = draws.ids_BWT[:, : 1 if step == 1 else None]
        log_probs_BWV = request.restrict(model.step(past[:, :, -1], cache), draws.sentence_B, past).cpu()
        if step == 1:
            cache.reorder(torch.zeros(draws.ended_BW.shape, dtype=torch.long))
            log_probs_BWV = log_probs_BWV.expand(-1, config.top_beams, -1)
        chances_BWV = distribution(
            log_probs_BWV, temperature=config.temperature, top_k=config.top_k, top_p=config.top_p
        )
        ids_BW = pick(chances_BWV, luck_BWT[:, :, step - 1])
        before, draws = draws, draws.add(ids_BW, log_probs_BWV.gather(-1, ids_BW[..., None]).squeeze(-1))
        if listener is not None:
            listener.drew(step, before, draws, log_probs_BWV, chances_BWV)

        done_B = draws.ended_BW.all(1) | (request.limits_B[draws.sentence_B] <= step)
        if done_B.any():
            _write_out(drawn, draws.keep(done_B), config)
            rows = remaining(done_B)
            if not rows.size(0):
                break
            cache.keep(rows)
            draws, luck_BWT = draws.keep(rows), luck_BWT[rows]
    return drawn


def distribution(log_probs: Tensor, *, temperature: float, top_k: int, top_p: float) -> Tensor:
    """The probabilities to draw from, over the last axis: temperature, then top_k, then top_p.

    In float64: float32 rounding differs between batches and would move the boundaries more.
    """
    best = log_probs.amax(-1)
    refuse_broken(best)
    if (best == -inf).any():
        raise DecodeError(
            "the model gives no continuation any probability",
            fix="check the forced prefix and the forbidden ids",
        )
    scaled = log_probs.double() / temperature
    if not top_k and top_p == 1:
        return scaled.softmax(-1)
    ordered, ids = scaled.sort(dim=-1, descending=True, stable=True)  # ties: the lower id first
    if top_k:
        ordered[..., top_k:] = -inf
    chances = ordered.softmax(-1)
    if top_p < 1:
        # The smallest set that reaches top_p: keep an id as long as those before it fall short.
        before = chances.cumsum(-1) - chances
        chances = chances.masked_fill(before >= top_p, 0)
        chances = chances / chances.sum(-1, keepdim=True)
    return torch.zeros_like(chances).scatter(-1, ids, chances)


def pick(chances_BWV: Tensor, luck_BW: Tensor) -> Tensor:
    """For each number, the id whose share of [0, 1) contains it.

    Shares are laid out in the order of ids, not by size, so that rounding cannot swap two nearly equal ones.
    """
    ends_BWV = chances_BWV.cumsum(-1)
    thrown_BW1 = (luck_BW * ends_BWV[..., -1])[..., None]
    return torch.searchsorted(ends_BWV, thrown_BW1, right=True).squeeze(-1)


def seed_of(seed: int, source: Sequence[int], draw: int) -> int:
    """A seed that depends only on the user's seed, the sentence and the number of the draw."""
    text = f"{seed}/{draw}/{','.join(map(str, source))}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _luck(request: Request, config: DecodeConfig) -> Tensor:
    """All random numbers for a batch: one for each sentence, draw and step."""
    steps = int(request.limits_B.max())
    streams = [
        [random.Random(seed_of(config.seed, source, draw)) for draw in range(config.top_beams)]
        for source in request.sources
    ]
    numbers = [[[stream.random() for _ in range(steps)] for stream in row] for row in streams]
    return torch.tensor(numbers, dtype=torch.float64)


def _write_out(drawn: list[list[Hypothesis]], draws: Draws, config: DecodeConfig) -> None:
    """Add the draws of these sentences as hypotheses, each up to its EOS."""
    for sentence, ids_W, log_probs_W in zip(
        draws.sentence_B.tolist(), draws.ids_BWT[..., 1:].tolist(), draws.log_probs_BWT[..., 1:].tolist(), strict=True
    ):
        for row, log_probs in zip(ids_W, log_probs_W, strict=True):
            length = row.index(EOS) + 1 if EOS in row else len(row)
            drawn[sentence].append(Hypothesis.from_row(row[:length], log_probs[:length], config))
