"""Settings: presets, TOML in and out, and the errors for wrong settings."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrail.config import (
    PRESETS,
    Config,
    CorpusConfig,
    DecodeConfig,
    ModelConfig,
    change_settings,
    dump_config,
    load_config,
    parse_config,
)
from vitrail.errors import ConfigError, DecodeError


def refusal(*changes: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_config(None, overrides=changes)
    return caught.value


def test_defaults_are_the_base_model_of_the_paper():
    model = Config().model
    assert (model.d_model, model.heads, model.d_k, model.d_ff) == (512, 8, 64, 2048)
    assert (model.encoder_layers, model.decoder_layers, model.dropout, model.norm) == (6, 6, 0.1, "post")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_fills_in_what_is_not_given(preset):
    model = ModelConfig(preset=preset, d_ff=99)
    assert model.d_ff == 99
    assert model.d_model == PRESETS[preset]["d_model"]
    assert model.kv_heads == model.heads
    assert model.d_k * model.heads == model.d_model


@given(
    heads=st.sampled_from([1, 2, 4, 8]),
    norm=st.sampled_from(["pre", "post"]),
    seed=st.integers(0, 2**40),
    source=st.text(min_size=1).filter(lambda text: text.isprintable()),
)
def test_settings_survive_being_written_and_read(heads, norm, seed, source):
    table = {
        "model": {"heads": heads, "norm": norm},
        "train": {"seed": seed},
        "data": {"corpora": [{"source": source, "target": "b"}]},
    }
    config = parse_config(table, where="here")
    assert parse_config(tomllib.loads(dump_config(config, version="1")), where="there") == config


def test_an_unknown_key_is_named_with_the_nearest_known_one():
    error = refusal("model.num_head=3")
    assert error.what == "unknown key 'num_head'"
    assert error.where == "--set model.num_head=3"
    assert error.fix == "did you mean 'heads'?"


def test_an_unknown_key_of_a_corpus_is_named_too():
    assert refusal("data.corpora=[{sorce='a'}]").fix == "did you mean 'source'?"


def test_a_key_like_no_other_gets_the_list_of_known_ones():
    assert "d_model" in str(refusal("model.zzzzzz=3").fix)


def test_a_wrong_choice_is_answered_with_the_nearest_right_one():
    error = refusal("model.norm=posts")
    assert "'norm' is 'posts'" in error.what
    assert error.fix == "did you mean 'post'?"


def test_a_wrong_value_is_where_its_section_is(tmp_path):
    recipe = tmp_path / "recipe.toml"
    for text, section in (
        ("[model]\nheads = 3\n", "model"),
        ("[train]\nbatch_tokens = 0\n", "train.batch_tokens"),
        ("[[data.corpora]]\nsource = 'a'\n", "data.corpora.0"),
        ("[model]\nnorm = 'posts'\n", "model"),
        ("[decode]\npenalty = 'lengths'\n", "decode"),
    ):
        recipe.write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_config(recipe)
        assert caught.value.where == f"{recipe}, [{section}]"
        assert caught.value.fix


def test_what_and_fix_may_hold_any_character():
    error = refusal("data.source='a|b'")
    assert (error.what, error.fix) == ("there is 'source', but no 'target'", "give both files")
    assert refusal("train.batch_tokens='a|b'").what == "'batch_tokens' is 'a|b'"


@pytest.mark.parametrize(
    ("change", "nearest"),
    [("train.device=cud", "cuda"), ("decode.penalty=lenght", "length"), ("model.preset=tinny", "tiny")],
)
def test_every_choice_has_its_nearest(change, nearest):
    assert refusal(change).fix == f"did you mean '{nearest}'?"


def test_a_corpus_in_the_box_that_is_not_there_has_its_nearest_too():
    assert refusal("data.corpora=[{builtin='phrasebok'}]").fix == "did you mean 'phrasebook'?"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["model.heads=eight"], "integer"),
        (["model.heads=0"], "greater"),
        (["model.dropout=1.0"], "less than 1"),
        (["model.heads=3"], "do not divide d_model"),
        (["model.kv_heads=3"], "do not divide heads"),
        (["model.positions=rope", "model.d_k=3"], "rope"),
        (["model.d_model=15", "model.heads=3"], "sinusoidal"),
        (["model.d_model=2", "model.heads=1", "model.positions=sinusoidal-concat"], "sinusoidal-concat"),
        (["data.joint=false"], "tie_embeddings"),
        (["model.positions=learned", "data.max_length=511"], "max_positions"),
        (["data.source=a"], "no 'target'"),
        (["data.source=a", "data.target=b", "data.pairs=c.tsv"], "needs"),
        (["data.source=a", "data.target=b", "data.corpora=[{pairs='c.tsv'}]"], "both given"),
        (["data.corpora=[{pairs='c.tsv', source_language='fr'}]"], "one of its languages"),
        (["data.corpora=[{pairs='c.tsv', source_language='f>r', target_language='en'}]"], "pattern"),
        (["train.peak_rate=1.0"], "schedule = 'paper'"),
        (["train.schedule=cosine"], "needs peak_rate"),
        (["train.schedule=cosine", "train.peak_rate=0.001", "train.max_epochs=3"], "max_epochs cannot go with"),
        (["train.fall_steps=3", "train.max_epochs=3"], "max_epochs cannot go with fall_steps"),
        (["train.schedule=cosine", "train.peak_rate=0.001", "train.fall_steps=3"], "fall_steps cannot go with"),
        (["train.weight_decay=0.1"], "adamw"),
        (["train.r_drop=5.0", "model.dropout=0.0"], "train.r_drop = 5.0 cannot go with model.dropout"),
        (["train.r_drop=-1.0"], "'r_drop'"),
        (["train.r_drop_after=100"], "r_drop_after = 100 needs r_drop"),
        (["train.use=ema"], "use = 'ema' needs ema"),
        (["train.ema=1.0"], "'ema' is 1.0"),
        (["train.subword_dropout=0.1", "data.vocabulary=word"], "cannot go with data.vocabulary = 'word'"),
        (["train.subword_dropout=0.1", "data.vocabulary=unigram"], "cannot go with data.vocabulary = 'unigram'"),
        (["train.average=9"], "keep_checkpoints"),
        (["decode.top_beams=5"], "beam_size"),
        (["nonsense"], "cannot read the change"),
        (["a.b.c=1"], "cannot read the change"),
        (["train.warmup_steps=0"], "warmup_steps"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, said):
    assert said in str(refusal(*changes))


@pytest.mark.parametrize("kind", ["dropout", "attention_dropout", "activation_dropout"])
def test_any_dropout_makes_two_looks_worth_comparing(kind):
    assert load_config(None, overrides=["model.dropout=0.0", f"model.{kind}=0.1", "train.r_drop=5.0"]).train.r_drop == 5


def test_a_file_that_is_not_there_not_text_or_not_toml_is_said_to_be_so(tmp_path):
    missing, binary, broken = tmp_path / "missing.toml", tmp_path / "binary.toml", tmp_path / "broken.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    broken.write_text("[model\n")
    for path, said in (
        (missing, "no such file"),
        (binary, "not UTF-8"),
        (broken, "not TOML"),
        (tmp_path, "cannot read"),
    ):
        with pytest.raises(ConfigError, match=said) as caught:
            load_config(path)
        assert str(path) in str(caught.value.where)


def test_settings_written_before_a_key_existed_have_its_default():
    table = tomllib.loads(dump_config(Config(), version="1"))
    for key in ("attention_dropout", "activation_dropout"):
        del table["model"][key]
    assert parse_config(table, where="here") == Config()


def test_settings_of_a_newer_program_say_so():
    with pytest.raises(ConfigError, match="newer"):
        parse_config({"vitrail": {"format": 999, "version": "9.0"}}, where="here")


def test_changes_on_the_command_line_win_over_the_file(tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[train]\nseed = 1\nmax_steps = 7\n")
    config = load_config(recipe, overrides=["train.seed=2"])
    assert (config.train.seed, config.train.max_steps) == (2, 7)


RECIPE = Path(__file__).parents[2] / "recipes" / "recipe.toml"


def test_the_commented_recipe_names_every_setting():
    parts = re.split(r"^\[(\w+)\]$", RECIPE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert sections.keys() == Config.model_fields.keys()
    wanted = {section: list(field.annotation.model_fields) for section, field in Config.model_fields.items()}
    wanted["data"] += CorpusConfig.model_fields
    for section, keys in wanted.items():
        for key in keys:
            line = rf"^(# )?({key} = .|\[\[{section}\.{key}\]\])"
            assert re.search(line, sections[section], re.MULTILINE), f"{section}.{key} is not explained"


def test_the_commented_recipe_tells_the_defaults():
    told = tomllib.loads(RECIPE.read_text(encoding="utf-8"))
    for section, keys in told.items():
        for key, value in keys.items():
            if key not in {"preset", "source", "target", "validation_source", "validation_target"}:
                assert value == getattr(getattr(Config(), section), key), f"{section}.{key}"
    assert load_config(RECIPE).model.preset == told["model"]["preset"]


def test_a_change_that_is_wrong_is_where_it_was_typed(tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[train]\nseed = 1\n")
    for change in ("train.max_stepz=3", "train.max_steps=many", "train.batch_tokens=0", "train.use=lst"):
        with pytest.raises(ConfigError) as caught:
            load_config(recipe, overrides=[change])
        assert caught.value.where == f"--set {change}"


def test_only_an_average_needs_checkpoints_to_average():
    assert load_config(None, overrides=["train.keep_checkpoints=1", "train.use=last"]).train.keep_checkpoints == 1


def test_settings_of_a_search_are_refused_with_what_and_fix():
    with pytest.raises(DecodeError) as caught:
        change_settings(DecodeConfig(), {"top_beams": 5})
    assert caught.value.what == "top_beams = 5 cannot be more than beam_size = 4"
    assert caught.value.fix == "set beam_size to 5 or more"
    with pytest.raises(DecodeError) as caught:
        change_settings(DecodeConfig(), {"penalty": "none|x"})
    assert caught.value.what == "penalty = 'none|x': input should be 'length' or 'gnmt'"
    assert caught.value.fix == "the model's own value is 'length'"
    with pytest.raises(DecodeError) as caught:
        change_settings(DecodeConfig(), {"beam_sise": 3})
    assert caught.value.what == "unknown search setting 'beam_sise'"
    assert caught.value.fix == "did you mean 'beam_size'?"
    with pytest.raises(DecodeError) as caught:
        change_settings(DecodeConfig(), {"zzzz": 3})
    assert caught.value.fix.startswith("known: beam_size, ")
