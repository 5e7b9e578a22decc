"""Record the model's output for a few sentences as it learns. The file format: trace/probes.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vitrail.config import DecodeConfig, TrainConfig
from vitrail.data import ValidationSet
from vitrail.documents import Document
from vitrail.errors import TextError, TrainingError
from vitrail.sentences import cut_row
from vitrail.storage import cut_back, explained, flush
from vitrail.text import Tokenizers
from vitrail.trace.format import Array, encode_array
from vitrail.trace.lines import read_spread
from vitrail.trace.probes import FORMAT, PROBES, log_sum
from vitrail.trace.record import listen
from vitrail.train.validation import in_turn
from vitrail.translator import Translator

GREEDY = DecodeConfig(beam_size=1, max_extra=10)  # an untrained model may never produce EOS
WHOLE_VOCABULARY = 2000  # up to this many entries, all of them are recorded
MOST_PROBABLE = 30  # otherwise this many at each position, and the reference's ids
LONGEST = 40  # tokens in sentences that the user did not choose: longer ones take disk space and do not fit the page
ROUND = (1, 2, 3, 5, 7)  # times powers of ten: the steps to record, ever further apart

Line = dict[str, Any]


class _Looked(Document):
    """A recorded step; to resume, no more of its line needs to be known."""

    step: int


@dataclass(frozen=True)
class Probe:
    """A sentence to record; `reference` is its correct translation, if known."""

    source: str
    reference: str | None = None
    to: str | None = None


class ProbeLog:
    """Writes probes.jsonl. Recording draws no random numbers, so probes do not change a run."""

    def __init__(self, run: Path, config: TrainConfig, *, keep_bytes: int = 0) -> None:
        self.path, self.config = run / PROBES, config
        self.newest = -1  # the last recorded step
        if self.path.exists():
            cut_back(self.path, keep_bytes)

    def begin(self, translator: Translator, sets: Sequence[ValidationSet]) -> None:
        """Choose the sentences. If the settings have changed them, the file is started anew."""
        self.probes = choose_probes(translator.tokenizers, self.config, sets)
        if not self.probes:
            self.path.unlink(missing_ok=True)
            return
        header = _line(describe_probes(translator, self.probes, label_smoothing=self.config.label_smoothing))
        newest = self._newest_after(header)
        if newest is None:
            with explained(self.path):
                self.path.write_text(header, encoding="utf-8")
        self.newest = -1 if newest is None else newest

    def _newest_after(self, header: str) -> int | None:
        """The step recorded last, or -1 if there is none; None if the file does not begin with this header."""
        try:
            if not self.path.exists():
                return None
            first, *last = read_spread(self.path, 1)
            if first != json.loads(header):
                return None
            return _Looked.of(last[0]).step if last else -1
        except ValueError:
            return None

    def is_due(self, step: int) -> bool:
        """Whether to record after this step."""
        if not self.probes or step <= self.newest:
            return False
        every = self.config.probe_every
        if every is not None:
            return step % every == 0
        power = 10 ** (len(str(step)) - 1)
        return step == 0 or (step % power == 0 and step // power in ROUND)

    def look(self, translator: Translator, step: int) -> None:
        """Record the model's current output."""
        if not self.probes or step <= self.newest:
            return
        line = _line(record_probes(translator, self.probes, step))
        with explained(self.path), self.path.open("a", encoding="utf-8") as file:
            file.write(line)
        self.newest = step

    def size(self) -> int:
        """The number of bytes, after flushing them to the disk; a checkpoint stores it."""
        if not self.path.exists():
            return 0
        with explained(self.path):
            flush(self.path)
            return self.path.stat().st_size


def choose_probes(tokenizers: Tokenizers, config: TrainConfig, sets: Sequence[ValidationSet]) -> tuple[Probe, ...]:
    """The user's own sentences, or the first short ones of the validation sets, taken in turn."""
    if config.probes == 0:
        return ()
    if config.probe_sentences:
        return tuple(_own(tokenizers, Probe(own.source, own.reference, own.to)) for own in config.probe_sentences)
    by_set = [_fitting(tokenizers, data, config.probes) for data in sets]
    return tuple(in_turn(by_set)[: config.probes])


def describe_probes(translator: Translator, probes: Sequence[Probe], *, label_smoothing: float) -> Line:
    """The first line of the file: the sentences, with the ids and tokens that the model reads."""
    sentences = []
    for probe in probes:
        source = cut_row(translator.tokenizers.encode_source(probe.source, probe.to), translator.runtime.position_limit)
        tokens = translator.tokenizers.source_tokens(source)
        reference = None
        if probe.reference is not None:
            row = translator.target_row(probe.reference)
            reference = {"text": probe.reference, "ids": row, "tokens": translator.tokenizers.tokens(row)}
        said = {"text": probe.source, "ids": source, "tokens": tokens}
        sentences.append({"source": said, "reference": reference, "to": probe.to})
    return {"probes": FORMAT, "label_smoothing": label_smoothing, "sentences": sentences}


def record_probes(translator: Translator, probes: Sequence[Probe], step: int) -> Line:
    """A further line: the current output of the model, which must be in eval mode."""
    return {"step": step, "sentences": [_record(translator, probe) for probe in probes]}


def _record(translator: Translator, probe: Probe) -> Line:
    model, tokenizers = translator.model, translator.tokenizers
    assert not model.training, "the model is in training mode, with dropout: call eval() first"
    source, found = translator.search(probe.source, to=probe.to, decode=GREEDY)
    row = list(found[0].row)
    forced = row if probe.reference is None else translator.target_row(probe.reference)
    heard = listen(model, source, forced)
    columns, log_probs_TC, rest_T = _columns(heard["log_probs"], forced)
    attention_HTS = heard[f"decoder.{model.config.decoder_layers - 1}.cross_attention.weights"]
    return {
        "translation": tokenizers.decode(found[0].ids),
        "ids": row,
        "tokens": tokenizers.tokens(row),
        "columns": columns,
        "log_probs": encode_array(log_probs_TC),
        "rest": None if rest_T is None else encode_array(rest_T),
        "attention": encode_array(attention_HTS.mean(0)),
    }


def _columns(log_probs_TV: Array, forced: Sequence[int]) -> tuple[list[int] | None, Array, Array | None]:
    """A small vocabulary as a whole; otherwise the most probable ids at each position and the forced ones."""
    vocabulary = log_probs_TV.shape[1]
    if vocabulary <= WHOLE_VOCABULARY:
        return None, log_probs_TV, None
    # Sorted, not partitioned: ties go to the smaller id, so that the same model always writes the same line.
    best = np.argsort(-log_probs_TV, axis=1, kind="stable")[:, :MOST_PROBABLE]
    chosen = sorted({*best.flatten().tolist(), *forced})
    if len(chosen) == vocabulary:
        return None, log_probs_TV, None
    return chosen, log_probs_TV[:, chosen], log_sum(np.delete(log_probs_TV, chosen, axis=1))


def _own(tokenizers: Tokenizers, probe: Probe) -> Probe:
    """A sentence that the user chose. If the model cannot read it, it is refused before any work."""
    where = f"train.probe_sentences, '{probe.source}'"
    sides = [(tokenizers.source, probe.source)]
    if probe.reference is not None:
        sides.append((tokenizers.target, probe.reference))
    for tokenizer, text in sides:
        unknown = tokenizer.unknown(text)
        if unknown or not text.strip():
            what = f"'{unknown[0]}' is not in the vocabulary" if unknown else "the sentence is empty"
            raise TrainingError(what, where=where, fix="choose other words, or set train.probe_sentences = []")
    try:
        tokenizers.encode_source(probe.source, probe.to)
    except TextError as error:
        raise TrainingError(error.what, where=where, fix=f"{error.fix or ''} (its 'to')".strip()) from error
    return probe


def _fitting(tokenizers: Tokenizers, data: ValidationSet, count: int) -> list[Probe]:
    found: list[Probe] = []
    for source, reference in zip(data.sources, data.references, strict=True):
        if len(found) == count:
            break
        if tokenizers.source.unknown(source) or tokenizers.target.unknown(reference):
            continue
        longest = max(len(tokenizers.encode_source(source, data.to)), len(tokenizers.encode_target(reference)))
        if longest <= LONGEST:
            found.append(Probe(source, reference, data.to))
    return found


def _line(values: Line) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"
