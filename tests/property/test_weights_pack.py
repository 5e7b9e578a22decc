"""Weights in fewer bits: the error is bounded, and names round-trip."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.errors import FolderError
from vitrail.weights import SCALE, pack, unpack

sizes = st.integers(1, 9)
seeds = st.integers(0, 2**31)
magnitudes = st.sampled_from([0.0, 1e-44, 1e-30, 1e-4, 1.0, 300.0, 1e30])


def weights(rows, columns, seed, magnitude):
    """A matrix with a row of zeros among rows of different sizes, and a vector."""
    torch.manual_seed(seed)
    matrix = torch.randn(rows, columns) * torch.logspace(-3, 0, rows).unsqueeze(1) * magnitude
    matrix[seed % rows] *= seed % 2
    return {"layer.weight": matrix, "layer.bias": torch.randn(rows) * magnitude}


@settings(deadline=None)
@given(rows=sizes, columns=sizes, seed=seeds, magnitude=magnitudes)
def test_int8_is_off_by_half_a_step_of_its_row_at_most(rows, columns, seed, magnitude):
    before = weights(rows, columns, seed, magnitude)
    packed = pack(before, "int8")
    after = unpack(packed, where="here")
    assert packed["layer.weight"].dtype == torch.int8 and packed["layer.weight"].min() >= -127
    half_a_step = packed["layer.weight" + SCALE].double().unsqueeze(1) / 2
    error = (after["layer.weight"].double() - before["layer.weight"].double()).abs()
    assert (error <= half_a_step * 1.0001).all()  # the quotient and the product are rounded to float32 too
    torch.testing.assert_close(after["layer.bias"], before["layer.bias"], rtol=0, atol=0)
    assert after.keys() == before.keys()


@settings(deadline=None)
@given(rows=sizes, columns=sizes, seed=seeds, magnitude=st.sampled_from([0.0, 1e-4, 1.0, 300.0]))
def test_float16_is_each_number_rounded_to_half_precision(rows, columns, seed, magnitude):
    before = weights(rows, columns, seed, magnitude)
    after = unpack(pack(before, "float16"), where="here")
    assert {name: value.tolist() for name, value in after.items()} == {
        name: value.numpy().astype("float16").astype("float32").tolist() for name, value in before.items()
    }


@settings(deadline=None)
@given(rows=sizes, columns=sizes, seed=seeds, precision=st.sampled_from(["float32", "float16", "int8"]))
def test_packed_again_nothing_more_is_lost(rows, columns, seed, precision):
    once = unpack(pack(weights(rows, columns, seed, 1.0), precision), where="here")
    twice = unpack(pack(once, precision), where="here")
    for name, value in once.items():
        assert value.dtype == torch.float32
        torch.testing.assert_close(twice[name], value, rtol=1e-6, atol=0)


@pytest.mark.parametrize("number", [torch.inf, torch.nan])
@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_what_no_precision_can_hold_is_refused_by_name(number, precision):
    with pytest.raises(FolderError, match=r"'layer\.weight") as refusal:
        pack({"layer.weight": torch.tensor([[1.0, number]])}, precision)
    assert refusal.value.where and refusal.value.fix


def test_what_is_too_large_for_float16_is_refused_and_fits_into_int8():
    large = {"layer.weight": torch.tensor([[1e6, -1e6]])}
    with pytest.raises(FolderError, match="float16"):
        pack(large, "float16")
    torch.testing.assert_close(unpack(pack(large, "int8"), where="here")["layer.weight"], large["layer.weight"])
