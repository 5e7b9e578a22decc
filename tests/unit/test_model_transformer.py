"""The whole model: its size, its initial weights, its errors, its state."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vitrail.config import POSITIONS, ModelConfig
from vitrail.errors import ConfigError
from vitrail.model import Tap, Transformer, shifted
from vitrail.text.special import BOS

Build = Callable[..., Transformer]
SOURCE = torch.tensor([[4, 9, 7, 5, 3], [8, 6, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 6, 7], [2, 8, 0, 0]])


def test_the_base_model_has_the_papers_size() -> None:
    with torch.device("meta"):
        model = Transformer(ModelConfig(), 37000, 37000)
    embeddings = sum(parameter.numel() for parameter in model.embeddings.parameters())
    assert embeddings == 37000 * 512
    assert sum(parameter.numel() for parameter in model.parameters()) - embeddings == 44_138_496


def test_it_begins_as_the_paper_says() -> None:
    torch.manual_seed(1)
    model = Transformer(ModelConfig(preset="tiny", output_bias=True), 500, 500)
    heard: dict[str, Tensor] = {}
    model.eval().log_probs(SOURCE, TARGET, tap=Tap(heard.__setitem__))
    assert heard["source.embedding"].std().item() == pytest.approx(1, rel=0.1)  # N(0, 1/d_model), scaled by √d_model
    assert heard["logits"].std().item() == pytest.approx(1, rel=0.2)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any(), name
        elif parameter.ndim == 2 and not name.startswith("embeddings"):
            bound = (6 / sum(parameter.shape)) ** 0.5  # Xavier-uniform
            assert 0.95 * bound < parameter.abs().max() <= bound, name


def test_the_embedding_scale_can_be_left_out(small_model: Build) -> None:
    heard: dict[str, dict[bool, Tensor]] = {}
    for scaled in (True, False):
        small_model(embedding_scale=scaled)(
            SOURCE,
            TARGET,
            tap=Tap(lambda name, value, scaled=scaled: heard.setdefault(name, {}).update({scaled: value})),
        )
    embedding = heard["source.embedding"]
    torch.testing.assert_close(embedding[True], embedding[False] * 24**0.5)


@pytest.mark.parametrize(("scaled", "size"), [(True, 1.0), (False, 64**-0.5)])
def test_learned_positions_begin_as_large_as_the_embeddings(scaled: bool, size: float) -> None:
    torch.manual_seed(1)
    config = ModelConfig(preset="tiny", d_model=64, positions="learned", max_positions=300, embedding_scale=scaled)
    heard: dict[str, Tensor] = {}
    Transformer(config, 500, 500).eval()(SOURCE.repeat(1, 50), TARGET, tap=Tap(heard.__setitem__))
    for name in ("source.embedding", "source.position"):
        assert heard[name].std().item() == pytest.approx(size, rel=0.2), name


@pytest.mark.parametrize(
    ("tie", "names"),
    [("all", {"shared"}), ("target", {"source", "target"}), ("none", {"source", "target", "output"})],
)
def test_a_shared_table_is_stored_once(small_model: Build, tie: str, names: set[str]) -> None:
    state = small_model(tie_embeddings=tie).state_dict()
    assert {name.removeprefix("embeddings.") for name in state if name.startswith("embeddings.")} == names
    places = [tensor.data_ptr() for tensor in state.values()]
    assert len(places) == len(set(places))


def test_two_vocabularies_cannot_share_one_table(small_model: Build) -> None:
    with pytest.raises(ConfigError, match="tie_embeddings = 'all' cannot go with vocabularies of 20 and 30") as raised:
        small_model(vocabulary=(20, 30))
    assert raised.value.fix is not None
    for tie in ("target", "none"):
        assert small_model(vocabulary=(20, 30), tie_embeddings=tie)(SOURCE, TARGET).shape == (2, 4, 30)


def test_learned_positions_end_and_say_so(small_model: Build) -> None:
    model = small_model(positions="learned", max_positions=4)
    assert model.max_positions == 4
    with pytest.raises(ConfigError, match="5 tokens is longer than the 4 positions") as raised:
        model(SOURCE, TARGET)
    assert raised.value.where == "[model] max_positions"
    cache = model.start(SOURCE[:, :4])
    for position in range(4):
        model.step(TARGET[:, position : position + 1], cache)
    with pytest.raises(ConfigError, match="5 tokens is longer than the 4 positions"):
        model.step(TARGET[:, :1], cache)


@pytest.mark.parametrize("positions", [name for name, kind in POSITIONS.items() if not kind.has_limit])
def test_the_other_positions_have_no_end_and_no_table_to_save(small_model: Build, positions: str) -> None:
    model = small_model(positions=positions)
    assert model.max_positions is None
    names = set(model.state_dict())
    long = torch.randint(4, 31, (1, 700))
    assert model(long, long).isfinite().all()
    assert set(model.state_dict()) == names
    assert not list(model.buffers())


@pytest.mark.parametrize("positions", ["sinusoidal", "rope"])
def test_a_table_first_made_in_inference_mode_can_be_trained_with(small_model: Build, positions: str) -> None:
    model = small_model(positions=positions)
    with torch.inference_mode():
        model(SOURCE, TARGET)
    model(SOURCE, TARGET).sum().backward()


@pytest.mark.parametrize("positions", POSITIONS)
def test_it_runs_in_other_precisions(small_model: Build, positions: str) -> None:
    model = small_model(positions=positions)
    expected = model.log_probs(SOURCE, TARGET)
    double = copy.deepcopy(model).double().log_probs(SOURCE, TARGET)
    torch.testing.assert_close(double, expected, atol=1e-4, rtol=1e-4)
    rough = copy.deepcopy(model).bfloat16()
    assert rough.log_probs(SOURCE, TARGET).dtype == torch.float32
    assert rough.step(TARGET[:, :1], rough.start(SOURCE)).dtype == torch.float32


def test_a_copy_and_a_pickled_copy_are_the_same_model(small_model: Build) -> None:
    for positions in POSITIONS:
        model = small_model(positions=positions)
        expected = model(SOURCE, TARGET)
        assert torch.equal(copy.deepcopy(model)(SOURCE, TARGET), expected)
        assert torch.equal(pickle.loads(pickle.dumps(model))(SOURCE, TARGET), expected)


def test_dropout_is_where_the_paper_has_it_and_nowhere_else(small_model: Build) -> None:
    model = small_model(dropout=0.5)
    places = [name for name, module in model.named_modules() if isinstance(module, nn.Dropout) and module.p]
    layers = [f"encoder.layers.{n}.add_norm_{i}.dropout" for n in (0, 1) for i in (1, 2)]
    layers += [f"decoder.layers.{n}.add_norm_{i}.dropout" for n in (0, 1) for i in (1, 2, 3)]
    assert sorted(places) == sorted(["dropout", *layers])
    heard: dict[str, Tensor] = {}
    model.train()(SOURCE, TARGET, tap=Tap(heard.__setitem__))
    added = heard["encoder.0.add_norm_2.sum"] - heard["encoder.0.add_norm_1.output"]
    kept = added.abs() > 1e-6
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(added[kept], 2 * heard["encoder.0.feed_forward.output"][kept], atol=1e-5, rtol=1e-5)
    assert torch.equal(model.eval()(SOURCE, TARGET), model(SOURCE, TARGET))


def test_a_search_over_a_model_in_training_is_our_mistake(small_model: Build) -> None:
    with pytest.raises(AssertionError, match="eval"):
        small_model().train().start(SOURCE)


def test_the_decoder_reads_the_target_one_place_behind_bos() -> None:
    target = torch.randint(4, 31, (3, 5))
    moved = shifted(target)
    assert moved.shape == target.shape and moved.dtype == target.dtype
    assert (moved[:, 0] == BOS).all() and torch.equal(moved[:, 1:], target[:, :-1])


def test_suffixes_tell_the_truth_about_every_size(small_model: Build, true_suffixes: Any) -> None:
    """All sizes of this model differ, so that no suffix can be right by chance."""
    true_suffixes.sizes = {"D": 24, "F": 40, "H": 4, "G": 2, "K": 10, "V": 31, "R": 7}
    source, target = torch.randint(4, 31, (3, 9)), torch.randint(4, 31, (3, 8))
    for positions in POSITIONS:
        model = small_model(positions=positions, kv_heads=2)
        model.log_probs(source, target, tap=Tap(lambda _name, _value: None)).sum().backward()
    assert {
        "q_BHTK",
        "k_BGSK",
        "scores_BHTS",
        "hidden_BTF",
        "logits_BTV",
        "x_BSD",
        "source_BS",
    } <= true_suffixes.checked
    assert not true_suffixes.found
    true_suffixes.sizes = {}


def test_a_lying_suffix_is_caught(true_suffixes: Any) -> None:
    assert true_suffixes.lies({"x_BTD": torch.zeros(2, 3)}) == ["x_BTD has shape (2, 3)"]
    assert true_suffixes.lies({"x_BT": torch.zeros(2, 3), "y_TB": torch.zeros(2, 3)})
    assert true_suffixes.lies({"visible_B1": torch.zeros(2, 3)})
    assert not true_suffixes.lies({"x_BT": torch.zeros(2, 3), "y_BT": torch.zeros(1, 3), "rows": torch.zeros(9)})


def test_an_output_bias_is_added_to_the_logits(small_model: Build) -> None:
    model = small_model(output_bias=True).eval()
    assert model.output_bias is not None
    source, target = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 6]])
    bias = torch.linspace(-1, 1, model.vocabulary)
    with torch.no_grad():
        before = model.output_bias.zero_() + model.log_probs(source, target)
        assert before.size(-1) == model.vocabulary
        model.output_bias.copy_(bias)
    torch.testing.assert_close(model.log_probs(source, target).detach(), (before + bias).log_softmax(-1))
    assert small_model(output_bias=False).output_bias is None


def test_words_of_both_sides_are_scaled(small_model: Build) -> None:
    model, ids = small_model().eval(), torch.tensor([[4, 5, 3]])
    embeddings, scale = model.embeddings, model.config.d_model**0.5
    torch.testing.assert_close(embeddings.embed_source(ids), embeddings.source_table_VD()[ids] * scale)
    torch.testing.assert_close(embeddings.embed_target(ids), embeddings.target_table_VD()[ids] * scale)
