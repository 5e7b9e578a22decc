"""Validation: the loss, BLEU of a greedy translation, and a few sentences to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from vitrail.config import DecodeConfig, TrainConfig
from vitrail.data import Prepared, ValidationSet
from vitrail.decode import score_all
from vitrail.evaluate import bleu
from vitrail.model import Transformer
from vitrail.sentences import cut_row
from vitrail.text import Tokenizers
from vitrail.train.events import Sample
from vitrail.translator import Translator

GREEDY = DecodeConfig(beam_size=1)

T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """The result of a validation."""

    loss: float  # cross-entropy per target token, without smoothing
    bleu: float | None
    samples: tuple[Sample, ...]


class Validator:
    """Measures a model on the validation data; draws no random numbers, so validating never changes a run."""

    def __init__(self, prepared: Prepared, config: TrainConfig) -> None:
        self.sets, self.config = prepared.validation, config

    def look(self, model: Transformer, tokenizers: Tokenizers) -> Found | None:
        """Measure; None if there is no validation data."""
        if not self.sets:
            return None
        model.eval()
        log_probability, tokens = 0.0, 0
        first = slice(self._share(self.config.loss_sentences))
        for data in self.sets:
            rows = [
                cut_row(tokenizers.encode_source(text, data.to), model.max_positions) for text in data.sources[first]
            ]
            wanted = [cut_row(tokenizers.encode_target(text), model.max_positions) for text in data.references[first]]
            scored = score_all(model, rows, wanted, GREEDY)
            log_probability += sum(sum(hypothesis.log_probs) for hypothesis in scored)
            tokens += sum(len(row) for row in wanted)
        samples = self._translate(model, tokenizers) if self.config.bleu_sentences or self.config.samples else []
        measured = samples[: self.config.bleu_sentences]
        score = None
        if measured:
            score = bleu([sample.translation for sample in measured], [sample.reference for sample in measured])
        return Found(-log_probability / tokens, score, tuple(samples[: self.config.samples]))

    def _translate(self, model: Transformer, tokenizers: Tokenizers) -> list[Sample]:
        """Translate the first sentences of every set, in turn, so that each direction gets its share."""
        translator = Translator(model, tokenizers, GREEDY)
        count = max(self.config.bleu_sentences, self.config.samples)
        by_set = [self._sample(translator, data, self._share(count)) for data in self.sets]
        return in_turn(by_set)[:count]

    def _share(self, count: int) -> int:
        """How many of `count` sentences each set gets: more sets must not make validation slower."""
        return -(-count // len(self.sets))

    def _sample(self, translator: Translator, data: ValidationSet, count: int) -> list[Sample]:
        sources = data.sources[:count]
        done = translator.translate(sources, to=data.to, on_unknown="skip")
        return [
            Sample(source, reference, translation.text)
            for source, reference, translation in zip(sources, data.references, done, strict=False)
        ]


def in_turn(by_set: Sequence[Sequence[T]]) -> list[T]:
    """The first of every set, then the second of every set, and so on, as long as any set has one."""
    return [one for row in zip_longest(*by_set) for one in row if one is not None]
