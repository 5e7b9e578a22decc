"""How sure a translation is: the probability that it is good, from the mean log-probability of its tokens.

A curve is fitted for each target language on validation data (`evaluate/calibration.py`) and kept in the model's
folder. Without one, the confidence is the mean probability of the tokens (their geometric mean).
"""

from __future__ import annotations

import hashlib
import json
from math import exp
from pathlib import Path
from typing import Annotated

from pydantic import Field

from vitrail.documents import Document
from vitrail.errors import FolderError
from vitrail.folder import WEIGHTS, ModelFolder, read_manifest
from vitrail.storage import read_text, write_text

CONFIDENCE = "confidence.json"
FORMAT = 1

Finite = Annotated[float, Field(ge=-1e6, le=1e6)]


class Curve(Document):
    """The probability that a translation is good, as a logistic function of its mean log-probability."""

    slope: Finite
    bias: Finite
    sentences: int  # that it was fitted on
    good: int  # how many of them were good
    auc: Annotated[float, Field(ge=0, le=1)]  # how often a good one has the higher confidence than one that is not

    def at(self, mean_log_prob: float) -> float:
        """The confidence of a translation."""
        return 1 / (1 + exp(-max(-50.0, min(50.0, self.slope * mean_log_prob + self.bias))))


class _File(Document):
    """The contents of confidence.json."""

    format: int
    weights: list[str]  # the checksums of the weights it belongs to
    curves: dict[str, Curve]  # by target language; "" if the model has no choice
    sha256: str | None = None  # of the curves; files written before have none

    def checksum(self) -> str:
        """The checksum that the file should have."""
        values = json.dumps({name: curve.model_dump() for name, curve in self.curves.items()}, sort_keys=True)
        return hashlib.sha256(values.encode("utf-8")).hexdigest()


def confidence(mean_log_prob: float, curve: Curve | None) -> float:
    """How sure a translation is, from 0 to 1."""
    return curve.at(mean_log_prob) if curve is not None else exp(min(0.0, mean_log_prob))


def read_curves(folder: ModelFolder) -> dict[str, Curve]:
    """The curves of a model, by target language. None if they belong to other weights."""
    path = folder.path / CONFIDENCE
    try:
        found = _File.parse(read_text(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FolderError(f"cannot read it: {error.strerror}", where=str(path), fix="check its permissions") from None
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    if found.sha256 not in (None, found.checksum()):
        raise _damaged(path, "its checksum does not match")
    return found.curves if found.weights == _weights(folder) and found.format <= FORMAT else {}


def write_curves(folder: ModelFolder, curves: dict[str, Curve]) -> Path:
    """Keep the curves of a model beside it."""
    path = folder.path / CONFIDENCE
    made = _File(format=FORMAT, weights=_weights(folder), curves=curves)
    made = made.model_copy(update={"sha256": made.checksum()})
    write_text(path, made.model_dump_json(indent=1) + "\n")
    return path


def _weights(folder: ModelFolder) -> list[str]:
    return read_manifest(folder.path).get(WEIGHTS, [])


def _damaged(path: Path, why: str) -> FolderError:
    return FolderError(f"this file is damaged: {why}", where=str(path), fix="delete it, or run `vitrail calibrate`")
