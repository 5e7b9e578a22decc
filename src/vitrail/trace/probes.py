"""Probe sentences: what a model puts out for a few sentences, again and again, while it is trained.

runs/x/probes.jsonl, one JSON object a line. The first says what is asked, each other line what came of it at a step:

    {"probes": 1, "label_smoothing": 0.1,
     "sentences": [{"source": {"text", "ids", "tokens"}, "reference": {"text", "ids", "tokens"} | null, "to"}]}
    {"step": 0, "sentences": [{"translation", "ids", "tokens", "columns", "log_probs", "rest", "attention"}]}

`translation`, `ids` and `tokens` are what greedy search gives. Then the model is led through the reference (where there
is none, through that translation): `log_probs` [T, C] are its predictions at each of the T positions, for the ids in
`columns`, or for the whole vocabulary where `columns` is null; `rest` [T] is the logarithm of the probability that all
other ids have together (null where there are none). `attention` [T, S] is the last decoder layer's encoder-decoder
attention, the mean over its heads. Arrays are as in a trace: {"shape", "data"}, base64 of float32.

A trace's `probes` is the same in one object, {"sentences", "label_smoothing", "records": [...]}, with fewer columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitrail.errors import TraceError
from vitrail.trace.format import Array, Document, decode_array, encode_array
from vitrail.trace.lines import read_lines

PROBES = "probes.jsonl"
FORMAT = 1
MOST_PROBABLE = 30  # ids of a sentence in a trace, and the reference's own
MOST_RECORDS = 40  # in a trace


def read_probes(folder: Path) -> Document | None:
    """What a run's probes said, in the form that a trace holds; None where there are none, or none can be read."""
    path = folder / PROBES
    try:
        status = path.stat()
    except OSError:
        return None
    return _read(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, _size: int, _time: int) -> Document | None:
    """Read once for as long as the file stays as it is."""
    try:
        lines = read_lines(path)
        if not lines or lines[0].get("probes") != FORMAT:
            return None
        header, records = lines[0], spread(lines[1:], MOST_RECORDS)
        count = len(header["sentences"])
        fewer = [
            _fewer_columns(header["sentences"][n], [each["sentences"][n] for each in records]) for n in range(count)
        ]
        return {
            "sentences": header["sentences"],
            "label_smoothing": header["label_smoothing"],
            "records": [
                {"step": record["step"], "sentences": [fewer[n][number] for n in range(count)]}
                for number, record in enumerate(records)
            ],
        }
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, TraceError):
        return None  # a translation can be shown without them


def spread(items: Sequence[Any], count: int) -> list[Any]:
    """At most `count` of the items, the first and the last among them."""
    if len(items) <= count:
        return list(items)
    return [items[round(number * (len(items) - 1) / (count - 1))] for number in range(count)]


def _fewer_columns(asked: Document, said: Sequence[Document]) -> list[Document]:
    """The records of one sentence with only its reference's ids and those that were most probable at any time."""
    held = [_Predictions.of(record) for record in said]
    best: dict[int, float] = {}
    for one in held:
        for token_id, value in zip(one.columns, one.log_probs_TC.max(axis=0).tolist(), strict=True):
            best[token_id] = max(value, best.get(token_id, -np.inf))
    chosen = set(sorted(best, key=lambda token_id: (-best[token_id], token_id))[:MOST_PROBABLE])
    chosen.update(asked["reference"]["ids"] if asked["reference"] is not None else said[-1]["ids"] if said else ())
    return [{**record, **one.only(chosen)} for record, one in zip(said, held, strict=True)]


@dataclass(frozen=True)
class _Predictions:
    """The log-probabilities of one record, by id."""

    columns: list[int]
    log_probs_TC: Array
    rest_T: Array | None

    @classmethod
    def of(cls, record: Document) -> _Predictions:
        log_probs_TC = decode_array(record["log_probs"], PROBES)
        columns = record["columns"]
        rest = record["rest"]
        return cls(
            list(range(log_probs_TC.shape[1])) if columns is None else columns,
            log_probs_TC,
            None if rest is None else decode_array(rest, PROBES),
        )

    def only(self, chosen: set[int]) -> Document:
        """The same with fewer columns, and what the others had added to the rest."""
        keep = [place for place, token_id in enumerate(self.columns) if token_id in chosen]
        if len(keep) == len(self.columns):
            return {}
        others_TC = np.delete(self.log_probs_TC, keep, axis=1)
        if self.rest_T is not None:
            others_TC = np.concatenate([others_TC, self.rest_T[:, None]], axis=1)
        return {
            "columns": [self.columns[place] for place in keep],
            "log_probs": encode_array(self.log_probs_TC[:, keep]),
            "rest": encode_array(log_sum(others_TC)),
        }


def log_sum(log_probs_TC: Array) -> Array:
    """The logarithm of the sum of probabilities at each position, in double precision."""
    largest_T1 = np.maximum(log_probs_TC.max(axis=1, keepdims=True), -1e30)  # of nothing but -inf, -inf
    with np.errstate(divide="ignore"):
        sums_T: NDArray[np.float64] = (
            np.log(np.exp(log_probs_TC.astype(np.float64) - largest_T1).sum(axis=1)) + largest_T1[:, 0]
        )
    return sums_T.astype(np.float32)
