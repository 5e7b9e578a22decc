"""The tables of kinds: a name in a table is a setting's value, and what the table says of it is true of the model."""

import pytest
import torch

from vitrail.config import POSITIONS, Config, ModelConfig, PositionKind, SettingError, load_config, parse_config
from vitrail.errors import ConfigError
from vitrail.model import Tap

SOURCE = torch.tensor([[4, 9, 7, 5, 3], [8, 6, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 6, 7], [2, 8, 0, 0]])


@pytest.mark.parametrize("kind", POSITIONS.values(), ids=POSITIONS)
def test_what_is_said_of_a_kind_of_position_is_true_of_the_model(small_model, kind):
    model, heard = small_model(positions=kind.name), set()
    model.log_probs(SOURCE, TARGET, tap=Tap(lambda name, value: heard.add(name)))
    assert kind.added == ({"source.position", "target.position"} <= heard)
    assert model.max_positions == model.config.position_limit == (64 if kind.has_limit else None)


def test_a_new_kind_of_position_is_one_entry(monkeypatch):
    def check(model: ModelConfig) -> None:
        if model.heads % 4:
            raise SettingError(f"positions = 'spiral' cannot go with heads = {model.heads}", fix="choose 4, 8, …")

    with pytest.raises(ConfigError, match="'positions' is 'spiral'"):
        load_config(None, overrides=["model.positions=spiral"])
    monkeypatch.setitem(POSITIONS, "spiral", PositionKind("spiral", has_limit=True, check=check))
    config = load_config(None, overrides=["model.positions=spiral"])
    assert config.model.position_limit == config.model.max_positions
    assert parse_config(config.model_dump(), where="here") == config != Config()
    for change, said in (("model.heads=2", "cannot go with heads = 2"), ("data.max_length=600", "max_positions = 512")):
        with pytest.raises(ConfigError, match=said):
            load_config(None, overrides=["model.positions=spiral", change])


@pytest.mark.parametrize("name", POSITIONS)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(name):
    with pytest.raises(ConfigError) as caught:
        load_config(None, overrides=[f"model.positions={name}s"])
    assert caught.value.what.startswith(f"'positions' is '{name}s': input should be 'sinusoidal', ")
    assert caught.value.fix == f"did you mean '{name}'?"
