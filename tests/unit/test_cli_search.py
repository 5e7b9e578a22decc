"""The search options of a command: they change the model's own settings, and none is silently ignored."""

import pytest

from vitrail.cli.search import search_settings
from vitrail.config import DecodeConfig
from vitrail.errors import DecodeError

SEARCHES, SAMPLES = DecodeConfig(beam_size=3), DecodeConfig(sample=True, top_k=7)


def test_options_that_are_not_given_keep_the_models_own_settings():
    assert search_settings(SEARCHES, {"beam_size": None, "top_k": None, "sample": None}) == SEARCHES
    assert search_settings(SEARCHES, {"beam_size": 5, "alpha": 0.0}) == DecodeConfig(beam_size=5, alpha=0.0)


@pytest.mark.parametrize(("name", "value"), [("temperature", 1.0), ("top_k", 0), ("top_p", 1.0), ("seed", 1)])
def test_options_for_sampling_need_sampling(name, value):
    with pytest.raises(DecodeError, match=f"--{name.replace('_', '-')} has no effect without --sample"):
        search_settings(SEARCHES, {name: value})
    assert search_settings(SEARCHES, {name: value, "sample": True}).sample
    assert search_settings(SAMPLES, {name: value}).sample  # the model's own setting is enough


def test_sampling_has_no_beam():
    with pytest.raises(DecodeError, match="--beam-size has no effect when sampling") as raised:
        search_settings(SEARCHES, {"beam_size": 4, "sample": True})
    assert raised.value.fix == "remove --beam-size, or remove --sample"
    with pytest.raises(DecodeError, match="--beam-size has no effect when sampling") as raised:
        search_settings(SAMPLES, {"beam_size": 4})
    assert raised.value.fix == "remove --beam-size, because the model's own settings sample"
