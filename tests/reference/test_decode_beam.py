"""The search against a plain version of the same rule with lists and dicts, over models that are tables."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import product
from math import inf

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import search
from vitrail.text.special import BOS, EOS, PAD

FORBIDDEN = (0, 1, 2)


class TableCache:
    """The source and everything generated so far, for each hypothesis."""

    def __init__(self, histories: list[list[tuple[int, ...]]]) -> None:
        self.histories = histories

    def reorder(self, parent_BW: Tensor) -> None:
        pairs = zip(self.histories, parent_BW.tolist(), strict=True)
        self.histories = [[row[parent] for parent in parents] for row, parents in pairs]

    def keep(self, rows: Tensor) -> None:
        self.histories = [self.histories[row] for row in rows.tolist()]


@dataclass
class Table:
    """Log-probabilities that depend on the whole history, drawn from a hash; `coarse` makes many exactly equal."""

    seed: int
    vocabulary: int
    coarse: bool = False

    def next(self, history: tuple[int, ...]) -> Tensor:
        digest = hashlib.blake2b(f"{self.seed}{history}".encode(), digest_size=6).digest()
        logits = torch.randn(self.vocabulary, generator=torch.Generator().manual_seed(int.from_bytes(digest, "big")))
        # Not normalised when coarse: the search does not depend on it.
        return (logits.round() - 3) if self.coarse else logits.mul(2).log_softmax(-1)

    def start(self, source_BS: Tensor) -> TableCache:
        return TableCache([[tuple(i for i in row if i != PAD)] for row in source_BS.tolist()])

    def step(self, ids_BW: Tensor, cache: TableCache) -> Tensor:
        rows = zip(cache.histories, ids_BW.tolist(), strict=True)
        cache.histories = [[(*past, i) for past, i in zip(row, ids, strict=True)] for row, ids in rows]
        return torch.stack([torch.stack([self.next(history) for history in row]) for row in cache.histories])


def penalised(log_probs: list[float], config: DecodeConfig) -> float:
    length = len(log_probs)
    return sum(log_probs) / ((5 + length) / 6 if config.penalty == "gnmt" else length) ** config.alpha


def plain_beam_search(
    table: Table, source: list[int], config: DecodeConfig, prefix: list[int]
) -> list[tuple[list[int], float]]:
    """Every translation that is set aside, as (generated ids, score), best first."""
    live: list[dict] = [{"ids": [], "log_probs": []}]
    complete: list[tuple[list[int], float]] = []
    limit = len(source) + config.max_extra
    for step in range(limit):
        continuations = []
        for number, hypothesis in enumerate(live):
            values = table.next((*source, BOS, *hypothesis["ids"])).tolist()
            for token_id, value in enumerate(values):
                if token_id in FORBIDDEN or (step < len(prefix) and token_id != prefix[step]):
                    continue
                log_probs = [*hypothesis["log_probs"], value]
                order = (-sum(log_probs), number, token_id)
                continuations.append((order, {"ids": [*hypothesis["ids"], token_id], "log_probs": log_probs}))
        continuations.sort(key=lambda pair: pair[0])
        looked_at = [continuation for _, continuation in continuations[: 2 * config.beam_size]]
        complete += [
            (continuation["ids"], penalised(continuation["log_probs"], config))
            for continuation in looked_at[: config.beam_size]
            if continuation["ids"][-1] == EOS or step + 1 == limit
        ]
        live = [continuation for continuation in looked_at if continuation["ids"][-1] != EOS][: config.beam_size]
        if len(complete) >= config.beam_size or not live:
            break
    return sorted(complete, key=lambda pair: -pair[1])


configs = st.builds(
    lambda beam_size, alpha, penalty, max_extra: DecodeConfig(
        beam_size=beam_size, top_beams=beam_size, alpha=alpha, penalty=penalty, max_extra=max_extra
    ),
    beam_size=st.integers(1, 5),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    penalty=st.sampled_from(["length", "gnmt"]),
    max_extra=st.integers(0, 6),
)
sources = st.lists(st.integers(4, 6), max_size=4).map(lambda ids: [*ids, EOS])


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    vocabulary=st.integers(5, 14),
    coarse=st.booleans(),
    config=configs,
    batch=st.lists(sources, min_size=1, max_size=4),
    data=st.data(),
)
def test_the_search_is_the_rule_written_plainly(seed, vocabulary, coarse, config, batch, data):
    table = Table(seed, vocabulary, coarse)
    words = st.integers(4, vocabulary - 1)
    prefixes = [data.draw(st.lists(words, max_size=min(2, len(source) + config.max_extra))) for source in batch]
    found = search(table, batch, config, forbidden=FORBIDDEN, prefixes=prefixes)
    for source, prefix, hypotheses in zip(batch, prefixes, found, strict=True):
        expected = plain_beam_search(table, source, config, prefix)[: config.top_beams]
        assert [list(hypothesis.row) for hypothesis in hypotheses] == [ids for ids, _ in expected]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx([score for _, score in expected])


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    words=st.integers(1, 3),
    limit=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 0.6, 1.0]),
    penalty=st.sampled_from(["length", "gnmt"]),
)
def test_a_beam_as_wide_as_the_space_finds_the_exact_optimum(seed, words, limit, alpha, penalty):
    table = Table(seed, vocabulary=4 + words)
    config = DecodeConfig(beam_size=200, top_beams=3, alpha=alpha, penalty=penalty, max_extra=limit - 1)
    source = [EOS]
    best, best_ids = -inf, None
    for length in range(limit + 1):
        for ids in product(range(4, 4 + words), repeat=length):
            generated = [*ids, EOS] if length < limit else list(ids)  # cut at the limit
            values = [table.next((*source, BOS, *generated[:t]))[generated[t]].item() for t in range(len(generated))]
            score = penalised(values, config)
            if score > best:
                best, best_ids = score, ids
    first = search(table, [source], config, forbidden=FORBIDDEN)[0][0]
    assert first.ids == best_ids
    assert first.score == pytest.approx(best)
