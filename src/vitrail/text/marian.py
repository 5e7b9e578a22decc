"""The vocabulary of an imported Marian model: sentencepiece splits the text, a list gives the pieces their ids.

The two sides of a model split text in ways of their own, even if they share the list. A piece that is not in the list
is unknown: it becomes `<unk>`, as in Marian.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from vitrail.documents import Document
from vitrail.errors import TextError
from vitrail.storage import new_file, read_text, write_text
from vitrail.text.merges import SPACE
from vitrail.text.punctuation import normalised
from vitrail.text.spaces import tidy
from vitrail.text.special import FIRST_LANGUAGE, LARGEST, SPECIAL_TOKENS, UNK, language_token
from vitrail.text.subwords import read_model, refuse_surrogates

KIND = "marian"
_UNKNOWN = SPACE + SPECIAL_TOKENS[UNK]  # how `<unk>` is written in a text


class ListedPieces:
    """One side's sentencepiece model, and the list of pieces that have ids: ours come first, theirs follow."""

    kind = KIND

    def __init__(
        self, model: bytes, pieces: Sequence[str], languages: Sequence[str], *, punctuation: str | None = None
    ) -> None:
        """`punctuation` is the language by whose rules punctuation is normalised; None leaves it as it is."""
        from sentencepiece import SentencePieceProcessor

        self.model, self.pieces, self.languages = model, tuple(pieces), tuple(languages)
        self.punctuation = punctuation
        self._splitter: Any = SentencePieceProcessor(model_proto=model)
        self._tokens = (*SPECIAL_TOKENS, *map(language_token, languages), *pieces)
        self._first_piece = FIRST_LANGUAGE + len(self.languages)
        # Only pieces can be looked up, so typed text never becomes a special symbol.
        self._id_of = {piece: number for number, piece in enumerate(pieces, start=self._first_piece)}

    @property
    def size(self) -> int:
        """The number of ids, special symbols included."""
        return len(self._tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's pieces; `<unk>` for each that is not in the list."""
        return self._ids(self._splitter.encode(self._plain(text), out_type=str))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, split on every core."""
        plain = [self._plain(text) for text in texts]
        return [self._ids(pieces) for pieces in self._splitter.encode(plain, out_type=str, num_threads=-1)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special symbols other than `<unk>` are dropped."""
        pieces = [
            _UNKNOWN if number == UNK else self._tokens[number]
            for number in ids
            if number >= self._first_piece or number == UNK
        ]
        # sentencepiece puts bytes together, and leaves alone what only the other side's model has.
        return tidy(self._splitter.decode_pieces(pieces).replace(SPACE, " "))

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of ids."""
        return [self.decode(ids) for ids in rows]

    def token(self, token_id: int) -> str:
        """How to display one id; "▁" is the space before a word."""
        return self._tokens[token_id]

    def begins_with(self, symbols: Sequence[str], first: int = 0) -> bool:
        """Whether the ids from `first` on are these control symbols."""
        last = first + len(symbols)
        return self._tokens[first:last] == tuple(symbols) and last <= self._first_piece

    def unknown(self, text: str) -> list[str]:
        """Always empty: a model that was trained with `<unk>` translates around it."""
        return []

    def table(self) -> NoReturn:
        """Refuse: the page's own engine cannot split text as this vocabulary does."""
        raise TextError(
            f"a page cannot translate by itself with a vocabulary of kind '{self.kind}'",
            where="the vocabulary of this model",
            fix="open the model in the studio, or write a page of one translation: `vitrail explain`",
        )

    def with_languages(self, known: Sequence[str], new: Sequence[str]) -> ListedPieces:
        """The same pieces, and a symbol for each new language behind those of the known ones."""
        return ListedPieces(self.model, self.pieces, (*known, *new), punctuation=self.punctuation)

    def save(self, path: Path) -> None:
        """Write the list as JSON and, beside it, the sentencepiece model."""
        listed = {"punctuation": self.punctuation, "languages": self.languages, "pieces": self.pieces}
        write_text(path, json.dumps(listed, ensure_ascii=False, indent=0) + "\n")
        with new_file(_model_of(path)) as partial:
            partial.write_bytes(self.model)

    @classmethod
    def learn(cls, _texts: Iterable[str], _size: int, _languages: Sequence[str]) -> NoReturn:
        """Refuse: this kind is not learnt here."""
        raise TextError(
            f"a vocabulary of kind '{cls.kind}' cannot be learnt from texts: it comes with an imported model",
            where="data.vocabulary",
            fix="set it to 'bpe', or start from the imported model",
        )

    @classmethod
    def load(cls, path: Path) -> ListedPieces:
        """Read what `save` wrote."""
        try:
            listed = _List.parse(read_text(path, most=LARGEST))
            _check(listed.pieces, listed.languages)
        except FileNotFoundError:
            raise TextError("the vocabulary is missing", where=str(path), fix="copy the whole folder") from None
        except OSError as error:
            raise TextError(f"cannot read the vocabulary: {error.strerror}", where=str(path)) from None
        except ValueError as error:
            raise TextError(f"this is not a list of pieces: {error}", where=str(path), fix="copy it again") from None
        return cls(read_model(_model_of(path)), listed.pieces, listed.languages, punctuation=listed.punctuation)

    def _plain(self, text: str) -> str:
        refuse_surrogates(text)
        text = tidy(text)
        return text if self.punctuation is None else normalised(text, self.punctuation)

    def _ids(self, pieces: Iterable[str]) -> list[int]:
        return [self._id_of.get(piece, UNK) for piece in pieces]


class _List(Document):
    """The contents of the file."""

    punctuation: str | None
    languages: list[str]
    pieces: list[str]


def _model_of(path: Path) -> Path:
    """Where the sentencepiece model is: beside the list."""
    return path.with_suffix(".spm")


def _check(pieces: Sequence[str], languages: Sequence[str]) -> None:
    for name, entries in (("pieces", pieces), ("languages", languages)):
        if len(set(entries)) != len(entries):
            raise ValueError(f"'{name}' has a duplicate")
        for entry in entries:
            entry.encode("utf-8")  # a UnicodeEncodeError for half a character is a ValueError
