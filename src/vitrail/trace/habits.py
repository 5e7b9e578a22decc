"""What each head and each hidden unit of a model usually does, measured over many sentences and kept with the model.

runs/x/habits.json has, for each target language (the key is "" if the model has no choice):

    {"sentences": 500,
     "heads": {"encoder.0.self_attention": {"even": {"previous": 0.11, …}, "heads": [{"habit": "previous", …}, …]}},
     "units": {"encoder.0": {"fires", "peak", "tokens", "names"}}}

`evaluate/habits.py` measures it and explains the habits. The fields are explained at their classes here.
A trace's `habits` is the object of its target language.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from vitrail.documents import Document, Positive
from vitrail.errors import TraceError
from vitrail.folder import WEIGHTS, ModelFolder, read_manifest
from vitrail.storage import read_text, write_text
from vitrail.trace.format import Array, decode_array

if TYPE_CHECKING:
    from vitrail.config import ModelConfig

HABITS = "habits.json"
FORMAT = 1
SPREAD_HABIT, MIXED_HABIT = "spread", "mixed"  # of a head whose weight is on nothing in particular

Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(max_length=100)]


class HeadHabit(Document):
    """One head: the share of its weight, averaged over queries, that each habit accounts for, and the main habit."""

    habit: Name  # one of `shares`, or "spread" or "mixed"
    share: Share  # of its habit; of "spread", how even the weights are; of "mixed", the largest of `shares`
    low: Share  # the 95 % interval of `share`, by resampling the sentences
    high: Share
    sure: Share  # in how many of the resampled sets of sentences the head has this habit
    shares: dict[Name, Share]
    evenness: Share  # the entropy of its weights, as a share of the largest one possible


class AttentionHabits(Document):
    """The heads of one attention. `even`: the shares of a head that spreads its weight evenly."""

    even: dict[Name, Share]
    heads: list[HeadHabit]


class UnitHabits(Document):
    """The hidden units of one layer's feed-forward network, as arrays in a trace's encoding."""

    fires: dict[str, Any]  # [F]: the share of tokens at which the unit's value is above 0
    peak: dict[str, Any]  # [F]: its largest value
    tokens: dict[
        str, Any
    ]  # [F, n]: the tokens with its largest values, strongest first, as places in `names`; -1: none
    names: list[Name]


class Habits(Document):
    """The habits of a model when it translates into one language."""

    sentences: Positive
    heads: dict[Name, AttentionHabits]
    units: dict[Name, UnitHabits]


class _File(Document):
    """The contents of habits.json."""

    format: int
    weights: list[str]  # the checksums of the weights it belongs to
    languages: dict[str, Habits]


def read_habits(folder: ModelFolder) -> dict[str, Habits]:
    """The habits of a model, by target language; empty if there are none, or if they belong to another model."""
    try:
        found = _File.parse(read_text(folder.path / HABITS))
        if found.format > FORMAT or found.weights != _weights(folder):
            return {}
        for habits in found.languages.values():
            _check(habits, folder.config.model)
    except (OSError, ValueError, TraceError):
        return {}  # the page can do without them
    return found.languages


def write_habits(folder: ModelFolder, habits: dict[str, Habits]) -> Path:
    """Keep the habits of a model beside it."""
    path = folder.path / HABITS
    write_text(path, _File(format=FORMAT, weights=_weights(folder), languages=habits).model_dump_json() + "\n")
    return path


def _weights(folder: ModelFolder) -> list[str]:
    return read_manifest(folder.path).get(WEIGHTS, [])


def _check(habits: Habits, config: ModelConfig) -> None:
    """Raise a ValueError if these are the habits of a model of another shape."""
    for attention in habits.heads.values():
        if len(attention.heads) != config.heads:
            raise ValueError("another number of heads")
    for units in habits.units.values():
        fires_F, peak_F = _array(units.fires), _array(units.peak)
        tokens = _array(units.tokens)
        if fires_F.shape != (config.d_ff,) or peak_F.shape != (config.d_ff,):
            raise ValueError("another number of hidden units")
        if tokens.ndim != 2 or len(tokens) != config.d_ff or (tokens.size and tokens.max() >= len(units.names)):
            raise ValueError("tokens without a name")


def _array(encoded: dict[str, Any]) -> Array:
    if encoded.keys() != {"shape", "data"}:
        raise ValueError("not an array")
    return decode_array(encoded, HABITS)
