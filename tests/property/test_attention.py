"""Alignment and the coverage penalty: against the weights that a trace records, and against every translation."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import log

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vitrail.alignment import pharaoh
from vitrail.config import DecodeConfig, ModelConfig, change_settings
from vitrail.decode import batches, length_penalty, score
from vitrail.decode.attention import attention_all
from vitrail.decode.look import mean_of
from vitrail.errors import DecodeError
from vitrail.model import Transformer
from vitrail.model.looking import cross_attention
from vitrail.runtime import Job, Runtime
from vitrail.text import Subwords, tidy
from vitrail.text.places import word_places, words_of
from vitrail.text.special import BOS, EOS

FORBIDDEN = (0, 1, 2)
WORDS = (4, 5, 6)


@cache
def tiny(seed: int) -> Runtime:
    torch.manual_seed(seed)
    config = ModelConfig(
        d_model=16, heads=2, d_ff=24, encoder_layers=1, decoder_layers=2, tie_embeddings="none", output_bias=True
    )
    model = Transformer(config, 7, 7).eval().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return Runtime.of_model(model, threads=1)


sources = st.lists(st.sampled_from(WORDS), max_size=4).map(lambda ids: [*ids, EOS])
targets = st.lists(st.sampled_from(WORDS), max_size=5).map(lambda ids: [*ids, EOS])


def weights_of(model: Transformer, source: list[int], target: list[int]) -> np.ndarray:
    """The mean weights, one pair at a time, as T × S."""
    layers = cross_attention(model, torch.tensor([source]), torch.tensor([[BOS, *target[:-1]]]))
    return torch.stack(layers).mean((0, 2))[0].numpy()


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 5), pairs=st.lists(st.tuples(sources, targets), max_size=5), budget=st.integers(1, 40))
def test_what_was_looked_at_does_not_depend_on_neighbours(seed, pairs, budget):
    model = tiny(seed).model
    looks = [lambda *batch: cross_attention(model, *batch)]
    rows, wanted = [source for source, _ in pairs], [target for _, target in pairs]
    found = attention_all(looks, rows, wanted, "all", batch_tokens=budget)
    for source, target, weights_TS in zip(rows, wanted, found, strict=True):
        assert weights_TS.shape == (len(target), len(source))
        np.testing.assert_allclose(weights_TS.sum(1), 1)
        np.testing.assert_allclose(weights_TS, weights_of(model, source, target))


@settings(deadline=None)
@given(pairs=st.lists(st.tuples(sources, targets), max_size=8), budget=st.integers(1, 40))
def test_as_many_pairs_are_looked_at_together_as_the_budget_allows(pairs, budget):
    shapes = []

    def look(source_BS: torch.Tensor, target_BT: torch.Tensor, _: None) -> list[torch.Tensor]:
        shapes.append((target_BT.size(0), max(source_BS.size(1), target_BT.size(1))))
        return [torch.ones(target_BT.size(0), 1, target_BT.size(1), source_BS.size(1))]

    rows, wanted = [source for source, _ in pairs], [target for _, target in pairs]
    attention_all([look], rows, wanted, "all", batch_tokens=budget)
    made = batches([max(len(source), len(target)) for source, target in pairs], budget)
    assert shapes == [
        (len(batch), max(map(len, [*map(rows.__getitem__, batch), *map(wanted.__getitem__, batch)]))) for batch in made
    ]


def test_heads_are_chosen_by_layer_and_number():
    layers = [torch.rand(1, 2, 3, 4), torch.rand(1, 2, 3, 4)]
    every = torch.stack(layers)
    assert torch.equal(mean_of(layers, "0.1"), layers[0][:, 1])
    torch.testing.assert_close(mean_of(layers, "all"), every.mean((0, 2)))
    torch.testing.assert_close(mean_of(layers, "1"), layers[1].mean(1))
    torch.testing.assert_close(mean_of(layers, "0.0,1"), (layers[0][:, 0] + layers[1].sum(1)) / 3)
    for unknown in ("2", "0.2", "0,1.9"):
        with pytest.raises(DecodeError, match="has no head"):
            mean_of(layers, unknown)


def test_the_links_are_those_of_the_recorded_weights(small_translator):
    translator = small_translator(decode=DecodeConfig(max_extra=3, top_beams=2))
    for text in ("w1 w2 w3", "w4", "w5 w5 w6 w7 w1"):
        translation = translator.translate(text, to="fr", align=True)
        trace = translator.trace(text, to="fr")
        weights = [trace[f"decoder.{layer}.cross_attention.weights"] for layer in range(2)]
        mean_TS = np.mean(weights, axis=(0, 1))[: len(translation.tokens), 1:-1]  # without language symbol and <eos>
        assert translation.alignment == tuple((int(row.argmax()), place) for place, row in enumerate(mean_TS))
        assert [one.alignment for one in translation.alternatives] == translator.align(
            [text] * 2, [one.text for one in translation.alternatives], to="fr"
        )
        assert translation.to_dict()["alignment"] == pharaoh(translation.alignment)


def test_alignment_changes_no_translation_and_is_not_there_unless_asked_for(small_translator):
    translator, texts = small_translator(), ["w1 w2", "", "w3 w4 w5", "12"]
    plain = translator.translate(texts, to="en", on_unknown="skip")
    found = translator.translate(texts, to="en", on_unknown="skip", align=True)
    assert [one.text for one in found] == [one.text for one in plain]
    assert all(one.alignment is None and "alignment" not in one.to_dict() for one in plain)
    assert found[1].alignment == found[3].alignment == ()
    assert list(translator.stream(texts, to="en", align=True, chunk=1))[2].alignment == found[2].alignment


@cache
def subwords() -> Subwords:
    corpus = ["je suis étudiant et je lis des livres", "the animal didn't cross the street because it was too tired"]
    return Subwords.train(corpus * 5, "bpe", 320, ["en"])


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@example("a ▁ b")
@example("prix : 3\xa0€")
def test_every_piece_belongs_to_the_word_that_it_spells(text):
    ids = subwords().encode(text)
    places = word_places(subwords(), ids, text)
    if not tidy(text):
        assert places == []
        return
    spelled = [[number for number, place in zip(ids, places, strict=True) if place == word] for word in set(places)]
    assert [subwords().decode(one) for one in spelled] == words_of(text)


def plain_score(runtime: Runtime, source: list[int], row: tuple[int, ...], config: DecodeConfig) -> float:
    """The score as the docs define it."""
    (hypothesis,) = score(runtime.model, [source], [row], config)
    read = weights_of(runtime.model, source, list(row)).sum(0)[:-1]  # not `<eos>`
    penalty = sum(log(min(one, 1)) for one in read)
    return sum(hypothesis.log_probs) / length_penalty(len(row), config) + config.coverage * penalty


@settings(deadline=None, max_examples=12)
@given(
    seed=st.integers(0, 5),
    source=st.lists(st.sampled_from(WORDS), max_size=1).map(lambda ids: [*ids, EOS]),
    coverage=st.sampled_from([0.0, 0.2, 1.0, 5.0]),
    penalty=st.sampled_from(["length", "gnmt"]),
)
def test_a_beam_as_wide_as_the_space_finds_the_best_covering_translation(seed, source, coverage, penalty):
    runtime, limit = tiny(seed), len(source) + 1
    config = DecodeConfig(beam_size=100, top_beams=5, max_extra=1, coverage=coverage, penalty=penalty)
    rows = [(*ids, EOS) for length in range(limit) for ids in product(WORDS, repeat=length)]
    rows += product(WORDS, repeat=limit)
    wanted = sorted(((plain_score(runtime, source, row, config), row) for row in rows), reverse=True)[:5]
    (found,) = runtime.search(Job([source], config, FORBIDDEN))
    assert [one.row for one in found] == [row for _, row in wanted]
    assert [one.score for one in found] == pytest.approx([value for value, _ in wanted])
    for one in found:
        mean = sum(score(runtime.model, [source], [one.row], config)[0].log_probs) / len(one.row)
        assert one.mean_log_prob(config) == pytest.approx(mean)  # of which the penalty is no part


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 5), batch=st.lists(sources, min_size=1, max_size=4), beam_size=st.integers(1, 4))
def test_covering_translations_do_not_depend_on_neighbours(seed, batch, beam_size):
    config = DecodeConfig(beam_size=beam_size, top_beams=beam_size, max_extra=4, coverage=1.0)
    together = tiny(seed).search(Job(batch, config, FORBIDDEN))
    for source, found in zip(batch, together, strict=True):
        (alone,) = tiny(seed).search(Job([source], config, FORBIDDEN))
        assert [one.row for one in found] == [one.row for one in alone]
        assert [one.score for one in found] == pytest.approx([one.score for one in alone])


def test_without_a_choice_coverage_chooses_nothing_else():
    runtime, batch = tiny(3), [[4, 5, EOS], [6, EOS]]
    for options in ({"beam_size": 1}, {"sample": True}):
        plain = runtime.search(Job(batch, DecodeConfig(**options, max_extra=4), FORBIDDEN))
        found = runtime.search(Job(batch, DecodeConfig(**options, max_extra=4, coverage=1.0), FORBIDDEN))
        assert [[one.row for one in ones] for ones in found] == [[one.row for one in ones] for ones in plain]


@pytest.mark.parametrize("heads", ["", "all,1", "1.", "a", "1,,2", "-1", "1 "])
def test_malformed_heads_are_refused(heads):
    with pytest.raises(DecodeError, match="alignment_heads"):
        change_settings(DecodeConfig(), {"alignment_heads": heads})
