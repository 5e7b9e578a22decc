"""Text in, Translation out: the interface that the command line, the studio and Python programs share."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from pydantic import ValidationError

from vitrail.box import model_path
from vitrail.confidence import Curve, confidence, read_curves
from vitrail.config import DecodeConfig, setting_error
from vitrail.data.arriving import arriving_chunks, fixed_chunks
from vitrail.errors import DataError, DecodeError, TextError, did_you_mean
from vitrail.folder import ModelFolder
from vitrail.runtime import Job, Runtime
from vitrail.text import Tokenizer, Tokenizers, is_translatable

if TYPE_CHECKING:
    from vitrail.decode import Hypothesis, SearchListener
    from vitrail.explain import Explanation
    from vitrail.model import Transformer
    from vitrail.trace import Trace, TraceOptions

MAX_SOURCE = 1024  # tokens; a longer line is cut, with a warning
AHEAD = 2  # chunks that an engine may have to do while one is read or written
CHUNK = 512  # sentences to translate at a time in a stream: enough to sort them by length

Report = Callable[[str, int, int | None], None]
OnUnknown = Literal["error", "skip"]
_Texts = list[str] | tuple[str, ...]  # a string is a sequence of strings too, so `Sequence` would not tell them apart


class TranslateOptions(TypedDict, total=False):
    """The options of `Translator.translate`, explained there."""

    to: str | None
    beam_size: int | None
    top_beams: int | None
    decode: DecodeConfig | None
    prefix: str
    on_unknown: OnUnknown
    report: Report | None


@dataclass(frozen=True)
class Alternative:
    """One of the translations returned by a search."""

    text: str
    tokens: tuple[str, ...]
    score: float


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

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of plain values, for JSON."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            **({"confidence": self.confidence} if self.confidence is not None else {}),
            "tokens": list(self.tokens),
            "alternatives": [
                {"text": other.text, "score": other.score, "tokens": list(other.tokens)} for other in self.alternatives
            ],
            **({"unknown": list(self.unknown)} if self.unknown else {}),
            **({"was_cut": True} if self.was_cut else {}),
            **({"unchanged": True} if self.unchanged else {}),
        }


class Translator:
    """A model with its vocabulary, ready to translate."""

    def __init__(
        self,
        model: Transformer | Runtime,
        tokenizers: Tokenizers,
        config: DecodeConfig,
        *,
        target_language: str | None = None,
        folder: ModelFolder | None = None,
    ) -> None:
        self.runtime = model if isinstance(model, Runtime) else Runtime.of_model(model)
        self.tokenizers = tokenizers
        self.config = config
        self.target_language = target_language  # set if there is just one and it has a name
        self.folder = folder  # where the model was loaded from, if anywhere

    @property
    def model(self) -> Transformer:
        """The model in torch; loaded when it is first needed."""
        return self.runtime.model

    @cached_property
    def _curves(self) -> dict[str, Curve]:
        return read_curves(self.folder) if self.folder is not None else {}

    @property
    def name(self) -> str:
        """The model's name: that of its folder."""
        return self.folder.path.resolve().name if self.folder is not None else "a model without a folder"

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages to choose from with `to`; empty if the model has only one."""
        return self.tokenizers.languages

    def asked_language(self, to: str | None) -> str | None:
        """The language to mark a source with, if any. Unknown languages are refused before any work."""
        if to is not None and to == self.target_language and not self.languages:
            return None  # the only one: no mark needed
        if to is not None and self.target_language is not None and not self.languages:
            raise TextError(
                f"this model does not translate into '{to}', only into '{self.target_language}'",
                where="the target language (--to, in Python to=)",
                fix=f"ask for '{self.target_language}', or leave the language out",
            )
        self.tokenizers.encode_source("", to)
        return to

    @overload
    def translate(self, text: str, **options: Unpack[TranslateOptions]) -> Translation: ...
    @overload
    def translate(
        self, text: list[str] | tuple[str, ...], **options: Unpack[TranslateOptions]
    ) -> list[Translation]: ...
    def translate(
        self,
        text: str | list[str] | tuple[str, ...],
        *,
        to: str | None = None,
        beam_size: int | None = None,
        top_beams: int | None = None,
        decode: DecodeConfig | None = None,
        prefix: str = "",
        on_unknown: OnUnknown = "error",
        report: Report | None = None,
    ) -> Translation | list[Translation]:
        """Translate a sentence, or a list of them.

        `decode` replaces the model's own [decode] settings; `beam_size` and `top_beams` override just these two. Every
        translation begins with `prefix`. An unknown word is an error; with `on_unknown="skip"`, its sentence is left
        untranslated.
        """
        config = self.settings(decode, beam_size=beam_size, top_beams=top_beams)
        texts = [text] if isinstance(text, str) else list(text)
        to, start = self.asked_language(to), self._start(prefix)
        sentences = [self._read(number, line, to, on_unknown) for number, line in enumerate(texts, start=1)]
        done = self._begin(sentences, config, start, report)()
        return done[0] if isinstance(text, str) else done

    def stream(
        self,
        lines: Iterable[str],
        *,
        to: str | None = None,
        decode: DecodeConfig | None = None,
        prefix: str = "",
        chunk: int = CHUNK,
        live: bool = False,
        report: Report | None = None,
    ) -> Iterator[Translation]:
        """Translate any number of lines, a chunk at a time, in order and in memory for a few chunks.

        A line with an unknown word gets an empty translation. `live` is for lines that take their time, as from a
        pipe: those that are there are translated at once, instead of waiting until the chunk is full.
        """
        config, to, start = decode or self.config, self.asked_language(to), self._start(prefix)
        done = 0
        begun: deque[Callable[[], list[Translation]]] = deque()  # while one chunk is computed, the next one is read
        for held in _with_an_end(arriving_chunks(lines, chunk) if live else fixed_chunks(lines, chunk)):
            if held:
                begun.append(self._begin([self._read(None, line, to, "skip") for line in held], config, start))
            while len(begun) > (AHEAD if held else 0):
                translations = begun.popleft()()
                yield from translations
                done += len(translations)
                if report is not None:
                    report("translating", done, None)

    @overload
    def score(self, sources: str, targets: str, *, to: str | None = None, report: Report | None = None) -> float: ...
    @overload
    def score(
        self, sources: _Texts, targets: _Texts, *, to: str | None = None, report: Report | None = None
    ) -> list[float]: ...
    def score(
        self,
        sources: str | _Texts,
        targets: str | _Texts,
        *,
        to: str | None = None,
        report: Report | None = None,
    ) -> float | list[float]:
        """The log-probability of each target given its source: the sum over its tokens, `<eos>` included."""
        from vitrail.decode import score_all

        if isinstance(sources, str) != isinstance(targets, str):
            raise DataError(
                "one side is a single string, the other is not",
                where="the sources and targets",
                fix="give two strings, or two lists of strings",
            )
        if isinstance(sources, str) and isinstance(targets, str):
            return self.score([sources], [targets], to=to, report=report)[0]
        if len(sources) != len(targets):
            raise DataError(
                f"there are {len(sources):,} sources and {len(targets):,} targets",
                fix="give as many sources as targets",
            )
        to = self.asked_language(to)
        for tokenizer, texts in ((self.tokenizers.source, sources), (self.tokenizers.target, targets)):
            for number, line in enumerate(texts, start=1):
                _refuse_unknown(tokenizer, line, where=f"sentence {number}")
        rows = [self._row(number, line, to)[0] for number, line in enumerate(sources, start=1)]
        wanted = [self.tokenizers.encode_target(line) for line in targets]
        found = score_all(self.model, rows, wanted, self.config, report=report)
        return [sum(hypothesis.log_probs) for hypothesis in found]

    def trace(self, text: str, **options: Unpack[TraceOptions]) -> Trace:
        """Translate a sentence and record every step: `trace["encoder.0.self_attention.weights"]`.

        Options: `to`, `decode` and `prefix` as in `translate`; `heads_off` switches heads off,
        {"decoder.0.cross_attention": [0, 3]}; `reference` is a translation to compare with; `layers` names the layers
        whose weights to include, ["encoder.0", "output"] (unset: as many as keep the trace below `max_mb`).
        """
        from vitrail.trace import record  # like `explain`, an exception to the import order: ARCHITECTURE.md

        return record(self, text, **options)

    def explain(self, text: str, **options: Unpack[TraceOptions]) -> Explanation:
        """A sentence's trace as a page: a notebook shows it, `.save("page.html")` writes it. Options: see `trace`."""
        from vitrail.explain import explain

        return explain(self, text, **options)

    def without_heads(self, heads_off: Mapping[str, Iterable[int]]) -> Translator:
        """The same translator with some attention heads switched off: `{"decoder.0.cross_attention": [0, 3]}`."""
        from vitrail.model import without_heads

        changed = without_heads(self.model, heads_off)
        return Translator(
            Runtime(folder=self.folder, model=changed),
            self.tokenizers,
            self.config,
            target_language=self.target_language,
            folder=self.folder,
        )

    def search(
        self,
        text: str,
        *,
        to: str | None = None,
        decode: DecodeConfig | None = None,
        prefix: str = "",
        listener: SearchListener | None = None,
    ) -> tuple[list[int], list[Hypothesis]]:
        """The source ids of one sentence, and the hypotheses found for it. A listener receives every step."""
        from vitrail.decode import search

        to, start = self.asked_language(to), self._start(prefix)
        row = self._read(1, text, to, "error").row
        if row is None:
            raise TextError("there is nothing to translate", where="the sentence", fix="give at least one word")
        found = search(
            self.model,
            [row],
            decode or self.config,
            forbidden=self.tokenizers.forbidden,
            prefixes=[start] if start else None,
            max_positions=self.model.max_positions,
            listener=listener,
        )
        return row, found[0]

    def target_row(self, text: str) -> list[int]:
        """A given translation as ids, cut to what the model takes. Unknown words are refused."""
        _refuse_unknown(self.tokenizers.target, text, where="the reference")
        return cut_row(self.tokenizers.encode_target(text), self.runtime.position_limit)

    def settings(
        self, decode: DecodeConfig | None = None, *, beam_size: int | None = None, top_beams: int | None = None
    ) -> DecodeConfig:
        """Search settings: `decode` or else the model's own, with these two overridden if given."""
        changes = {"beam_size": beam_size, "top_beams": top_beams}
        given = {key: value for key, value in changes.items() if value is not None}
        return change_settings(decode or self.config, given)

    def _read(self, number: int | None, text: str, to: str | None, on_unknown: OnUnknown) -> _Sentence:
        """A line, encoded. A sentence without a row is not translated."""
        if not text.strip():
            return _Sentence(text)
        if not is_translatable(text):
            return _Sentence(text, unchanged=True)
        if on_unknown == "error":
            _refuse_unknown(self.tokenizers.source, text, where=f"sentence {number}")
        unknown = tuple(self.tokenizers.source.unknown(text))
        if unknown:
            return _Sentence(text, unknown=unknown)
        row, was_cut = self._row(number, text, to)
        return _Sentence(text, row, was_cut=was_cut, to=to)

    def _start(self, prefix: str) -> list[int]:
        """The ids that every translation begins with."""
        _refuse_unknown(self.tokenizers.target, prefix, where="the prefix")
        return self.tokenizers.target.encode(prefix)

    def _row(self, number: int | None, text: str, to: str | None) -> tuple[list[int], bool]:
        """A source row, and whether it had to be cut. There is no warning without a number: a stream has no end."""
        row = self.tokenizers.encode_source(text, to)
        cut = cut_row(row, self.runtime.position_limit)
        if len(cut) < len(row) and number is not None:
            warnings.warn(f"line {number} has {len(row)} tokens; only the first {len(cut)} are used", stacklevel=4)
        return cut, len(cut) < len(row)

    def _begin(
        self, sentences: list[_Sentence], config: DecodeConfig, start: list[int], report: Report | None = None
    ) -> Callable[[], list[Translation]]:
        """Start translating; what is returned waits for the translations."""
        rows = [sentence.row for sentence in sentences if sentence.row]
        results = self.runtime.begin(Job(rows, config, self.tokenizers.forbidden, tuple(start)), report)

        def finish() -> list[Translation]:
            waiting = iter(results())
            return [self._write(sentence, next(waiting) if sentence.row else [], config) for sentence in sentences]

        return finish

    def _write(self, sentence: _Sentence, hypotheses: list[Hypothesis], config: DecodeConfig) -> Translation:
        found = tuple(
            Alternative(
                text=self.tokenizers.decode(hypothesis.ids),
                tokens=tuple(self.tokenizers.tokens(hypothesis.ids)),
                score=hypothesis.score,
            )
            for hypothesis in hypotheses
        )
        best = found[0] if found else Alternative(sentence.text if sentence.unchanged else "", (), 0.0)
        mean = hypotheses[0].mean_log_prob(config) if hypotheses else None
        return Translation(
            sentence.text,
            best.text,
            best.tokens,
            best.score,
            found,
            unknown=sentence.unknown,
            was_cut=sentence.was_cut,
            unchanged=sentence.unchanged,
            mean_log_prob=mean,
            confidence=None if mean is None else confidence(mean, self._curves.get(sentence.to or "")),
        )


@dataclass(frozen=True)
class _Sentence:
    """A line to translate."""

    text: str
    row: list[int] | None = None
    unknown: tuple[str, ...] = ()
    was_cut: bool = False
    unchanged: bool = False
    to: str | None = None  # the language that was asked for, if there are several


def _with_an_end(chunks: Iterator[list[str]]) -> Iterator[list[str]]:
    """Chunks, and an empty one at the end or before an error: time to finish what was begun."""
    try:
        yield from chunks
    except Exception:
        yield []
        raise
    yield []


def load(model: str | Path, *, threads: int | None = None) -> Translator:
    """Load the translator in a model folder; the name "builtin" loads the built-in model.

    `threads` is the number of cores to use; by default all of them.
    """
    folder = ModelFolder.open(model_path(model))
    folder.refuse_without_weights()
    named = {target for _, target in folder.config.data.directions()}
    return Translator(
        Runtime.of_folder(folder, threads=threads),
        folder.tokenizers,
        folder.config.decode,
        target_language=named.pop() if len(named) == 1 else None,
        folder=folder,
    )


def cut_row(row: list[int], position_limit: int | None) -> list[int]:
    """A row cut to the length a model takes, with its `<eos>`."""
    limit = min(MAX_SOURCE, position_limit or MAX_SOURCE)
    return row if len(row) <= limit else [*row[: limit - 1], row[-1]]


def _refuse_unknown(tokenizer: Tokenizer, text: str, *, where: str) -> None:
    """Raise an error that names the words without an id, instead of guessing."""
    unknown = tokenizer.unknown(text)
    if unknown:
        near = did_you_mean(unknown[0], (tokenizer.token(number) for number in range(tokenizer.size)))
        names = ", ".join(f"'{word}'" for word in unknown)
        raise TextError(
            f"this model does not know {names}",
            where=where,
            fix=near or "use words from its vocabulary: `vitrail info MODEL --words` lists them",
        )


def change_settings(config: DecodeConfig, changes: dict[str, Any]) -> DecodeConfig:
    """Decoding settings with some of them changed, validated again."""
    try:
        return DecodeConfig.model_validate({**config.model_dump(), **changes})
    except ValidationError as error:
        first = error.errors()[0]
        refused = setting_error(first)
        if refused is not None:
            raise DecodeError(refused.what, where="the search settings", fix=refused.fix) from None
        name = ".".join(str(part) for part in first["loc"])
        said = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        raise DecodeError(
            f"{name} = {changes[name]!r}: {said}" if name in changes else said,
            where="the search settings",
            fix=f"the model's own value is {getattr(config, name, None)!r}",
        ) from None
