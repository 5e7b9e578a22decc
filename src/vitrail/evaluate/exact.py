"""The share of translations that equal the reference: simple, and enough for the phrasebook's one right answer."""

from __future__ import annotations

from collections.abc import Sequence

from vitrail.errors import DataError


def exact_share(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The share of translations that equal their reference, from 0 to 1."""
    check_aligned(hypotheses, references, name="the translations")
    pairs = zip(hypotheses, references, strict=True)
    return sum(hypothesis == reference for hypothesis, reference in pairs) / len(references)


def check_aligned(hypotheses: Sequence[str], references: Sequence[str], *, name: str) -> None:
    """Refuse translations that do not match their references line by line."""
    if len(hypotheses) != len(references):
        raise DataError(
            f"there are {len(hypotheses)} translations, but {len(references)} references",
            where=name,
            fix="give one reference line for each translated line",
        )
    if not references:
        raise DataError("there is nothing to evaluate: no lines", where=name, fix="check that the files are not empty")
