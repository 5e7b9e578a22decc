"""The tables of kinds: a name in a table is a setting's value, the parts of the program have the same names, and what a
table says of a kind is true of the part."""

import re
from pathlib import Path

import pytest
import torch

from vitrail.config import (
    ACTIVATIONS,
    NORMS,
    OPTIMIZERS,
    POSITIONS,
    PRESETS,
    SCHEDULES,
    TIES,
    VOCABULARIES,
    Config,
    ModelConfig,
    PositionKind,
    ScheduleKind,
    SettingError,
    TrainConfig,
    load_config,
    parse_config,
)
from vitrail.data.subword_dropout import SubwordDropout
from vitrail.errors import ConfigError, TextError
from vitrail.model import Tap, Transformer, add_norm, embedding, feed_forward, positions
from vitrail.text import TOKENIZER_KINDS, Tokenizers
from vitrail.train import optimizer, schedule

SOURCE = torch.tensor([[4, 9, 7, 5, 3], [8, 6, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 6, 7], [2, 8, 0, 0]])
RECIPE = Path(__file__).parents[2] / "recipes" / "recipe.toml"
TABLES = {
    "model.preset": PRESETS,
    "model.norm": NORMS,
    "model.positions": POSITIONS,
    "model.activation": ACTIVATIONS,
    "model.tie_embeddings": TIES,
    "data.vocabulary": VOCABULARIES,
    "train.optimizer": OPTIMIZERS,
    "train.schedule": SCHEDULES,
}


@pytest.mark.parametrize(("setting", "name"), [(setting, name) for setting, names in TABLES.items() for name in names])
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(setting, name):
    with pytest.raises(ConfigError) as caught:
        load_config(None, overrides=[f"{setting}={name}ss"])
    key = setting.partition(".")[2]
    assert caught.value.what.startswith(f"'{key}' is '{name}ss': input should be '{next(iter(TABLES[setting]))}'")
    assert all(repr(known) in caught.value.what for known in TABLES[setting])
    assert caught.value.where == f"--set {setting}={name}ss"
    assert caught.value.fix == f"did you mean '{name}'?"


@pytest.mark.parametrize("setting", TABLES)
@pytest.mark.parametrize("value", ["xyzzy", "3", "true", "[]", "{}"])
def test_what_is_no_name_at_all_is_refused_too(setting, value):
    with pytest.raises(ConfigError) as caught:
        load_config(None, overrides=[f"{setting}={value}"])
    assert caught.value.fix == "recipes/recipe.toml explains every key, with its default"


@pytest.mark.parametrize("setting", TABLES)
def test_the_commented_recipe_names_every_kind(setting):
    _, section, rest = RECIPE.read_text(encoding="utf-8").partition(f"[{setting.partition('.')[0]}]\n")
    explained = re.search(rf"^{setting.partition('.')[2]} = .*(\n +#.*)*", rest, re.MULTILINE)
    assert section and explained
    missing = [name for name in TABLES[setting] if not re.search(rf"(?<![\w-]){name}(?![\w-])", explained[0])]
    assert not missing


def test_the_parts_have_the_names_of_the_tables():
    assert schedule.SCHEDULES.keys() == SCHEDULES.keys()
    assert optimizer.OPTIMIZERS.keys() == OPTIMIZERS.keys()
    assert TOKENIZER_KINDS.keys() == VOCABULARIES.keys()
    assert tuple(feed_forward.ACTIVATIONS) == ACTIVATIONS
    assert tuple(add_norm.ORDERS) == NORMS
    assert embedding.TABLES.keys() == TIES.keys()
    assert positions.KINDS.keys() == POSITIONS.keys()


def test_every_norm_is_another_model(small_model):
    sums = {small_model(norm=norm)(SOURCE, TARGET).sum().item() for norm in NORMS}
    assert len(sums) == len(NORMS)


@pytest.mark.parametrize("kind", TIES.values(), ids=TIES)
def test_what_is_said_of_tied_embeddings_is_true_of_the_model(small_model, kind):
    def build() -> Transformer:
        return small_model(vocabulary=(20, 30), tie_embeddings=kind.name)

    if kind.needs_joint:
        with pytest.raises(ConfigError, match="cannot go with vocabularies of 20 and 30"):
            build()
    else:
        assert build().vocabulary == 30
    assert len({len(small_model(tie_embeddings=name).state_dict()) for name in TIES}) == len(TIES)


@pytest.mark.parametrize("kind", VOCABULARIES.values(), ids=VOCABULARIES)
def test_what_is_said_of_a_vocabulary_is_true_of_its_tokenizer(kind):
    texts = ["je suis étudiant", "merci"] * 3
    if kind.name == "marian":
        with pytest.raises(TextError, match="comes with an imported model"):
            TOKENIZER_KINDS[kind.name].learn(texts, 330, ())
        return
    tokenizers = Tokenizers.train(texts, texts, kind=kind.name, size=330, joint=True, languages=())
    assert kind.whole_words == bool(tokenizers.source.unknown("zut"))
    assert kind.whole_words == (len(tokenizers.source.encode("zut alors")) == 2)
    assert kind.has_merges == (kind.name == "bpe")  # of these algorithms, it alone merges
    if kind.has_merges:
        SubwordDropout(tokenizers, share=0.1, seed=1)
    else:
        with pytest.raises(ConfigError, match=f"kind '{kind.name}'"):
            SubwordDropout(tokenizers, share=0.1, seed=1)


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


def test_a_new_schedule_is_one_entry_in_each_of_two_tables(monkeypatch):
    monkeypatch.setitem(SCHEDULES, "linear", ScheduleKind("linear", ends_at_zero=True))
    monkeypatch.setitem(
        schedule.SCHEDULES,
        "linear",
        lambda config, d_model: lambda step: config.peak_rate * (1 - step / config.max_steps),
    )
    rate = schedule.make_schedule(TrainConfig(schedule="linear", peak_rate=0.01, max_steps=10), 64)
    assert [rate(step) for step in (5, 10)] == pytest.approx([0.005, 0.0])
    asked = ["train.schedule=linear", "train.peak_rate=0.01"]
    for change, said in (
        (["train.schedule=linear"], "schedule = 'linear' needs peak_rate"),
        ([*asked, "train.fall_steps=3"], "fall_steps cannot go with schedule = 'linear'"),
        ([*asked, "train.max_epochs=3"], "max_epochs cannot go with schedule = 'linear'"),
    ):
        with pytest.raises(ConfigError, match=said):
            load_config(None, overrides=change)
