"""Ensembles: one model twice is that model, the mean is that of the probabilities, and sentences stay independent."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.config import DecodeConfig, ModelConfig
from vitrail.decode import score, search
from vitrail.decode.ensemble import Ensemble, ForcedEnsemble
from vitrail.errors import DecodeError, TextError
from vitrail.model import Transformer
from vitrail.runtime import Job, Runtime
from vitrail.text import Tokenizers, WordVocabulary
from vitrail.text.special import BOS, EOS
from vitrail.translator import Translator

VOCABULARY, FORBIDDEN = 12, (0, 1, 2)


def small(seed: int, **options) -> Transformer:
    torch.manual_seed(seed)
    config = ModelConfig(
        **{"d_model": 16, "heads": 2, "d_ff": 24, "encoder_layers": 1, "decoder_layers": 1, **options}, output_bias=True
    )
    model = Transformer(config, VOCABULARY, VOCABULARY).eval().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model


# Of different shapes: only the vocabulary is common.
MEMBERS = [small(0), small(1, d_model=24, decoder_layers=2), small(2, positions="learned", max_positions=20)]
sources = st.lists(st.integers(4, VOCABULARY - 1), max_size=6).map(lambda ids: [*ids, EOS])
batches = st.lists(sources, min_size=1, max_size=4)
configs = st.builds(
    lambda beam_size, sample: DecodeConfig(
        beam_size=beam_size, top_beams=1 if sample else beam_size, max_extra=5, sample=sample
    ),
    st.integers(1, 4),
    st.booleans(),
)


def rows(found):
    return [[one.row for one in ones] for ones in found]


@settings(deadline=None, max_examples=15)
@given(batch=batches, config=configs, times=st.integers(1, 3))
def test_a_model_with_itself_is_the_model(batch, config, times):
    alone = search(MEMBERS[0], batch, config, forbidden=FORBIDDEN)
    assert rows(search(Ensemble([MEMBERS[0]] * times), batch, config, forbidden=FORBIDDEN)) == rows(alone)


@settings(deadline=None, max_examples=15)
@given(batch=batches, config=configs)
def test_a_translation_does_not_depend_on_its_neighbours(batch, config):
    ensemble = Ensemble(MEMBERS)
    together = search(ensemble, batch, config, forbidden=FORBIDDEN, max_positions=20)
    alone = [search(ensemble, [source], config, forbidden=FORBIDDEN, max_positions=20)[0] for source in batch]
    assert rows(together) == rows(alone)


@settings(deadline=None, max_examples=15)
@given(source=sources, config=configs)
def test_the_score_is_that_of_the_mean_probability(source, config):
    for found in search(Ensemble(MEMBERS), [source], config, forbidden=FORBIDDEN)[0]:
        inputs = torch.tensor([[BOS, *found.row[:-1]]])
        chances = sum(member(torch.tensor([source]), inputs)[0].softmax(-1) for member in MEMBERS) / len(MEMBERS)
        wanted = [chances[place, token_id].log().item() for place, token_id in enumerate(found.row)]
        assert list(found.log_probs) == pytest.approx(wanted, abs=1e-5)
        (forced,) = score(ForcedEnsemble(MEMBERS), [source], [found.row], config)
        assert list(forced.log_probs) == pytest.approx(wanted, abs=1e-5)


def test_the_order_of_the_members_does_not_matter():
    batch, config = [[5, 6, EOS], [7, EOS]], DecodeConfig(max_extra=5, top_beams=4)
    first = search(Ensemble(MEMBERS), batch, config, forbidden=FORBIDDEN)
    assert rows(search(Ensemble(MEMBERS[::-1]), batch, config, forbidden=FORBIDDEN)) == rows(first)


def test_the_runtime_gives_an_ensemble_to_torch_and_keeps_to_the_least_number_of_positions():
    runtime = Runtime.of_model(MEMBERS[0], threads=1).with_others([Runtime.of_model(MEMBERS[2], threads=1)])
    assert runtime.position_limit == 20
    job = Job([[5] * 18 + [EOS]], DecodeConfig(max_extra=9), FORBIDDEN)
    assert runtime.engine_for(job).name == "torch"
    assert len(runtime.search(job)[0][0].row) <= 20


def test_a_translator_of_several_models(small_translator):
    one, other = small_translator(seed=1), small_translator(seed=2)
    both = one.with_others([other])
    assert both.translate("w1 w2", to="en").text == other.with_others([one]).translate("w1 w2", to="en").text
    both_ways = [translator.score("w1 w2", "w3 w4", to="en") for translator in (one, both, other)]
    assert min(both_ways[0], both_ways[2]) < both_ways[1]
    with pytest.raises(DecodeError, match="several models"):
        both.explain("w1 w2", to="en")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([f"w{number}" for number in range(24)], "one has 31 tokens, the other 30"),
        ([f"w{number}" for number in range(24)] + ["odd"], "token 30 is 'w24' in one and 'odd' in the other"),
    ],
)
def test_other_vocabularies_are_refused(small_translator, small_model, words, message):
    one, vocabulary = small_translator(), WordVocabulary(words, ["en", "fr"])
    model = small_model(vocabulary=(vocabulary.size, vocabulary.size))
    other = Translator(model, Tokenizers(vocabulary, vocabulary, ("en", "fr")), DecodeConfig())
    with pytest.raises(TextError, match=message):
        one.with_others([other])


def test_a_member_that_changes_is_noticed():
    one, other = (Runtime.of_model(copy.deepcopy(member), threads=1) for member in MEMBERS[:2])
    runtime, job = one.with_others([other]), Job([[5, 6, EOS]], DecodeConfig(max_extra=5), FORBIDDEN)
    before = runtime.search(job)[0][0].score
    with torch.no_grad():
        other.model.output_bias[7] += 3
    assert runtime.search(job)[0][0].score != before
