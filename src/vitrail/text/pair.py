"""The two vocabularies of a model, source and target, and the rows of ids that the model reads.

Joint vocabularies are one object: the source's is the target's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field

from vitrail.documents import Document
from vitrail.errors import TextError, did_you_mean
from vitrail.storage import explained, read_text, write_text
from vitrail.text.kinds import TOKENIZER_KINDS
from vitrail.text.special import BOS, EOS, FIRST_LANGUAGE, PAD, UNK, language_token
from vitrail.text.tokenizer import Tokenizer

DESCRIPTION = "tokenizer.json"
_TO = "the target language (--to, in Python to=)"


@dataclass(frozen=True)
class Tokenizers:
    """Text <-> ids for both sides. `languages` are the target languages to choose from; empty if there is only one."""

    source: Tokenizer
    target: Tokenizer  # the same object as `source` when joint
    languages: tuple[str, ...] = ()
    same_ids: bool = False  # two objects that split text differently, but give a token the same id

    @classmethod
    def train(
        cls,
        sources: Iterable[str],
        targets: Iterable[str],
        *,
        kind: str,
        size: int,
        joint: bool,
        languages: Sequence[str],
    ) -> Self:
        """Learn one vocabulary of `size` for both sides, or one for each."""
        learn = TOKENIZER_KINDS[kind].learn
        if joint:
            both = learn(chain(sources, targets), size, languages)
            return cls(both, both, tuple(languages))
        return cls(learn(sources, size, languages), learn(targets, size, languages), tuple(languages))

    def with_languages(self, languages: Sequence[str]) -> Self:
        """The same vocabularies with symbols for these languages as well; every other id may move."""
        new = [language for language in languages if language not in self.languages]
        if not new:
            return self
        source = self.source.with_languages(self.languages, new)
        is_one = self.source is self.target
        target = source if is_one else self.target.with_languages(self.languages, new)
        return type(self)(source, target, (*self.languages, *new), self.same_ids)

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary: a token has the same id on both."""
        return self.same_ids or self.source is self.target

    @property
    def forbidden(self) -> tuple[int, ...]:
        """The target ids that a translation must not contain."""
        return (PAD, UNK, BOS, *range(FIRST_LANGUAGE, FIRST_LANGUAGE + len(self.languages)))

    def language_id(self, to: str) -> int:
        """The id of the symbol that asks for a translation into `to`."""
        return self._asks_for(to)[0]

    def encode_source(self, text: str, to: str | None = None) -> list[int]:
        """A source row: the target language's symbol if there are several languages, the text, `<eos>`."""
        return [*self._asks_for(to), *self.source.encode(text), EOS]

    def encode_target(self, text: str) -> list[int]:
        """A target row: the text, `<eos>`."""
        return [*self.target.encode(text), EOS]

    def encode_sources(self, texts: Sequence[str], to: Sequence[str | None]) -> list[list[int]]:
        """The source rows of many texts, each with its own target language; faster than one by one."""
        symbols = {language: self._asks_for(language) for language in set(to)}
        rows = zip(to, self.source.encode_all(texts), strict=True)
        return [[*symbols[language], *ids, EOS] for language, ids in rows]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """The target rows of many texts; faster than one by one."""
        return [[*ids, EOS] for ids in self.target.encode_all(texts)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of target ids."""
        return self.target.decode(ids)

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of target ids; faster than one by one."""
        return self.target.decode_all(rows)

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """How to display target ids."""
        return [self.target.token(token_id) for token_id in ids]

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        """How to display source ids."""
        return [self.source.token(token_id) for token_id in ids]

    def refuse_others(self, other: Tokenizers, *, where: str) -> None:
        """Raise an error if the same ids do not mean the same to both."""
        for side, mine, others in (("source", self.source, other.source), ("target", self.target, other.target)):
            if mine.size != others.size:
                what = f"the {side} vocabularies differ: one has {mine.size:,} tokens, the other {others.size:,}"
            elif (odd := next((n for n in range(mine.size) if mine.token(n) != others.token(n)), None)) is not None:
                what = (
                    f"the {side} vocabularies differ: token {odd:,} is '{mine.token(odd)}' in one "
                    f"and '{others.token(odd)}' in the other"
                )
            else:
                continue
            fix = (
                "an ensemble needs models that were trained on the same prepared data, or at least with its vocabulary"
            )
            raise TextError(what, where=where, fix=fix)

    def save(self, folder: Path) -> None:
        """Write a file for each vocabulary, and one that describes them."""
        one = self.source is self.target
        sides = {"": self.source} if one else {"source.": self.source, "target.": self.target}
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for side, tokenizer in sides.items():
                tokenizer.save(folder / f"{side}{TOKENIZER_KINDS[tokenizer.kind].file_name}")
        description = {"kind": self.target.kind, "joint": self.joint, "languages": self.languages}
        write_text(folder / DESCRIPTION, json.dumps(description) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what `save` wrote."""
        known = _read_description(folder / DESCRIPTION)
        kind = TOKENIZER_KINDS[known.kind]
        if known.joint and not kind.per_side:
            both = _load(folder / kind.file_name, known)
            return cls(both, both, tuple(known.languages))
        source, target = (_load(folder / f"{side}.{kind.file_name}", known) for side in ("source", "target"))
        if known.joint and _tokens(source) != _tokens(target):
            raise TextError(
                "the two sides should have the same tokens, but have different ones",
                where=str(folder),
                fix="copy the whole folder: files of different vocabularies cannot be mixed",
            )
        return cls(source, target, tuple(known.languages), same_ids=known.joint)

    def _asks_for(self, to: str | None) -> list[int]:
        """What precedes a source row: one symbol if there are languages to choose from, otherwise nothing."""
        if to in self.languages:
            return [FIRST_LANGUAGE + self.languages.index(to)]
        if to is None and not self.languages:
            return []
        choices = f"choose one of: {', '.join(self.languages)}"
        if to is None:
            raise TextError("this model translates into several languages", where=_TO, fix=choices)
        if self.languages:
            near = did_you_mean(to, self.languages)
            raise TextError(
                f"this model does not translate into '{to}'",
                where=_TO,
                fix=f"{near} {choices}" if near else choices,
            )
        raise TextError(
            f"this model translates into one language only, so it cannot be asked for '{to}'",
            where=_TO,
            fix="leave the language out",
        )


def _load(path: Path, known: _Description) -> Tokenizer:
    """One side's vocabulary. The symbols of the languages must have the ids that `Tokenizers` gives them."""
    loaded = TOKENIZER_KINDS[known.kind].load(path)
    if not loaded.begins_with([language_token(language) for language in known.languages], FIRST_LANGUAGE):
        raise TextError(
            f"this vocabulary does not begin with the symbols of {', '.join(known.languages)}",
            where=str(path),
            fix="copy the whole folder: files of different vocabularies cannot be mixed",
        )
    return loaded


def _tokens(tokenizer: Tokenizer) -> list[str]:
    return [tokenizer.token(number) for number in range(tokenizer.size)]


class _Description(Document):
    """The contents of the file that describes the vocabularies."""

    kind: str
    joint: bool
    languages: list[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,15}\z")]]  # as in the settings


def _read_description(path: Path) -> _Description:
    try:
        known = _Description.parse(read_text(path))
        if known.kind not in TOKENIZER_KINDS:
            raise ValueError(f"unknown kind {known.kind!r}")
        return known
    except FileNotFoundError:
        raise TextError("there is no vocabulary here", where=str(path), fix="copy the whole folder") from None
    except OSError as error:
        raise TextError(f"cannot read the vocabulary: {error.strerror}", where=str(path)) from None
    except ValueError as error:
        raise TextError(f"this does not describe a vocabulary: {error}", where=str(path), fix="copy it again") from None
