"""Who sees whom: the past never changes with the future, and padding never changes anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.config import POSITIONS
from vitrail.model import NO_TAP, Tap, Transformer

pytestmark = pytest.mark.usefixtures("true_suffixes")

Build = Callable[..., Transformer]
kinds = st.sampled_from(list(POSITIONS))
norms = st.sampled_from(["post", "pre"])
taps = st.sampled_from([NO_TAP, Tap(lambda _name, _value: None)])
lengths = st.integers(1, 9)


def words(rows: int, length: int) -> torch.Tensor:
    return torch.randint(4, 31, (rows, length))


@settings(deadline=None, max_examples=25)
@given(positions=kinds, norm=norms, tap=taps, length=st.integers(2, 9), data=st.data())
def test_the_past_never_changes_with_the_future(
    small_model: Build, positions: str, norm: str, tap: Tap, length: int, data: st.DataObject
) -> None:
    model = small_model(positions=positions, norm=norm, encoder_layers=1)
    source, target = words(2, 5), words(2, length)
    cut = data.draw(st.integers(1, length - 1))
    other = torch.cat([target[:, :cut], words(2, length - cut)], dim=1)
    before, after = model(source, target, tap=tap), model(source, other, tap=tap)
    torch.testing.assert_close(before[:, :cut], after[:, :cut])
    torch.testing.assert_close(before[:, :cut], model(source, target[:, :cut], tap=tap))


@settings(deadline=None, max_examples=25)
@given(positions=kinds, norm=norms, tap=taps, source_length=lengths, target_length=lengths, padding=st.integers(0, 5))
def test_padding_never_changes_the_result(
    small_model: Build, positions: str, norm: str, tap: Tap, source_length: int, target_length: int, padding: int
) -> None:
    model = small_model(positions=positions, norm=norm, kv_heads=2)
    source, target = words(2, source_length), words(2, target_length)
    pad = torch.zeros(2, padding, dtype=torch.long)
    bare = model(source, target, tap=tap)
    padded = model(torch.cat([source, pad], dim=1), torch.cat([target, pad], dim=1), tap=tap)
    torch.testing.assert_close(padded[:, :target_length], bare, atol=1e-5, rtol=1e-5)


@settings(deadline=None, max_examples=25)
@given(positions=kinds, sizes=st.lists(st.tuples(lengths, lengths), min_size=1, max_size=4))
def test_a_batch_is_its_sentences_one_by_one(small_model: Build, positions: str, sizes: list[tuple[int, int]]) -> None:
    model = small_model(positions=positions)
    pairs = [(words(1, s), words(1, t)) for s, t in sizes]
    source = torch.zeros(len(sizes), max(s for s, _ in sizes), dtype=torch.long)
    target = torch.zeros(len(sizes), max(t for _, t in sizes), dtype=torch.long)
    for row, (one_source, one_target) in enumerate(pairs):
        source[row, : one_source.size(1)], target[row, : one_target.size(1)] = one_source, one_target
    together = model.log_probs(source, target)
    for row, (one_source, one_target) in enumerate(pairs):
        alone = model.log_probs(one_source, one_target)[0]
        torch.testing.assert_close(together[row, : len(alone)], alone, atol=1e-5, rtol=1e-5)


@settings(deadline=None, max_examples=25)
@given(positions=kinds, norm=norms, tap=taps, empty_side=st.sampled_from(["source", "target", "both"]))
def test_a_fully_padded_row_gives_no_nan_and_leaves_its_neighbours_alone(
    small_model: Build, positions: str, norm: str, tap: Tap, empty_side: str
) -> None:
    model = small_model(positions=positions, norm=norm, kv_heads=1)
    source, target = words(2, 5), words(2, 4)
    alone = model(source[:1], target[:1], tap=tap)
    if empty_side != "target":
        source[1] = 0
    if empty_side != "source":
        target[1] = 0
    logits = model(source, target, tap=tap)
    assert logits.isfinite().all()
    torch.testing.assert_close(logits[:1], alone, atol=1e-5, rtol=1e-5)
    logits[0].square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
    assert model.step(target[:, :1], model.start(source)).isfinite().all()
