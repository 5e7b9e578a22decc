"""Text in, Translation out: the one door for the command line, the server and the page."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pydantic import ValidationError

from vitrail.config import DecodeConfig
from vitrail.errors import DataError, DecodeError, TextError, did_you_mean
from vitrail.folder import ModelFolder
from vitrail.text import Tokenizers

if TYPE_CHECKING:
    from vitrail.decode import Hypothesis
    from vitrail.model import Transformer

MAX_SOURCE = 1024  # tokens; a longer line is cut, with a warning
CHUNK = 1024  # sentences that a stream holds at a time: enough to sort them by length

Report = Callable[[str, int, int | None], None]
OnUnknown = Literal["error", "skip"]


@dataclass(frozen=True)
class Alternative:
    """One of the translations that a search returned."""

    text: str
    tokens: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class Translation:
    """A sentence and its best translation; `alternatives` are all that were asked for (top_beams), best first."""

    source: str
    text: str
    tokens: tuple[str, ...]
    score: float
    alternatives: tuple[Alternative, ...]
    unknown: tuple[str, ...] = ()  # words that the model's vocabulary does not have
    was_cut: bool = False  # the source was longer than the model takes

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "tokens": list(self.tokens),
            "alternatives": [
                {"text": other.text, "score": other.score, "tokens": list(other.tokens)} for other in self.alternatives
            ],
            **({"unknown": list(self.unknown)} if self.unknown else {}),
            **({"was_cut": True} if self.was_cut else {}),
        }


class Translator:
    """A model with its vocabulary, ready to translate."""

    def __init__(
        self, model: Transformer, tokenizers: Tokenizers, config: DecodeConfig, *, target_language: str | None = None
    ) -> None:
        self.model = model
        self.tokenizers = tokenizers
        self.config = config
        self.target_language = target_language  # the only one, where there is one and it has a name

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages to choose from with `to`; none where the model has only one."""
        return self.tokenizers.languages

    @overload
    def translate(
        self,
        text: str,
        *,
        to: str | None = None,
        beam_size: int | None = None,
        top_beams: int | None = None,
        decode: DecodeConfig | None = None,
        prefix: str = "",
        on_unknown: OnUnknown = "error",
        report: Report | None = None,
    ) -> Translation: ...
    @overload
    def translate(
        self,
        text: list[str] | tuple[str, ...],
        *,
        to: str | None = None,
        beam_size: int | None = None,
        top_beams: int | None = None,
        decode: DecodeConfig | None = None,
        prefix: str = "",
        on_unknown: OnUnknown = "error",
        report: Report | None = None,
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

        `decode` replaces the model's own [decode] settings; `beam_size` and `top_beams` change just these. `prefix` is
        how every translation begins. A word without an id is an error, or, with `on_unknown="skip"`, leaves its
        sentence untranslated.
        """
        config = self.settings(decode, beam_size=beam_size, top_beams=top_beams)
        texts = [text] if isinstance(text, str) else list(text)
        sentences = [self._read(number, line, to, on_unknown) for number, line in enumerate(texts, start=1)]
        found = self._search([sentence.row for sentence in sentences if sentence.row], config, prefix, report)
        waiting = iter(found)
        done = [self._write(sentence, next(waiting) if sentence.row else []) for sentence in sentences]
        return done[0] if isinstance(text, str) else done

    def stream(
        self,
        lines: Iterable[str],
        *,
        to: str | None = None,
        decode: DecodeConfig | None = None,
        prefix: str = "",
        chunk: int = CHUNK,
        report: Report | None = None,
    ) -> Iterator[Translation]:
        """Translate any number of lines, a chunk at a time; a line with an unknown word comes out empty."""
        waiting, done = iter(lines), 0
        while texts := list(islice(waiting, chunk)):
            yield from self.translate(texts, to=to, decode=decode, prefix=prefix, on_unknown="skip")
            done += len(texts)
            if report is not None:
                report("translating", done, None)

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, to: str | None = None, report: Report | None = None
    ) -> list[float]:
        """The log-probability of each target given its source: the sum over its tokens, `<eos>` included."""
        from vitrail.decode import score_all

        if len(sources) != len(targets):
            raise DataError(
                f"there are {len(sources):,} sources and {len(targets):,} targets",
                fix="give as many of one as of the other",
            )
        rows = [self._row(number, line, to)[0] for number, line in enumerate(sources, start=1)]
        wanted = [self.tokenizers.encode_target(line) for line in targets]
        found = score_all(self.model, rows, wanted, self.config, report=report)
        return [sum(hypothesis.log_probs) for hypothesis in found]

    def settings(
        self, decode: DecodeConfig | None = None, *, beam_size: int | None = None, top_beams: int | None = None
    ) -> DecodeConfig:
        """The settings of a search: the model's, or `decode`, with these two changed where they are given."""
        changes = {"beam_size": beam_size, "top_beams": top_beams}
        given = {key: value for key, value in changes.items() if value is not None}
        return change_settings(decode or self.config, given)

    def _read(self, number: int, text: str, to: str | None, on_unknown: OnUnknown) -> _Sentence:
        """A line as the model reads it. A sentence without a row is not translated."""
        if not text.strip():
            return _Sentence(text)
        unknown = tuple(self.tokenizers.source.unknown(text))
        if not unknown:
            row, was_cut = self._row(number, text, to)
            return _Sentence(text, row, was_cut=was_cut)
        if on_unknown == "error":
            self._refuse(number, unknown)
        return _Sentence(text, unknown=unknown)

    def _row(self, number: int, text: str, to: str | None) -> tuple[list[int], bool]:
        """A source row, and whether it had to be cut."""
        is_the_only_one = to is not None and to == self.target_language and not self.languages
        row = self.tokenizers.encode_source(text, None if is_the_only_one else to)
        limit = min(MAX_SOURCE, self.model.max_positions or MAX_SOURCE)
        if len(row) <= limit:
            return row, False
        warnings.warn(f"line {number} has {len(row)} tokens; only the first {limit} are used", stacklevel=4)
        return [*row[: limit - 1], row[-1]], True

    def _search(
        self, rows: list[list[int]], config: DecodeConfig, prefix: str, report: Report | None
    ) -> list[list[Hypothesis]]:
        from vitrail.decode import search_all

        start = self.tokenizers.target.encode(prefix)
        return search_all(
            self.model,
            rows,
            config,
            forbidden=self.tokenizers.forbidden,
            prefixes=[start] * len(rows) if start else None,
            max_positions=self.model.max_positions,
            report=report,
        )

    def _write(self, sentence: _Sentence, hypotheses: list[Hypothesis]) -> Translation:
        found = tuple(
            Alternative(
                text=self.tokenizers.decode(hypothesis.ids),
                tokens=tuple(self.tokenizers.tokens(hypothesis.ids)),
                score=hypothesis.score,
            )
            for hypothesis in hypotheses
        )
        best = found[0] if found else Alternative("", (), 0.0)
        return Translation(
            sentence.text, best.text, best.tokens, best.score, found, unknown=sentence.unknown, was_cut=sentence.was_cut
        )

    def _refuse(self, number: int, unknown: tuple[str, ...]) -> None:
        source = self.tokenizers.source
        near = did_you_mean(unknown[0], (source.token(number) for number in range(source.size)))
        names = ", ".join(f"'{word}'" for word in unknown)
        raise TextError(
            f"this model does not know {names}",
            where=f"sentence {number}",
            fix=near or "use words of its vocabulary: `vitrail info MODEL --words` lists them",
        )


@dataclass(frozen=True)
class _Sentence:
    """A line on its way through."""

    text: str
    row: list[int] | None = None
    unknown: tuple[str, ...] = ()
    was_cut: bool = False


def load(path: str | Path) -> Translator:
    """The translator in a model folder."""
    folder = ModelFolder.open(Path(path))
    named = {target for _, target in folder.config.data.directions()}
    return Translator(
        folder.model(),
        folder.tokenizers,
        folder.config.decode,
        target_language=named.pop() if len(named) == 1 else None,
    )


def change_settings(config: DecodeConfig, changes: dict[str, Any]) -> DecodeConfig:
    """Decoding settings with some of them changed, and checked again."""
    try:
        return DecodeConfig.model_validate({**config.model_dump(), **changes})
    except ValidationError as error:
        first = error.errors()[0]
        what, _, fix = str(first.get("ctx", {}).get("error", first["msg"])).partition("|")
        name = ".".join(str(part) for part in first["loc"])
        raise DecodeError(f"{name}: {what}" if name else what, fix=fix or None) from None
