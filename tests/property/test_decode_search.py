"""What a search guarantees for any model, tested on small random Transformers in float64, so that ties are rare."""

from __future__ import annotations

import copy
import random
from functools import cache as remember

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import POSITIONS, DecodeConfig, ModelConfig
from vitrail.decode import batches, begin_all, score, search
from vitrail.model import Transformer
from vitrail.text.special import BOS, EOS

VOCABULARY = 14
FORBIDDEN = (0, 1, 2, 4)


@remember
def small(seed: int, positions: str = "sinusoidal", max_positions: int = 64) -> Transformer:
    torch.manual_seed(seed)
    config = ModelConfig(
        d_model=16,
        heads=4,
        kv_heads=(1, 2, 4)[seed % 3],
        d_ff=24,
        encoder_layers=2,
        decoder_layers=2,
        positions=positions,
        max_positions=max_positions,
        tie_embeddings="none",
        output_bias=True,
    )
    model = Transformer(config, VOCABULARY, VOCABULARY).eval().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # untrained, but with peaked predictions
        model.output_bias[EOS] = 4  # some translations end at once, some late and some never
    return model


models = st.builds(small, st.integers(0, 11), st.sampled_from(sorted(POSITIONS)))
sources = st.lists(st.integers(5, VOCABULARY - 1), max_size=6).map(lambda ids: [*ids, EOS])
beam_configs = st.builds(
    lambda beam_size, penalty: DecodeConfig(beam_size=beam_size, top_beams=beam_size, penalty=penalty, max_extra=6),
    st.integers(1, 5),
    st.sampled_from(["length", "gnmt"]),
)
sampling_configs = st.builds(
    lambda seed, top_k, top_p: DecodeConfig(sample=True, top_beams=2, seed=seed, top_k=top_k, top_p=top_p, max_extra=6),
    st.integers(0, 99),
    st.sampled_from([0, 4]),
    st.sampled_from([1.0, 0.8]),
)


def assert_same(found, expected):
    """The same ids; the same log-probabilities up to rounding."""
    assert [[h.row for h in row] for row in found] == [[h.row for h in row] for row in expected]
    for row, expected_row in zip(found, expected, strict=True):
        for hypothesis, other in zip(row, expected_row, strict=True):
            assert hypothesis.log_probs == pytest.approx(other.log_probs, abs=1e-5)
            assert hypothesis.score == pytest.approx(other.score, abs=1e-5)


class Uncached:
    """A model without a cache, which reads the whole hypothesis again at every step."""

    vocabulary = VOCABULARY

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def start(self, source_BS: Tensor) -> Uncached.Everything:
        return self.Everything(source_BS)

    def step(self, ids_BW: Tensor, cache: Uncached.Everything) -> Tensor:
        past_BWT = cache.ids_BWT if cache.ids_BWT is not None else ids_BW[..., None][..., :0]
        cache.ids_BWT = torch.cat([past_BWT, ids_BW[..., None]], dim=2)
        sources = cache.source_BS.repeat_interleave(ids_BW.size(1), dim=0)
        return self.model.log_probs(sources, cache.ids_BWT.flatten(0, 1))[:, -1].view(*ids_BW.shape, -1)

    class Everything:
        def __init__(self, source_BS: Tensor) -> None:
            self.source_BS = source_BS
            self.ids_BWT: Tensor | None = None

        def reorder(self, parent_BW: Tensor) -> None:
            self.ids_BWT = torch.stack([row[parents] for row, parents in zip(self.ids_BWT, parent_BW, strict=True)])

        def keep(self, rows: Tensor) -> None:
            self.source_BS, self.ids_BWT = self.source_BS[rows], self.ids_BWT[rows]


@settings(deadline=None, max_examples=30)
@given(model=models, batch=st.lists(sources, max_size=4), config=beam_configs | sampling_configs)
def test_cached_equals_uncached(model, batch, config):
    cached = search(model, batch, config, forbidden=FORBIDDEN)
    assert_same(cached, search(Uncached(model), batch, config, forbidden=FORBIDDEN))


@settings(deadline=None, max_examples=30)
@given(
    model=models,
    batch=st.lists(sources, max_size=6),
    config=beam_configs | sampling_configs,
    batch_tokens=st.integers(1, 90),
)
def test_a_translation_does_not_depend_on_its_neighbours(model, batch, config, batch_tokens):
    alone = [search(model, [source], config, forbidden=FORBIDDEN)[0] for source in batch]
    assert_same(search(model, batch, config, forbidden=FORBIDDEN), alone)
    assert_same(begin_all(model, batch, config, forbidden=FORBIDDEN, batch_tokens=batch_tokens)(), alone)


def test_in_float32_only_a_tie_may_fall_the_other_way():
    """Rounding depends on the shape of a batch: two translations with nearly equal scores may swap."""
    chance, config, swapped = random.Random(0), DecodeConfig(max_extra=6), 0
    for seed in range(3):
        model = copy.deepcopy(small(seed)).float()
        batch = [[*(chance.randrange(5, VOCABULARY) for _ in range(chance.randrange(9))), EOS] for _ in range(40)]
        together = begin_all(model, batch, config, forbidden=FORBIDDEN, batch_tokens=320)()
        alone = [search(model, [source], config, forbidden=FORBIDDEN)[0] for source in batch]
        for (best,), (other,) in zip(together, alone, strict=True):
            assert best.score == pytest.approx(other.score, abs=1e-4)
            swapped += best.ids != other.ids
    assert swapped <= 1  # of 120


def greedy(model: Transformer, source: list[int], limit: int) -> list[int]:
    ids = [BOS]
    while len(ids) <= limit and ids[-1] != EOS:
        log_probs = model.log_probs(torch.tensor([source]), torch.tensor([ids]))[0, -1].tolist()
        ids.append(max((i for i in range(VOCABULARY) if i not in FORBIDDEN), key=log_probs.__getitem__))
    return ids[1:]


@settings(deadline=None, max_examples=12)
@given(model=models, batch=st.lists(sources, min_size=1, max_size=3))
def test_a_beam_of_one_is_greedy_and_so_is_a_draw_from_the_single_best(model, batch):
    expected = [greedy(model, source, len(source) + 6) for source in batch]
    beam = search(model, batch, DecodeConfig(beam_size=1, max_extra=6), forbidden=FORBIDDEN)
    assert [list(best.row) for (best,) in beam] == expected
    draw = search(model, batch, DecodeConfig(sample=True, top_k=1, max_extra=6), forbidden=FORBIDDEN)
    assert_same(draw, beam)


@settings(deadline=None, max_examples=20)
@given(model=models, batch=st.lists(sources, min_size=1, max_size=3), config=beam_configs | sampling_configs)
def test_a_hypothesis_has_its_forced_score(model, batch, config):
    found = search(model, batch, config, forbidden=FORBIDDEN)
    pairs = [(source, hypothesis) for source, row in zip(batch, found, strict=True) for hypothesis in row]
    forced = score(model, [source for source, _ in pairs], [hypothesis.row for _, hypothesis in pairs], config)
    assert_same([forced], [[hypothesis for _, hypothesis in pairs]])


@settings(deadline=None, max_examples=20)
@given(model=models, source=sources, config=beam_configs)
def test_the_n_best_are_sorted_distinct_and_the_same_however_many_are_asked_for(model, source, config):
    (every,) = search(model, [source], config, forbidden=FORBIDDEN)
    scores = [hypothesis.score for hypothesis in every]
    assert scores == sorted(scores, reverse=True)
    assert len({hypothesis.row for hypothesis in every}) == len(every) == config.beam_size
    for top_beams in range(1, config.beam_size):
        fewer = config.model_copy(update={"top_beams": top_beams})
        assert search(model, [source], fewer, forbidden=FORBIDDEN)[0] == every[:top_beams]


@settings(deadline=None, max_examples=20)
@given(
    model=models,
    batch=st.lists(st.tuples(sources, st.lists(st.integers(5, VOCABULARY - 1), max_size=4)), min_size=1, max_size=3),
    config=beam_configs | sampling_configs,
)
def test_a_prefix_is_obeyed_and_counts_in_the_score(model, batch, config):
    rows, prefixes = [source for source, _ in batch], [prefix for _, prefix in batch]
    found = search(model, rows, config, forbidden=FORBIDDEN, prefixes=prefixes)
    for source, prefix, hypotheses in zip(rows, prefixes, found, strict=True):
        assert all(list(hypothesis.ids[: len(prefix)]) == prefix for hypothesis in hypotheses)
        forced = score(model, [source] * len(hypotheses), [hypothesis.row for hypothesis in hypotheses], config)
        assert_same([hypotheses], [forced])


@settings(deadline=None, max_examples=15)
@given(model=models, source=sources, length=st.integers(0, 5))
def test_a_prefix_that_greedy_search_would_choose_changes_nothing(model, source, length):
    config = DecodeConfig(beam_size=1, max_extra=6)
    free = search(model, [source], config, forbidden=FORBIDDEN)
    prefixed = search(model, [source], config, forbidden=FORBIDDEN, prefixes=[free[0][0].ids[:length]])
    assert_same(prefixed, free)


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 11),
    batch=st.lists(sources, min_size=1, max_size=3),
    max_extra=st.integers(0, 12),
    max_positions=st.integers(7, 10),
    sample=st.booleans(),
)
def test_no_translation_passes_its_limit_or_contains_a_forbidden_id(seed, batch, max_extra, max_positions, sample):
    model = small(seed, "learned", max_positions)  # one position more, and the model itself would refuse
    config = DecodeConfig(sample=sample, beam_size=3, top_beams=3, max_extra=max_extra)
    found = search(model, batch, config, forbidden=FORBIDDEN, max_positions=model.max_positions)
    for source, hypotheses in zip(batch, found, strict=True):
        limit = min(len(source) + max_extra, max_positions)
        for hypothesis in hypotheses:
            assert not {EOS, *FORBIDDEN} & set(hypothesis.ids)
            assert len(hypothesis.row) == len(hypothesis.log_probs)
            assert len(hypothesis.row) <= limit
            assert hypothesis.finished or len(hypothesis.row) == limit


@given(lengths=st.lists(st.integers(1, 50)), batch_tokens=st.integers(1, 200))
def test_batches_hold_every_index_once_and_keep_to_their_budget(lengths, batch_tokens):
    made = batches(lengths, batch_tokens)
    assert sorted(index for batch in made for index in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= batch_tokens
