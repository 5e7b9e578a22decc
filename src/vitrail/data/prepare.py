"""Turn corpora into a prepared folder in two passes: survey the text and learn the vocabulary, then write the ids."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from vitrail import __version__
from vitrail.config import VOCABULARIES, CorpusConfig, DataConfig
from vitrail.data.corpora import Corpus, Pair
from vitrail.data.filters import Reason, Tally, nothing_left, reason_in_lengths, reason_in_text
from vitrail.data.prepared import (
    FORMAT,
    TOKENIZER,
    VALIDATION,
    Prepared,
    describe_file,
    read_manifest,
    size_and_date,
    write_manifest,
)
from vitrail.data.shards import ShardWriter
from vitrail.data.survey import Report, Survey, sentences, survey
from vitrail.data.validation import held_out_sets, validation_sets, write_validation
from vitrail.errors import DataError, FolderError
from vitrail.storage import checksum, new_folder
from vitrail.text import Tokenizers

_BLOCK = 4096  # pairs encoded and written at a time


def prepare(
    config: DataConfig, out: Path, *, seed: int, report: Report | None = None, vocabulary: Path | None = None
) -> Prepared:
    """Read, filter and encode the corpora into the folder `out`. A folder made from the same inputs is reused.

    `vocabulary` is a tokenizer folder to use instead of learning one. Target languages that it lacks are added.
    """
    work = _Work.of(config, seed, report or _silent, vocabulary)
    fingerprint, inputs = work.fingerprint(), work.inputs()
    ready = _ready(out, fingerprint)
    if ready is not None:
        return ready
    with new_folder(out) as folder:
        write_manifest(folder, {"fingerprint": fingerprint, "inputs": inputs, **work.fill(folder)})
    return Prepared.open(out)


@dataclass(frozen=True)
class _Work:
    """What to prepare, and how."""

    config: DataConfig
    corpora: list[Corpus]
    validation: list[Corpus]
    languages: tuple[str, ...]
    seed: int
    report: Report
    given: Path | None  # the folder of a vocabulary

    @classmethod
    def of(cls, config: DataConfig, seed: int, report: Report, given: Path | None) -> Self:
        corpora = [Corpus(corpus, seed) for corpus in config.training_corpora()]
        if not corpora:
            fix = "give source and target, pairs or corpora"
            raise DataError("there is nothing to prepare", where="[data]", fix=fix)
        validation = _validation_corpora(config, seed)
        known = Tokenizers.load(given).languages if given is not None else ()
        return cls(config, corpora, validation, _languages(corpora, validation, known), seed, report, given)

    def fingerprint(self) -> str:
        """A hash of everything a prepared folder depends on: settings, files, and the version of this program."""
        made_of = {
            "format": FORMAT,
            "version": __version__,
            "settings": self.config.model_dump(mode="json", exclude={"prepared"}),
            "seed": self.seed,
            "inputs": [stamp for corpus in (*self.corpora, *self.validation) for stamp in corpus.stamps()],
        }
        if self.given is not None:
            made_of["vocabulary"] = [checksum(file) for file in sorted(self.given.iterdir()) if file.is_file()]
        return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode("utf-8")).hexdigest()

    def inputs(self) -> dict[str, list[int]]:
        """The input files by name, with their current size and date."""
        files = {file for corpus in (*self.corpora, *self.validation) for file in corpus.files()}
        known = {str(file): size_and_date(file) for file in sorted(files)}
        return {name: found for name, found in known.items() if found is not None}

    def fill(self, folder: Path) -> dict[str, Any]:
        """Write everything but the manifest; return the manifest's contents."""
        # Validation first: it is small, and errors in it show up before the long work.
        sets, notes = validation_sets(self.validation, self.languages)
        found = survey(
            self.corpora,
            self.config,
            hold_out=0 if self.validation else self.config.hold_out,
            scratch=folder / "scratch",
            seed=self.seed,
            report=self.report,
        )
        tokenizers = self._learn(found.sample)
        found.sample.clear()
        encoder = _Encoder(self.config, tokenizers, Tally(self.config.strict), found, self.report)
        if not self.validation:
            sets, notes = held_out_sets(encoder.fit_to_hold_out(), self.languages)
        files: dict[str, Any] = {}
        shards = [encoder.write_shard(corpus, folder, f"train-{n}", files) for n, corpus in enumerate(self.corpora)]
        tokenizers.save(folder / TOKENIZER)
        kept_sets = write_validation(folder / VALIDATION, sets)
        for file in [folder / VALIDATION, *sorted((folder / TOKENIZER).iterdir())]:
            files[file.relative_to(folder).as_posix()] = describe_file(file)
        size = _notes_on_size(tokenizers, self.config) if self.given is None else []
        report = encoder.tally.report(found.pairs, [*size, *notes])
        return {"shards": shards, "validation": kept_sets, "report": report.to_json(), "files": files}

    def _learn(self, sample: list[tuple[str, str]]) -> Tokenizers:
        if self.given is not None:
            return Tokenizers.load(self.given).with_languages(self.languages)
        self.report("learning the vocabulary", 0, None)
        return Tokenizers.train(
            [source for source, _ in sample],
            [target for _, target in sample],
            kind=self.config.vocabulary,
            size=self.config.vocabulary_size,
            joint=self.config.joint,
            languages=self.languages,
        )


@dataclass
class _Encoder:
    """The second pass: usable pairs become ids on disk."""

    config: DataConfig
    tokenizers: Tokenizers
    tally: Tally
    found: Survey
    report: Report
    done: int = 0

    def write_shard(self, corpus: Corpus, folder: Path, name: str, files: dict[str, Any]) -> dict[str, Any]:
        """Write one corpus, add its files to `files`, and return its manifest entry."""
        vocabulary = max(self.tokenizers.source.size, self.tokenizers.target.size)
        pairs = corpus.pairs()
        with ShardWriter(folder, name, vocabulary) as writer:
            while block := list(islice(pairs, _BLOCK)):
                seen_before = self.found.seen_before[self.done : self.done + len(block)]
                if len(seen_before) < len(block):
                    raise DataError("the corpus grew while it was being read", where=corpus.name, fix="start again")
                fit = [pair for pair, again in zip(block, seen_before, strict=True) if self._fits(pair, again, corpus)]
                self._write(fit, corpus, writer)
                self.done += len(block)
                self.report("encoding", self.done, self.found.pairs)
        files |= writer.files()
        if writer.pairs == 0:
            raise nothing_left(corpus, self.tally)
        entry = {"name": name, "corpus": corpus.name, "pairs": writer.pairs, "dtype": writer.dtype}
        return {**entry, "weight": corpus.config.weight}

    def _fits(self, pair: Pair, again: np.bool_, corpus: Corpus) -> bool:
        reason = reason_in_text(pair, self.config)
        held_back = self.found.held_back
        if reason is None and held_back and not held_back.isdisjoint(sentences(pair)):
            reason = Reason.HELD_OUT
        elif reason is None and again:
            reason = Reason.DUPLICATE
        if reason is not None:
            self.tally.leave_out(reason, corpus, pair.line)
        return reason is None

    def fit_to_hold_out(self) -> list[tuple[Corpus, list[Pair]]]:
        """The held-out pairs, without those that the length filters would have skipped in training."""
        fit = []
        for corpus, pairs in self.found.held_out:
            reasons = [reason for *_, reason in self._encode(pairs)]
            fit.append((corpus, [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]))
        return fit

    def _write(self, pairs: list[Pair], corpus: Corpus, writer: ShardWriter) -> None:
        kept = []
        for pair, (source, target, reason) in zip(pairs, self._encode(pairs), strict=True):
            if reason is None:
                kept.append((source, target, pair.line))
            else:
                self.tally.leave_out(reason, corpus, pair.line)
        writer.write([source for source, _, _ in kept], [target for _, target, _ in kept], [line for *_, line in kept])

    def _encode(self, pairs: list[Pair]) -> Iterator[tuple[list[int], list[int], Reason | None]]:
        """The rows of each pair, and the reason if its lengths rule it out."""
        languages = self.tokenizers.languages
        to = [pair.to if languages else None for pair in pairs]
        sources = self.tokenizers.encode_sources([pair.source or "" for pair in pairs], to)
        targets = self.tokenizers.encode_targets([pair.target or "" for pair in pairs])
        specials = 2 if languages else 1  # in a source row; a target row has only <eos>
        for source, target in zip(sources, targets, strict=True):
            yield source, target, reason_in_lengths(len(source) - specials, len(target) - 1, self.config)


def _silent(what: str, done: int, total: int | None) -> None:
    """Report nothing."""


def _validation_corpora(config: DataConfig, seed: int) -> list[Corpus]:
    """The named validation data. Without any, training on the phrasebook alone validates on its held-out part."""
    named = [Corpus(corpus, seed, held_out=True) for corpus in config.validation_corpora()]
    if not named and {corpus.builtin for corpus in config.training_corpora()} == {"phrasebook"}:
        return [Corpus(CorpusConfig(builtin="phrasebook"), seed, held_out=True)]
    return named


def _languages(corpora: Sequence[Corpus], validation: Sequence[Corpus], known: tuple[str, ...]) -> tuple[str, ...]:
    """The target languages to choose from; empty if there is only one, since there is nothing to choose.

    Those that a given vocabulary has a symbol for are `known`, and stay.
    """
    languages = tuple(dict.fromkeys((*known, *(language for corpus in corpora for language in corpus.targets()))))
    for corpus in validation:
        for language in corpus.targets():
            if languages and language not in languages:
                raise DataError(
                    f"this validation corpus translates into '{language}', but no training corpus does",
                    where=corpus.name,
                    fix=f"choose one of: {', '.join(languages)}",
                )
    if len(languages) < 2:
        return ()
    for corpus in (*corpora, *validation):
        if not corpus.targets():
            raise DataError(
                f"this corpus does not name its target language: {', '.join(languages)}?",
                where=corpus.name,
                fix="set its source_language and target_language",
            )
    return languages


def _notes_on_size(tokenizers: Tokenizers, config: DataConfig) -> list[str]:
    """A note for each subword vocabulary that is smaller than requested."""
    if VOCABULARIES[config.vocabulary].whole_words:
        return []
    sides = {"vocabulary": tokenizers.source}
    if not tokenizers.joint:
        sides = {"source vocabulary": tokenizers.source, "target vocabulary": tokenizers.target}
    return [
        f"the {side} has {tokenizer.size:,} entries, not {config.vocabulary_size:,}: the corpus does not yield more"
        for side, tokenizer in sides.items()
        if tokenizer.size < config.vocabulary_size
    ]


def _ready(out: Path, fingerprint: str) -> Prepared | None:
    """The prepared data at `out`, if it is complete and up to date. A folder that holds anything else is refused."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    try:
        same = read_manifest(out).fingerprint == fingerprint
    except FolderError as error:  # not prepared data, so not ours to replace
        raise FolderError(error.what, where=error.where, fix="choose another folder, or remove this one") from error
    try:
        return Prepared.open(out) if same else None
    except FolderError:
        return None  # incomplete or damaged: prepare it again
