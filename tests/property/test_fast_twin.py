"""The twin computes what the model computes: the loss and every gradient, for every option of the model."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fast_packing import LENGTHS, VOCABULARY, make_ids

from vitrail.config import ModelConfig
from vitrail.config.positions import POSITIONS
from vitrail.fast import Masks, Padded, Twin, linear, products
from vitrail.fast import twin as twin_module
from vitrail.fast.twin import LONGEST
from vitrail.model import Transformer, shifted
from vitrail.model.feed_forward import ACTIVATIONS
from vitrail.text import PAD
from vitrail.train.loss import smoothed_loss
from vitrail.train.objective import Objective

pytestmark = pytest.mark.usefixtures("true_suffixes")


@pytest.fixture(autouse=True)
def every_part_is_swapped(monkeypatch):
    """As on a processor on which numpy is faster, whatever the processor of this computer."""
    monkeypatch.setattr(twin_module, "has_openblas", lambda: True)
    monkeypatch.setattr(twin_module, "numpy_is_faster", lambda: True)


def make_model(**settings):
    torch.manual_seed(1)
    shape = {"d_model": 16, "heads": 4, "d_ff": 24, "encoder_layers": 2, "decoder_layers": 2, "max_distance": 3}
    model = Transformer(ModelConfig(**shape | {"dropout": 0.0} | settings), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():  # biases of 0 and gains of 1 would hide mistakes
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model.double().train()


def make_twin(model, **settings):
    return Twin(model, Masks(1), **{"one_core": True} | settings).train()


def gradients(model, loss):
    return torch.autograd.grad(loss, list(model.parameters()))


def assert_equal_gradients(model, found, wanted):
    for (name, _), one, other in zip(model.named_parameters(), found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-11, msg=name)


OPTIONS = [
    *({"positions": name} for name in POSITIONS),
    *({"activation": name} for name in ACTIVATIONS),
    {"norm": "pre"},
    {"kv_heads": 2},
    {"kv_heads": 1, "norm": "pre"},
    {"d_k": 7, "heads": 3, "kv_heads": 3},
    {"bias": False},
    {"output_bias": True, "embedding_scale": False},
    {"tie_embeddings": "target"},
    {"tie_embeddings": "none", "output_bias": True},
    {"encoder_layers": 1, "decoder_layers": 3},
]


@pytest.mark.parametrize("one_core", [True, False])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@settings(deadline=None, max_examples=4)
@given(lengths=LENGTHS)
def test_the_twin_has_the_loss_and_the_gradients_of_the_model(options, one_core, lengths):
    source_BS, target_BT = map(make_ids, zip(*lengths, strict=True))
    model = make_model(**options)
    wanted_loss = smoothed_loss(model(source_BS, shifted(target_BT)), target_BT, 0.1)
    loss = Objective(make_twin(model, one_core=one_core), smoothing=0.1)(source_BS, target_BT)
    torch.testing.assert_close(loss, wanted_loss, rtol=1e-9, atol=1e-12)
    assert_equal_gradients(model, gradients(model, loss), gradients(model, wanted_loss))


@settings(deadline=None, max_examples=4)
@given(lengths=LENGTHS, r_drop=st.floats(0.5, 5))
def test_two_looks_of_the_twin_have_the_gradients_of_the_models(lengths, r_drop):
    source_BS, target_BT = map(make_ids, zip(*lengths, strict=True))
    model = make_model()
    wanted = Objective(Padded(model), smoothing=0.1)(source_BS, target_BT, r_drop)
    found = Objective(make_twin(model), smoothing=0.1)(source_BS, target_BT, r_drop)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    assert_equal_gradients(model, gradients(model, found), gradients(model, wanted))


@settings(deadline=None, max_examples=15)
@given(lengths=LENGTHS)
def test_packing_never_changes_a_vector(lengths):
    source_BS, target_BT = map(make_ids, zip(*lengths, strict=True))
    twin = make_twin(make_model())
    packed_LND, tokens_N = twin._packed(source_BS, target_BT, 1)
    hidden_BTD = twin.model.decode(shifted(target_BT), twin.model.encode(source_BS))
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    rows = [(row, at) for row in order for at in range(lengths[row][1])]
    assert tokens_N.tolist() == [target_BT[row, at].item() for row, at in rows]
    torch.testing.assert_close(packed_LND[0], torch.stack([hidden_BTD[row, at] for row, at in rows]))


def test_the_twin_shares_the_parameters_and_leaves_the_model_alone():
    model = make_model(dropout=0.3)
    modules = [type(module) for module in model.modules()]
    twin = make_twin(model)
    assert {id(parameter) for parameter in twin.parameters()} == {id(parameter) for parameter in model.parameters()}
    assert twin.model.state_dict().keys() == model.state_dict().keys()
    assert [type(module) for module in model.modules()] == modules


def test_two_looks_differ_by_their_dropout():
    source_BS, target_BT = make_ids([5, 3, 5]), make_ids([4, 6, 4])
    hidden_LND, target_N = make_twin(make_model(dropout=0.3))(source_BS, target_BT, 2)
    assert hidden_LND.shape == (2, 14, 16) and target_N.shape == (14,)
    assert not torch.equal(hidden_LND[0], hidden_LND[1])


@pytest.mark.parametrize("options", [{}, {"positions": "rope"}, {"attention_dropout": 0.2}], ids=str)
def test_the_masks_follow_from_the_seed_and_from_nothing_else(options):
    ids = make_ids([5, 3, 5])
    twin = make_twin(make_model(**{"dropout": 0.3} | options))

    def run(seed):
        twin.masks.restart(seed)
        torch.rand(3)  # torch's own generator has no part in it
        return twin(ids, ids, 1)[0]

    assert torch.equal(run(5), run(5))
    assert not torch.equal(run(5), run(6))


def test_in_half_precision_the_twin_has_nearly_the_loss_of_the_model():
    source_BS, target_BT = make_ids([7, 3, 5, 7]), make_ids([4, 6, 4, 4])
    model = make_model().float()
    with torch.autocast("cpu", torch.bfloat16):
        wanted = Objective(Padded(model), smoothing=0.1)(source_BS, target_BT)
        found = Objective(make_twin(model, half_precision=True), smoothing=0.1)(source_BS, target_BT)
    assert found.item() == pytest.approx(wanted.item(), rel=2e-2)
    assert all(gradient.isfinite().all() for gradient in gradients(model, found))


def is_packed(twin, source_BS, target_BT, monkeypatch):
    asked = []
    with monkeypatch.context() as patch:
        patch.setattr(Twin, "_packed", lambda *_: asked.append("packed"))
        patch.setattr(twin_module, "through_padding", lambda *_: asked.append("padded"))
        twin(source_BS, target_BT, 1)
    return asked == ["packed"]


def test_sentences_are_packed_by_what_the_kind_of_position_and_the_settings_say(monkeypatch):
    ids = make_ids([3, 4])
    for name, kind in POSITIONS.items():
        assert is_packed(make_twin(make_model(positions=name)), ids, ids, monkeypatch) == kind.packs, name
    assert not is_packed(make_twin(make_model(attention_dropout=0.1)), ids, ids, monkeypatch)
    assert not is_packed(make_twin(make_model(), one_core=False), ids, ids, monkeypatch)


def test_long_sentences_and_empty_targets_are_not_packed(monkeypatch):
    twin, ids, nothing = make_twin(make_model()), make_ids([3, 4]), torch.full((2, 1), PAD)
    assert is_packed(twin, make_ids([LONGEST]), ids[:1], monkeypatch)
    assert not is_packed(twin, make_ids([LONGEST + 1]), ids[:1], monkeypatch)
    assert not is_packed(twin, ids[:1], make_ids([LONGEST + 1]), monkeypatch)
    assert not is_packed(twin, ids, nothing, monkeypatch)


def test_numpy_multiplies_on_one_core_alone(monkeypatch):
    ids, asked = make_ids([3, 4]), []
    monkeypatch.setattr(linear, "multiply", lambda *of, out: (asked.append(of), products.multiply(*of, out=out))[1])
    make_twin(make_model(), one_core=False)(ids, ids, 1)
    make_twin(make_model(), half_precision=True)(ids, ids, 1)
    assert not asked
    make_twin(make_model())(ids, ids, 1)
    assert asked


@pytest.mark.parametrize(
    ("cpuinfo", "intel"),
    [
        ("processor\t: 0\nvendor_id\t: GenuineIntel\n\nvendor_id\t: other\n", True),
        ("processor\t: 0\nvendor_id\t: AuthenticAMD\n", False),
        ("CPU implementer\t: 0x41\n", True),
        (None, True),
    ],
)
def test_a_processor_that_does_not_say_who_made_it_counts_as_intels(tmp_path, monkeypatch, cpuinfo, intel):
    if cpuinfo is not None:
        (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr(products, "_CPUINFO", tmp_path / "cpuinfo")
    assert products.is_intel() == intel
