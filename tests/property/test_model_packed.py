"""Packed sentences: what the model makes of them is what it makes of padded ones."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.config import ModelConfig
from vitrail.model import Packing, Transformer, numpy_multiplies
from vitrail.model.attention_by_numpy import SHORT
from vitrail.text import BOS, PAD
from vitrail.train.objective import Objective, shifted

pytestmark = pytest.mark.usefixtures("true_suffixes")

VOCABULARY = 40
LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12)


@pytest.fixture(autouse=True)
def numpy_everywhere(monkeypatch):
    monkeypatch.setattr("vitrail.model.multiply.has_openblas", lambda: True)
    monkeypatch.setattr("vitrail.model.multiply.is_faster", lambda: True)


def make_model(**settings):
    torch.manual_seed(1)
    config = ModelConfig(**{"d_model": 16, "heads": 4, "d_ff": 24, "encoder_layers": 2, "decoder_layers": 2} | settings)
    return Transformer(config, VOCABULARY, VOCABULARY).double().eval()


def make_ids(lengths, *, more_padding=0):
    """Rows of the given lengths, no two alike."""
    width = max(lengths) + more_padding
    ids = torch.randint(5, VOCABULARY, (len(lengths), width), generator=torch.Generator().manual_seed(len(lengths)))
    return ids.where(torch.arange(width) < torch.tensor(lengths)[:, None], PAD)


def gradients(objective, source_BS, target_BT, *, by_numpy):
    parameters = list(objective.model.parameters())
    with numpy_multiplies(by_numpy):
        assert objective.model.packs(source_BS, target_BT) == by_numpy
        loss = objective(source_BS, target_BT)
        return loss, torch.autograd.grad(loss, parameters)


@settings(deadline=None, max_examples=30)
@given(lengths=LENGTHS, more_padding=st.integers(0, 3), looks=st.integers(1, 2))
def test_every_token_is_packed_once_beside_its_neighbours(lengths, more_padding, looks):
    sources, targets = zip(*lengths, strict=True)
    source_BS = make_ids(sources, more_padding=more_padding)
    target_BT = make_ids(targets, more_padding=more_padding)
    packing = Packing(source_BS, target_BT, looks=looks)
    rows = sorted(range(len(lengths)), key=lambda row: lengths[row])
    for side, ids_BT, of in ((packing.source, source_BS, sources), (packing.target, target_BT, targets)):
        wanted = torch.cat([ids_BT[row, : of[row]] for row in rows])
        assert side.pack(ids_BT).tolist() == [wanted.tolist() * looks]
        assert side.position_N.tolist() == [at for row in rows for at in range(of[row])] * looks
        assert sum(run.sentences * run.queries for run in side.sight.runs) == looks * len(wanted)
    assert len(packing.across.runs) == looks * len(set(lengths))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("kv_heads", [4, 2])
@settings(deadline=None, max_examples=30)
@given(lengths=LENGTHS)
def test_packing_never_changes_the_result(positions, kv_heads, lengths):
    sources, targets = zip(*lengths, strict=True)
    source_BS, target_BT = make_ids(sources), make_ids(targets)
    model = make_model(positions=positions, kv_heads=kv_heads)
    packing = Packing(source_BS, target_BT)
    padded_BTD = model.decode(shifted(target_BT), model.encode(source_BS))
    packed_1ND = model.decode_packed(packing.source.pack(source_BS), packing.target.pack(shifted(target_BT)), packing)
    of_row_N = packing.target.pack(torch.arange(len(lengths))[:, None].expand_as(target_BT))[0]
    torch.testing.assert_close(packed_1ND[0], padded_BTD[of_row_N, packing.target.position_N], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("r_drop", [0.0, 1.5])
@pytest.mark.parametrize("norm", ["pre", "post"])
@settings(deadline=None, max_examples=30)
@given(lengths=LENGTHS)
def test_packed_sentences_have_the_gradient_of_padded_ones(norm, r_drop, lengths):
    sources, targets = zip(*lengths, strict=True)
    source_BS, target_BT = make_ids(sources), make_ids(targets)
    objective = Objective(make_model(norm=norm), smoothing=0.1, r_drop=r_drop).eval()  # no dropout: two equal looks
    loss, wanted = gradients(objective, source_BS, target_BT, by_numpy=False)
    packed, found = gradients(objective, source_BS, target_BT, by_numpy=True)
    torch.testing.assert_close(packed, loss, rtol=1e-9, atol=1e-12)
    for (name, _), one, other in zip(objective.model.named_parameters(), found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-11, msg=name)


def test_two_looks_at_packed_sentences_differ_by_their_dropout():
    source_BS, target_BT = make_ids([5, 3, 5]), make_ids([4, 6, 4])
    objective = Objective(make_model(dropout=0.3), smoothing=0.1).train()
    with numpy_multiplies():
        hidden_LND, target_N = objective._packed(source_BS, target_BT, 2)
    assert hidden_LND.shape == (2, 14, 16) and target_N.shape == (14,)
    assert not torch.equal(hidden_LND[0], hidden_LND[1])


def test_in_half_precision_packed_sentences_have_nearly_the_loss_of_padded_ones():
    source_BS, target_BT = make_ids([7, 3, 5, 7]), make_ids([4, 6, 4, 4])
    objective = Objective(make_model().float(), smoothing=0.1).eval()
    with torch.autocast("cpu", torch.bfloat16):
        loss, _ = gradients(objective, source_BS, target_BT, by_numpy=False)
        packed, _ = gradients(objective, source_BS, target_BT, by_numpy=True)
    assert packed.item() == pytest.approx(loss.item(), rel=2e-2)


@pytest.mark.parametrize(
    "settings", [{"attention_dropout": 0.1}, {"positions": "rope"}, {"positions": "relative", "max_distance": 4}]
)
def test_attention_that_does_more_than_look_is_not_packed(settings):
    ids = make_ids([3, 4])
    with numpy_multiplies():
        assert make_model().packs(ids, ids)
        assert not make_model(**settings).packs(ids, ids)


def test_long_sentences_and_empty_targets_are_not_packed():
    model, ids, nothing = make_model(), make_ids([3, 4]), torch.full((2, 1), PAD)
    with numpy_multiplies():
        assert model.packs(make_ids([SHORT]), ids[:1])
        assert not model.packs(make_ids([SHORT + 1]), ids[:1])
        assert not model.packs(ids[:1], make_ids([SHORT + 1]))
        assert not model.packs(ids, nothing)
    assert not model.packs(ids, ids)  # nobody asked numpy


def test_the_decoder_input_of_a_packed_target_begins_with_bos_and_has_no_end():
    target_BT = make_ids([3, 1, 4])
    packing = Packing(target_BT, target_BT)
    packed = packing.target.pack(shifted(target_BT))[0].tolist()
    rows = [[BOS, *row[: length - 1]] for length, row in sorted((int((r != PAD).sum()), r.tolist()) for r in target_BT)]
    assert packed == [one for row in rows for one in row]
