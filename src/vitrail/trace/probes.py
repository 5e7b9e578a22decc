"""Probe sentences: a few sentences that a run translates again and again while it trains.

runs/x/probes.jsonl has one JSON object per line. The first lists the sentences; every other line records one step:

    {"probes": 1, "label_smoothing": 0.1,
     "sentences": [{"source": {"text", "ids", "tokens"}, "reference": {"text", "ids", "tokens"} | null, "to"}]}
    {"step": 0, "sentences": [{"translation", "ids", "tokens", "columns", "log_probs", "rest", "attention"}]}

`translation`, `ids` and `tokens` come from greedy search. The decoder is then fed the reference, or that translation if
there is no reference. `log_probs` [T, C] are its predictions at the T positions, for the ids in `columns`, or for the
whole vocabulary if `columns` is null. `rest` [T] is the log of the total probability of all other ids (null if there
are none). `attention` [T, S] is the encoder-decoder attention of the last decoder layer, averaged over its heads.
Arrays are encoded as in a trace: {"shape", "data"}, base64 of float32.

A trace's `probes` is the same as one object, {"sentences", "label_smoothing", "records": [...]}, with fewer columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vitrail.errors import TraceError
from vitrail.trace.format import Array, Document, decode_array, encode_array
from vitrail.trace.lines import read_spread

PROBES = "probes.jsonl"
FORMAT = 1
MOST_PROBABLE = 30  # ids per sentence that a trace keeps, besides the reference's own
MOST_RECORDS = 40  # that a trace keeps


def read_probes(folder: Path) -> Document | None:
    """Read a run's probes in the form that a trace holds. None if the file is missing or malformed."""
    path = folder / PROBES
    try:
        status = path.stat()
    except OSError:
        return None
    return _read(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, _size: int, _time: int) -> Document | None:
    """Read the file; size and time key the cache, so that an unchanged file is read once."""
    try:
        header, *records = read_spread(path, MOST_RECORDS)
        if header.get("probes") != FORMAT:
            return None
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
        return None  # the page can do without them


def _fewer_columns(asked: Document, said: Sequence[Document]) -> list[Document]:
    """Reduce a sentence's records to the ids of its reference and those that were ever the most probable."""
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
        if log_probs_TC.ndim != 2 or not log_probs_TC.size:
            raise ValueError("the predictions are not a table")
        columns = record["columns"]
        rest = record["rest"]
        return cls(
            list(range(log_probs_TC.shape[1])) if columns is None else columns,
            log_probs_TC,
            None if rest is None else decode_array(rest, PROBES),
        )

    def only(self, chosen: set[int]) -> Document:
        """The chosen columns; the probability of the others moves into the rest."""
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
    """The log of the total probability at each position, computed in double precision."""
    largest_T1 = np.maximum(log_probs_TC.max(axis=1, keepdims=True), -1e30)  # avoids -inf - -inf
    with np.errstate(divide="ignore"):
        sums_T: NDArray[np.float64] = (
            np.log(np.exp(log_probs_TC.astype(np.float64) - largest_T1).sum(axis=1)) + largest_T1[:, 0]
        )
    return sums_T.astype(np.float32)
