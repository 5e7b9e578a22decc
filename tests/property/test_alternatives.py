"""What else could stand here: against every possible translation of tiny models, and one by one."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import exp

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.alternatives import possible_at
from vitrail.config import DecodeConfig, ModelConfig
from vitrail.decode import score
from vitrail.errors import DecodeError
from vitrail.model import Transformer
from vitrail.runtime import Job, Runtime
from vitrail.text.special import BOS, EOS

FORBIDDEN = (0, 1, 2)
WORDS = (4, 5, 6)
EVERYTHING = DecodeConfig(beam_size=200, max_extra=2)  # a beam as wide as the space of translations


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


def every_translation(limit: int) -> list[tuple[int, ...]]:
    """Rows of all translations: with EOS at the end, or cut at the limit."""
    whole = [(*ids, EOS) for length in range(limit) for ids in product(WORDS, repeat=length)]
    return [*whole, *product(WORDS, repeat=limit)]


sources = st.lists(st.sampled_from(WORDS), max_size=2).map(lambda ids: [*ids, EOS])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 5), source=sources, at=st.integers(0, 3), count=st.integers(1, 9))
def test_each_option_leads_to_the_best_translation_that_has_it_there(seed, source, at, count):
    runtime, rows = tiny(seed), every_translation(len(source) + EVERYTHING.max_extra)
    scored = {one.row: one.score for one in score(runtime.model, [source] * len(rows), rows, EVERYTHING)}
    best = max(rows, key=scored.__getitem__)
    at = min(at, len(best) - 1)
    (found,) = possible_at(runtime, Job([source], EVERYTHING, FORBIDDEN), [best], at, count)

    log_probs = runtime.model.log_probs(torch.tensor([source]), torch.tensor([[BOS, *best[:at]]]))[0, -1].tolist()
    likely = sorted((EOS, *WORDS), key=lambda token_id: -log_probs[token_id])[:count]
    assert [one.token_id for one in found] == likely
    for one in found:
        assert one.probability == pytest.approx(exp(log_probs[one.token_id]))
        alike = [row for row in rows if row[: at + 1] == (*best[:at], one.token_id)]
        assert one.best.row == max(alike, key=scored.__getitem__)
        assert one.best.score == pytest.approx(scored[one.best.row])
    if best[at] in likely:
        assert next(one for one in found if one.token_id == best[at]).best.row == best


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 5), batch=st.lists(sources, min_size=1, max_size=4), beam_size=st.integers(1, 3))
def test_sentences_do_not_influence_each_other(seed, batch, beam_size):
    runtime, config = tiny(seed), DecodeConfig(beam_size=beam_size, max_extra=4)
    given = [best.row for (best,) in runtime.search(Job(batch, config, FORBIDDEN))]
    together = possible_at(runtime, Job(batch, config, FORBIDDEN), given, 0, 4)
    for source, row, found in zip(batch, given, together, strict=True):
        (alone,) = possible_at(runtime, Job([source], config, FORBIDDEN), [row], 0, 4)
        assert [(one.token_id, one.best.row) for one in found] == [(one.token_id, one.best.row) for one in alone]
        assert [one.probability for one in found] == pytest.approx([one.probability for one in alone])


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 5), source=sources, at=st.integers(0, 5))
def test_greedy_search_goes_on_from_its_own_token_as_before(seed, source, at):
    runtime, config = tiny(seed), DecodeConfig(beam_size=1, max_extra=4)
    ((best,),) = runtime.search(Job([source], config, FORBIDDEN))
    at = min(at, len(best.row) - 1)
    ((first, *_),) = possible_at(runtime, Job([source], config, FORBIDDEN), [best.row], at, 1)
    assert (first.token_id, first.best.row) == (best.row[at], best.row)


def test_a_translator_names_the_tokens(small_translator):
    translator = small_translator()
    translation = translator.translate("w1 w2 w3", to="en")
    both = translator.alternatives(["w1 w2 w3", "w4"], at=0, count=3, to="en")
    alone = translator.alternatives("w1 w2 w3", at=0, count=3, to="en")
    assert [option.text for option in both[0].options] == [option.text for option in alone.options]
    assert (both[0].text, both[0].tokens) == (translation.text, translation.tokens)
    assert [option.tokens[0] for option in both[0].options] == [option.token for option in both[0].options]
    assert both[0].to_dict()["options"][1]["text"] == both[0].options[1].text
    own = translator.alternatives("w1", at=2, to="en", translation="w7 w8")
    assert own.tokens == ("w7", "w8")
    assert own.options[0].text.startswith("w7 w8")  # behind the last word


@pytest.mark.parametrize("at", [-1, 4])
def test_a_position_beyond_the_end_is_refused(at):
    with pytest.raises(DecodeError, match="has 4 tokens, its end included") as raised:
        possible_at(tiny(0), Job([[5, EOS]], DecodeConfig(), FORBIDDEN), [(4, 5, 6, EOS)], at, 3)
    assert "from 1 to 4" in raised.value.fix
