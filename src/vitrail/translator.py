"""Text in, Translation out: the interface that the command line, the studio and Python programs share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from vitrail.alignment import Links, Pair, align_all
from vitrail.alternatives import COUNT, Alternatives, possible_at
from vitrail.box import model_path
from vitrail.confidence import Curve, read_curves
from vitrail.config import DecodeConfig, change_settings
from vitrail.data.arriving import arriving_chunks, fixed_chunks, with_an_end
from vitrail.errors import DataError, DecodeError
from vitrail.folder import ModelFolder
from vitrail.layout import read_document
from vitrail.runtime import Job, Runtime
from vitrail.sentences import OnUnknown, Reader, Sentence
from vitrail.text import FIRST_LANGUAGE, Tokenizers
from vitrail.text.restriction import Restriction
from vitrail.text.spelling import Spelling
from vitrail.translation import TranslatedText, Translation
from vitrail.wanted import GlossaryLike, Wanted

if TYPE_CHECKING:
    from vitrail.decode import Hypothesis, SearchListener
    from vitrail.explain import Explanation
    from vitrail.model import Transformer
    from vitrail.trace import Trace, TraceOptions

AHEAD = 2  # chunks that an engine may have to do while one is read or written
CHUNK = 512  # sentences to translate at a time in a stream: enough to sort them by length

Report = Callable[[str, int, int | None], None]
_Texts = list[str] | tuple[str, ...]  # a string is a sequence of strings too, so `Sequence` would not tell them apart


class Demands(TypedDict, total=False):
    """What is asked of every translation, explained at `Translator.translate`."""

    to: str | None
    prefix: str
    align: bool
    glossary: GlossaryLike | None
    restrict: Restriction | None


class TranslateOptions(Demands, total=False):
    """The options of `Translator.translate`, explained there."""

    beam_size: int | None
    top_beams: int | None
    decode: DecodeConfig | None
    on_unknown: OnUnknown
    report: Report | None


class AlternativesOptions(TypedDict, total=False):
    """The options of `Translator.alternatives`, explained there."""

    count: int
    to: str | None
    decode: DecodeConfig | None
    translation: str | None


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
        """The model in torch; loaded when it is first needed. An ensemble is not one model: that is an error."""
        if self.runtime.others:
            raise DecodeError(
                "an ensemble has several models, and this looks inside one",
                where=self.name,
                fix="load one of them by itself",
            )
        return self.runtime.model

    @cached_property
    def _reader(self) -> Reader:
        return Reader(self.tokenizers, self.target_language, self.runtime.position_limit)

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self.tokenizers.target, FIRST_LANGUAGE + len(self.languages))

    def _wanted(
        self, *, prefix: str, align: bool, glossary: GlossaryLike | None, restrict: Restriction | None
    ) -> Wanted:
        return Wanted.of(self._reader, self._spelling, prefix=prefix, align=align, glossary=glossary, restrict=restrict)

    @cached_property
    def _curves(self) -> dict[str, Curve]:
        # A curve was fitted to the probabilities of one model.
        return read_curves(self.folder) if self.folder is not None and not self.runtime.others else {}

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
        return self._reader.asked_language(to)

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
        align: bool = False,
        glossary: GlossaryLike | None = None,
        restrict: Restriction | None = None,
        on_unknown: OnUnknown = "error",
        report: Report | None = None,
    ) -> Translation | list[Translation]:
        """Translate a sentence, or a list of them.

        `decode` replaces the model's own [decode] settings; `beam_size` and `top_beams` override just these two. Every
        translation begins with `prefix`. With `align`, it has an alignment: which word of the source each of its words
        comes from. `glossary` maps terms of the source to translations that must appear if the term does; those that
        could not be met are in `Translation.missing`. `restrict` says which words may appear. An unknown word is an
        error; with `on_unknown="skip"`, its sentence is left untranslated.
        """
        config = self.settings(decode, beam_size=beam_size, top_beams=top_beams)
        texts = [text] if isinstance(text, str) else list(text)
        to = self.asked_language(to)
        wanted = self._wanted(prefix=prefix, align=align, glossary=glossary, restrict=restrict)
        sentences = [self._reader.read(number, line, to, on_unknown) for number, line in enumerate(texts, start=1)]
        done = self._begin(sentences, config, wanted, report)()
        return done[0] if isinstance(text, str) else done

    def stream(
        self,
        lines: Iterable[str],
        *,
        to: str | None = None,
        decode: DecodeConfig | None = None,
        prefix: str = "",
        align: bool = False,
        glossary: GlossaryLike | None = None,
        restrict: Restriction | None = None,
        chunk: int = CHUNK,
        live: bool = False,
        report: Report | None = None,
    ) -> Iterator[Translation]:
        """Translate any number of lines, a chunk at a time, in order and in memory for a few chunks.

        A line with an unknown word gets an empty translation. `live` is for lines that take their time, as from a
        pipe: those that are there are translated at once, instead of waiting until the chunk is full.
        """
        config, to = decode or self.config, self.asked_language(to)
        wanted = self._wanted(prefix=prefix, align=align, glossary=glossary, restrict=restrict)
        done = 0
        begun: deque[Callable[[], list[Translation]]] = deque()  # while one chunk is computed, the next one is read
        for held in with_an_end(arriving_chunks(lines, chunk) if live else fixed_chunks(lines, chunk)):
            if held:
                read = [self._reader.read(None, line, to, "skip") for line in held]
                begun.append(self._begin(read, config, wanted))
            while len(begun) > (AHEAD if held else 0):
                translations = begun.popleft()()
                yield from translations
                done += len(translations)
                if report is not None:
                    report("translating", done, None)

    def translate_text(
        self,
        text: str,
        *,
        kind: str = "text",
        to: str | None = None,
        language: str | None = None,
        decode: DecodeConfig | None = None,
        glossary: GlossaryLike | None = None,
        restrict: Restriction | None = None,
        report: Report | None = None,
    ) -> TranslatedText:
        """Translate a text of any number of sentences; its line breaks, spaces and tags stay.

        `kind` is one of text, html, markdown, srt and po. `language` is the text's own, whose rules say where sentences
        end; by default the one that the model translates from. A sentence with an unknown word stays as it is.
        """
        direction = self.direction(to)
        document = read_document(text, kind, language=language or (direction[0] if direction else None))
        asked: Demands = {"to": to, "glossary": glossary, "restrict": restrict}
        sentences = tuple(self.stream(document.sentences, decode=decode, report=report, **asked))
        return TranslatedText(
            document.filled([one.source if one.unknown else one.text for one in sentences]), sentences
        )

    def direction(self, to: str | None) -> tuple[str, str] | None:
        """The languages that the model translates from and into, if there is just one way into `to` and it is named."""
        target = to or self.target_language
        directions = self.folder.config.data.directions() if self.folder is not None else ()
        sources = {source for source, into in directions if into == target}
        return (sources.pop(), target) if len(sources) == 1 and target is not None else None

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
        if isinstance(sources, str) != isinstance(targets, str):
            raise DataError(
                "one side is a single string, the other is not",
                where="the sources and targets",
                fix="give two strings, or two lists of strings",
            )
        if isinstance(sources, str) and isinstance(targets, str):
            return self.score([sources], [targets], to=to, report=report)[0]
        rows, wanted = self._reader.pairs(sources, targets, to)
        found = self.runtime.score(rows, wanted, self.config, report)
        return [sum(hypothesis.log_probs) for hypothesis in found]

    def align(self, sources: _Texts, targets: _Texts, *, to: str | None = None) -> list[Links]:
        """Which word of each source the words of its given translation come from: pairs of numbers, from 0."""
        rows, wanted = self._reader.pairs(sources, targets, to)
        pairs = [Pair(*pair) for pair in zip(sources, rows, targets, wanted, strict=True)]
        return align_all(self.runtime, pairs, self.tokenizers, self.config.alignment_heads)

    @overload
    def alternatives(self, text: str, *, at: int, **options: Unpack[AlternativesOptions]) -> Alternatives: ...
    @overload
    def alternatives(self, text: _Texts, *, at: int, **options: Unpack[AlternativesOptions]) -> list[Alternatives]: ...
    def alternatives(
        self,
        text: str | _Texts,
        *,
        at: int,
        count: int = COUNT,
        to: str | None = None,
        decode: DecodeConfig | None = None,
        translation: str | None = None,
    ) -> Alternatives | list[Alternatives]:
        """What else could stand at `tokens[at]` of a translation: the `count` most probable tokens there.

        Each comes with the best translation that has it at this position, after the same beginning. `translation` is
        a translation of your own to look at instead of the best one. `at` may also be the end, where `<eos>` stands.
        """
        texts = [text] if isinstance(text, str) else list(text)
        to, config = self.asked_language(to), decode or self.config
        rows = [self._reader.must_read(number, line, to) for number, line in enumerate(texts, start=1)]
        job = Job(rows, config, self.tokenizers.forbidden)
        if translation is None:
            best = self.settings(config.model_copy(update={"sample": False}), top_beams=1)
            given = [found.row for (found,) in self.runtime.search(replace(job, config=best))]
        else:
            given = [tuple(self.target_row(translation))] * len(rows)
        found = possible_at(self.runtime, job, given, at, count)
        done = [
            Alternatives.of_ids(line, row, at, ones, self.tokenizers)
            for line, row, ones in zip(texts, given, found, strict=True)
        ]
        return done[0] if isinstance(text, str) else done

    def trace(self, text: str, **options: Unpack[TraceOptions]) -> Trace:
        """Translate a sentence and record every step: `trace["encoder.0.self_attention.weights"]`.

        Options: `to`, `decode` and `prefix` as in `translate`; `heads_off` switches heads off,
        {"decoder.0.cross_attention": [0, 3]}; `reference` is a translation to compare with; `layers` names the layers
        whose weights to include, ["encoder.0", "output"] (unset: as many as keep the trace below `max_mb`).
        """
        from vitrail.decode.workers import on_cores
        from vitrail.trace import record  # like `explain`, an exception to the import order: ARCHITECTURE.md

        with on_cores(self.runtime.threads):
            return record(self, text, **options)

    def explain(self, text: str, *, live: bool | None = None, **options: Unpack[TraceOptions]) -> Explanation:
        """A sentence's trace as a page: a notebook shows it, `.save("page.html")` writes it. Options: see `trace`.

        A `live` page has the model inside and translates other sentences, too. Unset: if that keeps it below 15 MB.
        """
        from vitrail.decode.workers import on_cores
        from vitrail.explain import explain

        with on_cores(self.runtime.threads):
            return explain(self, text, live=live, **options)

    def without_heads(self, heads_off: Mapping[str, Iterable[int]]) -> Translator:
        """The same translator with some attention heads switched off: `{"decoder.0.cross_attention": [0, 3]}`."""
        from vitrail.model import without_heads

        changed = without_heads(self.model, heads_off)
        return Translator(
            Runtime(folder=self.folder, model=changed, threads=self.runtime.threads),
            self.tokenizers,
            self.config,
            target_language=self.target_language,
            folder=self.folder,
        )

    def with_others(self, others: Iterable[Translator]) -> Translator:
        """An ensemble: this model and others, which must have the same vocabularies.

        It predicts the mean of their probabilities. The settings are those of this model.
        """
        held = list(others)
        for other in held:
            self.tokenizers.refuse_others(other.tokenizers, where=f"{self.name}, {other.name}")
        return Translator(
            self.runtime.with_others([other.runtime for other in held]),
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
        from vitrail.decode.workers import on_cores

        to, start = self.asked_language(to), self._reader.start(prefix)
        row = self._reader.must_read(1, text, to)
        with on_cores(self.runtime.threads):
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
        return self._reader.target_row(text)

    def settings(
        self, decode: DecodeConfig | None = None, *, beam_size: int | None = None, top_beams: int | None = None
    ) -> DecodeConfig:
        """Search settings: `decode` or else the model's own, with these two overridden if given."""
        changes = {"beam_size": beam_size, "top_beams": top_beams}
        given = {key: value for key, value in changes.items() if value is not None}
        return change_settings(decode or self.config, given)

    def _begin(
        self,
        sentences: list[Sentence],
        config: DecodeConfig,
        wanted: Wanted,
        report: Report | None = None,
    ) -> Callable[[], list[Translation]]:
        """Start translating; what is returned waits for the translations."""
        results = self.runtime.begin(wanted.job(sentences, config, self.tokenizers.forbidden), report)

        def finish() -> list[Translation]:
            waiting = iter(results())
            found = [next(waiting) if sentence.row else [] for sentence in sentences]
            links = self._align(sentences, found, config) if wanted.align else None
            return Translation.of_search(
                sentences,
                found,
                config,
                self.tokenizers,
                curves=self._curves,
                alignments=links,
                missing=wanted.terms_missing,
            )

        return finish

    def _align(
        self, sentences: Sequence[Sentence], found: Sequence[Sequence[Hypothesis]], config: DecodeConfig
    ) -> list[Links]:
        """The links of every hypothesis of every sentence, one after the other."""
        pairs = [
            Pair(sentence.text, sentence.row or [], self.tokenizers.decode(one.ids), one.row)
            for sentence, ones in zip(sentences, found, strict=True)
            for one in ones
        ]
        return align_all(self.runtime, pairs, self.tokenizers, config.alignment_heads)


def load(model: str | Path, *, threads: int | None = None, ensemble: Iterable[str | Path] = ()) -> Translator:
    """Load the translator in a model folder; the name "builtin" loads the built-in model.

    `threads` is the number of cores to use; by default all of them. `ensemble` names other models with the same
    vocabularies, which translate together with this one.
    """
    if others := [load(other, threads=threads) for other in ensemble]:
        return load(model, threads=threads).with_others(others)
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
