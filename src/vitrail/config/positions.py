"""The kinds of positions: what each one does, and what it cannot go with.

This is the one list of their names. `model/` computes each of them, under the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vitrail.config.checks import SettingError

if TYPE_CHECKING:
    from vitrail.config.sections import ModelConfig


def _needs_even_d_model(model: ModelConfig) -> None:
    if model.d_model % 2:
        raise SettingError(
            f"positions = '{model.positions}' cannot go with d_model = {model.d_model}",
            fix="sines and cosines come in pairs: choose an even d_model",
        )


def _needs_even_d_model_of_4(model: ModelConfig) -> None:
    _needs_even_d_model(model)
    if model.d_model < 4:
        raise SettingError(
            f"positions = '{model.positions}' cannot go with d_model = {model.d_model}",
            fix="its frequencies are spread over d_model/2 - 1 steps: choose d_model of 4 or more",
        )


def _needs_even_d_k(model: ModelConfig) -> None:
    if model.d_k % 2:
        raise SettingError(
            f"positions = '{model.positions}' cannot go with d_k = {model.d_k}",
            fix="a rotation turns pairs of numbers: choose an even d_k",
        )


def _goes_with_any_model(model: ModelConfig) -> None:
    pass


@dataclass(frozen=True)
class PositionKind:
    """What the rest of the program needs to know about one kind of position."""

    name: str
    added: bool = False  # True: vectors are added to the embeddings. False: it acts inside self-attention
    has_limit: bool = False  # there are `max_positions` positions and no more
    packs: bool = False  # sentences can be packed in training: attention is equation (1) and nothing else
    keeps_weights: bool = False  # training keeps the attention weights for the backward pass, which takes memory
    taps: tuple[str, ...] = ()  # what a listener hears in self-attention besides the usual names
    check: Callable[[ModelConfig], None] = _goes_with_any_model  # raises SettingError for a model it cannot go with


POSITIONS: dict[str, PositionKind] = {
    kind.name: kind
    for kind in (
        PositionKind("sinusoidal", added=True, packs=True, check=_needs_even_d_model),
        PositionKind("sinusoidal-concat", added=True, packs=True, check=_needs_even_d_model_of_4),
        PositionKind("sinusoidal-halves", added=True, packs=True, check=_needs_even_d_model),
        PositionKind("learned", added=True, packs=True, has_limit=True),
        PositionKind(
            "relative", keeps_weights=True, taps=("scores_content", "scores_position", "z_content", "z_position")
        ),
        PositionKind("rope", taps=("q_rotated", "k_rotated"), check=_needs_even_d_k),
        # Training keeps its bias, as many numbers as weights, but only once: the budget has room for that (a test).
        PositionKind("alibi", taps=("distance_bias",)),
    )
}
