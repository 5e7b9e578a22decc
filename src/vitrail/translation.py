"""What a translator returns: a sentence with its best translation and others that were asked for, or a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from vitrail.alignment import Links, pharaoh
from vitrail.confidence import Curve, confidence
from vitrail.config import DecodeConfig
from vitrail.sentences import Sentence
from vitrail.text import Tokenizers

if TYPE_CHECKING:
    from vitrail.decode import Hypothesis


@dataclass(frozen=True)
class Alternative:
    """One of the translations returned by a search."""

    text: str
    tokens: tuple[str, ...]
    score: float
    alignment: Links | None = None  # if it was asked for

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of plain values."""
        return {
            "text": self.text,
            "score": self.score,
            "tokens": list(self.tokens),
            **({"alignment": pharaoh(self.alignment)} if self.alignment is not None else {}),
        }


@dataclass(frozen=True)
class Translation:
    """A sentence and its best translation; `alternatives` holds all that were requested (top_beams), best first."""

    source: str
    text: str
    tokens: tuple[str, ...]
    score: float
    alternatives: tuple[Alternative, ...]
    unknown: tuple[str, ...] = ()  # words that are not in the model's vocabulary
    was_cut: bool = False  # the source was too long for the model
    unchanged: bool = False  # the source has no letter, or a NUL: `text` is the source
    mean_log_prob: float | None = None  # of the tokens, `<eos>` included; None if nothing was translated
    confidence: float | None = None  # the probability that the translation is good: confidence.py
    alignment: Links | None = None  # which word of the source each word of `text` comes from, if it was asked for
    missing: tuple[str, ...] = ()  # terms of a glossary that are in the source, and whose translation could not be met

    @classmethod
    def of_search(
        cls,
        sentences: Sequence[Sentence],
        found: Sequence[Sequence[Hypothesis]],
        config: DecodeConfig,
        tokenizers: Tokenizers,
        *,
        curves: Mapping[str, Curve],
        alignments: Iterable[Links] | None = None,
        missing: Callable[[str, str], tuple[str, ...]] = lambda _source, _text: (),
    ) -> list[Translation]:
        """What a search found for each sentence, as text: nothing for those that were not translated.

        `alignments` are the links of every hypothesis, one after the other; `missing` tells which terms of a source its
        translation lacks.
        """
        texts = iter(tokenizers.decode_all([one.ids for hypotheses in found for one in hypotheses]))
        links = iter(alignments) if alignments is not None else repeat(None)
        return [
            cls._of(
                sentence,
                tuple(
                    Alternative(next(texts), tuple(tokenizers.tokens(one.ids)), one.score, next(links))
                    for one in hypotheses
                ),
                mean=hypotheses[0].mean_log_prob(config) if hypotheses else None,
                curve=curves.get(sentence.to or ""),
                is_aligned=alignments is not None,
                missing=missing,
            )
            for sentence, hypotheses in zip(sentences, found, strict=True)
        ]

    @classmethod
    def _of(
        cls,
        sentence: Sentence,
        found: tuple[Alternative, ...],
        *,
        mean: float | None,
        curve: Curve | None,
        is_aligned: bool,
        missing: Callable[[str, str], tuple[str, ...]],
    ) -> Translation:
        unchanged = sentence.text if sentence.unchanged else ""
        best = found[0] if found else Alternative(unchanged, (), 0.0, () if is_aligned else None)
        return cls(
            sentence.text,
            best.text,
            best.tokens,
            best.score,
            found,
            unknown=sentence.unknown,
            was_cut=sentence.was_cut,
            unchanged=sentence.unchanged,
            mean_log_prob=mean,
            confidence=None if mean is None else confidence(mean, curve),
            alignment=best.alignment,
            missing=missing(sentence.text, best.text) if found else (),
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of plain values, for JSON."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            **({"confidence": self.confidence} if self.confidence is not None else {}),
            "tokens": list(self.tokens),
            **({"alignment": pharaoh(self.alignment)} if self.alignment is not None else {}),
            "alternatives": [other.to_dict() for other in self.alternatives],
            **({"unknown": list(self.unknown)} if self.unknown else {}),
            **({"missing": list(self.missing)} if self.missing else {}),
            **({"was_cut": True} if self.was_cut else {}),
            **({"unchanged": True} if self.unchanged else {}),
        }


@dataclass(frozen=True)
class TranslatedText:
    """A text with its line breaks, spaces and tags, and the translation of each of its sentences."""

    text: str
    sentences: tuple[Translation, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of plain values, for JSON."""
        return {"text": self.text, "sentences": [sentence.to_dict() for sentence in self.sentences]}
