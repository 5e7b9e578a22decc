"""Every pair of options builds, trains, listens, decodes and saves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from vitrail.config import ACTIVATIONS, NORMS, POSITIONS, TIES
from vitrail.model import Tap, Transformer

Build = Callable[..., Transformer]
OPTIONS: dict[str, list[Any]] = {
    "positions": list(POSITIONS),
    "norm": list(NORMS),
    "kv_heads": [4, 2, 1],
    "d_k": [6, 10],  # d_model / heads, and not
    "activation": list(ACTIVATIONS),
    "bias": [True, False],
    "output_bias": [False, True],
    "embedding_scale": [True, False],
    "tie_embeddings": list(TIES),
    "encoder_layers": [1, 2],
    "decoder_layers": [1, 3],
    "dropout": [0.0, 0.3],
    "attention_dropout": [0.0, 0.2],
    "activation_dropout": [0.0, 0.2],
}
Pair = frozenset[tuple[str, Any]]


def pairs_of(choice: dict[str, Any]) -> set[Pair]:
    return {frozenset(pair) for pair in itertools.combinations(choice.items(), 2)}


def covering_choices() -> Iterator[dict[str, Any]]:
    """A small set of configurations in which every pair of option values occurs together."""
    missing = {
        frozenset([(one, a), (other, b)])
        for one, other in itertools.combinations(OPTIONS, 2)
        for a, b in itertools.product(OPTIONS[one], OPTIONS[other])
    }
    while missing:
        seed = min(missing, key=lambda pair: sorted(map(str, pair)))
        choice = dict(sorted(seed, key=str))
        for name, values in OPTIONS.items():
            if name not in choice:
                choice[name] = max(values, key=lambda value: len(pairs_of({**choice, name: value}) & missing))
        missing -= pairs_of(choice)
        yield choice


CHOICES = list(covering_choices())


@pytest.fixture(scope="module", params=CHOICES, ids=lambda choice: "-".join(map(str, choice.values())))
def model(request: pytest.FixtureRequest, small_model: Build, true_suffixes: object) -> Transformer:
    return small_model(**request.param)


@pytest.fixture
def rows() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    source, target = torch.randint(4, 31, (3, 7)), torch.randint(4, 31, (3, 6))
    source[1, 4:], target[1, 3:] = 0, 0
    return source, target


def test_every_pair_is_covered_by_few_choices() -> None:
    together = set().union(*map(pairs_of, CHOICES))
    for (one, a_values), (other, b_values) in itertools.combinations(OPTIONS.items(), 2):
        for a, b in itertools.product(a_values, b_values):
            assert frozenset([(one, a), (other, b)]) in together
    assert len(CHOICES) < 40


def test_it_trains(model: Transformer, rows: tuple[Tensor, Tensor]) -> None:
    model.train().zero_grad()
    logits = model(*rows)
    logits.log_softmax(-1)[:, :, 5].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        # A bias on the keys shifts all scores of a query equally, which softmax ignores.
        assert parameter.grad.any() or name.endswith("key.bias"), f"{name} learns nothing"
    model.eval()


def test_listening_changes_nothing(model: Transformer, rows: tuple[Tensor, Tensor]) -> None:
    tapped = model.log_probs(*rows, tap=Tap(lambda _name, _value: None))
    torch.testing.assert_close(tapped, model.log_probs(*rows), atol=1e-5, rtol=0)


def test_cached_steps_are_the_full_pass(model: Transformer, rows: tuple[Tensor, Tensor]) -> None:
    source, target = rows
    cache = model.start(source)
    steps = [model.step(ids[:, None].expand(-1, 2), cache) for ids in target.T]
    expected = model.log_probs(source, target)
    for hypothesis in (0, 1):
        cached = torch.stack([step[:, hypothesis] for step in steps], dim=1)
        torch.testing.assert_close(cached, expected, atol=1e-5, rtol=1e-5)


def test_its_state_is_all_of_it(model: Transformer, rows: tuple[Tensor, Tensor]) -> None:
    torch.manual_seed(99)
    other = Transformer(model.config, 31, 31).eval()
    assert not torch.equal(other(*rows), model(*rows))
    other.load_state_dict(model.state_dict(), strict=True)
    assert torch.equal(other(*rows), model(*rows))
