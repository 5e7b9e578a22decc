"""Every kind of position against plain implementations of their papers."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.model.alibi import AlibiDotProduct, slopes
from vitrail.model.attention import KeysValues
from vitrail.model.relative import RelativeDotProduct
from vitrail.model.rotary import RotaryDotProduct
from vitrail.model.sinusoids import (
    GrowingTable,
    concatenated_sinusoids,
    halved_sinusoids,
    interleaved_sinusoids,
)
from vitrail.model.taps import NO_TAP, Tap

pytestmark = pytest.mark.usefixtures("true_suffixes")

widths = st.integers(2, 20).map(lambda half: 2 * half)
positions = st.integers(0, 700)


@settings(deadline=None, max_examples=25)
@given(d_model=widths, position=positions)
def test_the_papers_table(d_model: int, position: int) -> None:
    row = interleaved_sinusoids(d_model, position + 1)[position].tolist()
    for i in range(d_model // 2):
        angle = position / math.pow(10000, 2 * i / d_model)
        assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-9)
        assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(d_model=widths, position=positions)
def test_tensor2tensors_table(d_model: int, position: int) -> None:
    row = concatenated_sinusoids(d_model, position + 1)[position].tolist()
    timescales = d_model // 2
    increment = math.log(10000) / (timescales - 1)
    for i in range(timescales):
        angle = position * math.exp(-i * increment)
        assert row[i] == pytest.approx(math.sin(angle), abs=1e-9)
        assert row[timescales + i] == pytest.approx(math.cos(angle), abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(d_model=widths, position=positions)
def test_marians_table_is_the_papers_with_its_columns_in_another_order(d_model: int, position: int) -> None:
    paper, marian = interleaved_sinusoids(d_model, position + 1), halved_sinusoids(d_model, position + 1)
    torch.testing.assert_close(marian, torch.cat([paper[:, 0::2], paper[:, 1::2]], dim=1))


@settings(deadline=None, max_examples=25)
@given(first=st.integers(0, 300), count=st.integers(1, 100), asked=st.lists(st.integers(1, 500), max_size=4))
def test_a_growing_table_has_the_same_rows_whatever_was_asked_before(first: int, count: int, asked: list[int]) -> None:
    table = GrowingTable(partial(interleaved_sinusoids, 12))
    like = torch.zeros(1)
    for length in asked:
        table.rows(0, length, like=like)
    expected = interleaved_sinusoids(12, first + count)[first:].float()
    assert torch.equal(table.rows(first, count, like=like), expected)


def turn(dot_product: RotaryDotProduct, x_BHTK: Tensor, first: int) -> Tensor:
    return dot_product.place(x_BHTK, first=first, tap=NO_TAP, name="q_rotated")


@settings(deadline=None, max_examples=25)
@given(q_at=positions, k_at=positions, shift=st.integers(0, 400), seed=st.integers(0, 99))
def test_a_rotary_score_depends_only_on_the_distance(q_at: int, k_at: int, shift: int, seed: int) -> None:
    torch.manual_seed(seed)
    dot_product = RotaryDotProduct(8, dropout=0.0)
    q, k = torch.randn(1, 1, 1, 8, dtype=torch.float64), torch.randn(1, 1, 1, 8, dtype=torch.float64)
    here = turn(dot_product, q, q_at) @ turn(dot_product, k, k_at).mT
    there = turn(dot_product, q, q_at + shift) @ turn(dot_product, k, k_at + shift).mT
    torch.testing.assert_close(here, there)


def test_a_rotation_is_a_product_of_complex_numbers() -> None:
    torch.manual_seed(4)
    x = torch.randn(2, 3, 50, 8, dtype=torch.float64)
    numbers = torch.complex(x[..., :4], x[..., 4:])
    frequency = torch.tensor([10000 ** (-2 * i / 8) for i in range(4)], dtype=torch.float64)
    turned = numbers * torch.exp(1j * torch.arange(50)[:, None] * frequency)
    torch.testing.assert_close(
        turn(RotaryDotProduct(8, dropout=0.0), x, 0), torch.cat([turned.real, turned.imag], dim=-1)
    )


@settings(deadline=None, max_examples=25)
@given(queries=st.integers(1, 6), earlier=st.integers(0, 6), max_distance=st.integers(1, 8), seed=st.integers(0, 99))
def test_relative_positions_are_shaws(queries: int, earlier: int, max_distance: int, seed: int) -> None:
    torch.manual_seed(seed)
    keys, heads, d_k = queries + earlier, 2, 5
    dot_product = RelativeDotProduct(d_k, max_distance).requires_grad_(False)
    q, k, v = torch.randn(1, heads, queries, d_k), torch.randn(1, heads, keys, d_k), torch.randn(1, heads, keys, d_k)
    visible = torch.ones(queries, keys, dtype=torch.bool).tril(earlier)

    z = torch.zeros_like(q)
    for h in range(heads):
        for i in range(queries):
            seen = [j for j in range(keys) if visible[i, j]]
            row = [max(-max_distance, min(max_distance, j - (i + earlier))) + max_distance for j in seen]
            scores = [
                float(q[0, h, i] @ (k[0, h, j] + dot_product.key_RK[r])) / d_k**0.5
                for j, r in zip(seen, row, strict=True)
            ]
            total = sum(math.exp(score) for score in scores)
            for score, j, r in zip(scores, seen, row, strict=True):
                z[0, h, i] += math.exp(score) / total * (v[0, h, j] + dot_product.value_RK[r])

    torch.testing.assert_close(dot_product(q, KeysValues(k, v), visible[None, None]), z)


def test_the_parts_of_a_relative_score_are_told_apart() -> None:
    torch.manual_seed(5)
    q, k, v = torch.randn(2, 4, 3, 6), torch.randn(2, 2, 3, 6), torch.randn(2, 2, 3, 6)
    heard: dict[str, Tensor] = {}
    RelativeDotProduct(6, 2)(q, KeysValues(k, v), None, tap=Tap(heard.__setitem__))
    torch.testing.assert_close(heard["scores_content"], q @ k.repeat_interleave(2, dim=1).mT)
    torch.testing.assert_close(heard["scores"], heard["scores_content"] + heard["scores_position"])
    torch.testing.assert_close(heard["scaled"], heard["scores"] / 6**0.5)
    torch.testing.assert_close(heard["z"], heard["z_content"] + heard["z_position"])


def authors_slopes(heads: int) -> list[float]:
    """As the paper's authors compute them in their code."""

    def of_a_power(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return of_a_power(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return of_a_power(closest) + authors_slopes(2 * closest)[0::2][: heads - closest]


@pytest.mark.parametrize("heads", range(1, 40))
def test_alibis_slopes_are_those_of_its_authors(heads: int) -> None:
    assert slopes(heads) == pytest.approx(authors_slopes(heads), rel=1e-12)


def test_alibis_slopes_of_eight_heads_are_the_papers() -> None:
    assert slopes(8) == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


@settings(deadline=None, max_examples=40)
@given(
    queries=st.integers(1, 6),
    earlier=st.integers(0, 6),
    shared=st.sampled_from([(4, 4), (4, 2), (6, 1), (3, 3)]),
    sees=st.sampled_from(["everything", "words", "the past"]),
    tapped=st.booleans(),
    seed=st.integers(0, 99),
)
def test_alibi_is_torchs_attention_with_a_bias(
    queries: int, earlier: int, shared: tuple[int, int], sees: str, tapped: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    (heads, kv_heads), keys, d_k = shared, queries + earlier, 5
    q, k, v = (torch.randn(2, *shape, d_k) for shape in ((heads, queries), (kv_heads, keys), (kv_heads, keys)))
    visible = {
        "everything": None,
        "words": (torch.arange(keys) < torch.tensor([[keys], [keys // 2 + 1]]))[:, None, None],
        "the past": torch.ones(1, 1, queries, keys, dtype=torch.bool).tril(earlier),
    }[sees]

    added = torch.zeros(2, heads, queries, keys)
    for h, slope in enumerate(authors_slopes(heads)):
        for i in range(queries):
            for j in range(keys):
                added[:, h, i, j] = -slope * abs(j - (i + earlier))
    if visible is not None:
        added = torch.where(visible, added, -math.inf)
    expected = F.scaled_dot_product_attention(q, k, v, added, enable_gqa=True)

    tap = Tap(lambda _name, _value: None) if tapped else NO_TAP
    found = AlibiDotProduct(heads)(q, KeysValues(k, v), visible, tap=tap)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_the_parts_of_a_biased_score_are_told_apart() -> None:
    torch.manual_seed(6)
    q, k, v = torch.randn(2, 4, 3, 6), torch.randn(2, 2, 3, 6), torch.randn(2, 2, 3, 6)
    heard: dict[str, Tensor] = {}
    visible = torch.ones(1, 1, 3, 3, dtype=torch.bool).tril()
    AlibiDotProduct(4)(q, KeysValues(k, v), visible, tap=Tap(heard.__setitem__))
    torch.testing.assert_close(heard["scores"], q @ k.repeat_interleave(2, dim=1).mT)
    assert heard["distance_bias"][0, 1].tolist() == [[0, -1 / 16, -1 / 8], [-1 / 16, 0, -1 / 16], [-1 / 8, -1 / 16, 0]]
    unhidden = heard["scores"] / 6**0.5 + heard["distance_bias"]
    torch.testing.assert_close(heard["scaled"], unhidden.masked_fill(~visible, -math.inf))


@settings(deadline=None, max_examples=25)
@given(length=st.integers(1, 8), before=st.integers(0, 9), seed=st.integers(0, 99))
def test_alibi_knows_only_distances(length: int, before: int, seed: int) -> None:
    """A sentence further to the right, behind hidden words, gathers the same."""
    torch.manual_seed(seed)
    q, k, v = (torch.randn(1, 4, before + length, 5) for _ in "qkv")
    here = AlibiDotProduct(4)(q[:, :, before:], KeysValues(k[:, :, before:], v[:, :, before:]), None)
    visible = (torch.arange(before + length) >= before)[None, None, None]
    there = AlibiDotProduct(4)(q, KeysValues(k, v), visible)
    torch.testing.assert_close(there[:, :, before:], here, atol=1e-5, rtol=1e-5)
