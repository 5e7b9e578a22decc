"""Subwords learnt by sentencepiece: a frequent word is one token, a rare one several, and nothing is unknown."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from vitrail.errors import TextError
from vitrail.storage import new_file, regular
from vitrail.text.charsmap import check_charsmap, has_charsmap
from vitrail.text.merges import Piece
from vitrail.text.spaces import tidy
from vitrail.text.special import BOS, EOS, FIRST_LANGUAGE, LARGEST, PAD, SPECIAL_TOKENS, UNK, language_token
from vitrail.text.wire import bytes_field, fields, number_field

# The rarest characters, up to this share of the text, get no id of their own and are spelled in bytes. The first share
# at which the other characters fit into the vocabulary is used: scripts with thousands of characters need a larger one.
_RARE_CHARACTERS = (0.0001, 0.0005, 0.02)
LONGEST = 1 << 16  # bytes; longer texts are skipped when subwords are learnt
_PIECES, _SPELLING, _KIND, _CONTROL = 1, 1, 3, 3  # ModelProto.pieces; SentencePiece.piece, .type; its type CONTROL


class Subwords:
    """A sentencepiece model. It spells unseen characters in bytes (byte fallback), so any Unicode text has ids."""

    def __init__(self, model: bytes, kind: str) -> None:
        from sentencepiece import SentencePieceProcessor

        self.kind = kind
        self.model = model
        self._pieces: Any = SentencePieceProcessor(model_proto=model)

    @cached_property
    def _tokens(self) -> list[str]:
        """All pieces. Asking for them one by one takes longer than a translation."""
        return list(self._pieces.id_to_piece(list(range(self.size))))

    @cached_property
    def _controls(self) -> frozenset[int]:
        """The special symbols other than `<unk>`."""
        return frozenset(number for number in range(self.size) if self._pieces.is_control(number))

    @classmethod
    def train(cls, texts: Iterable[str], kind: str, size: int, languages: Sequence[str]) -> Subwords:
        """Learn `size` subwords, or fewer if the texts have no more. The same texts give the same model, byte for byte.

        `kind` is sentencepiece's name for the algorithm.
        """
        held = [tidied for text in texts if (tidied := tidy(text))]
        if held and all(len(text.encode("utf-8")) > LONGEST for text in held):
            raise TextError(
                f"every line is longer than {LONGEST:,} bytes", fix="write one sentence on each line of the corpus"
            )
        if not held:
            raise TextError("there is no text to learn subwords from", fix="give a corpus that is not empty")
        for rare in _RARE_CHARACTERS:
            try:
                return cls(_train(held, kind, size, languages, rare), kind)
            except RuntimeError as error:
                needed = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
                if needed is None:
                    raise
        raise TextError(
            f"a vocabulary of {size} has no room for the special symbols, 256 bytes and the characters of the text",
            where="data.vocabulary_size",
            fix=f"set it to more than {needed[1]}" if needed else None,
        )

    @property
    def size(self) -> int:
        """The number of ids, special symbols included."""
        return int(self._pieces.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """The ids of a text. A typed "<eos>" or "<0x41>" is ordinary text."""
        refuse_surrogates(text)
        return list(self._pieces.encode(tidy(text)))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, computed on every core."""
        return list(self._pieces.encode([tidy(text) for text in texts], num_threads=-1))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special symbols other than `<unk>` are dropped."""
        return self.decode_all([ids])[0]

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of ids: sentencepiece takes as long for a row alone as for ten."""
        # A symbol between the bytes of a character would split the character: drop symbols first.
        texts = [[number for number in ids if number not in self._controls] for ids in rows]
        return [tidy(text) for text in self._pieces.decode(texts, num_threads=1)] if texts else []

    def token(self, token_id: int) -> str:
        """How to display one id; "▁" is the space before a word."""
        return self._tokens[token_id]

    def is_special(self, token_id: int) -> bool:
        """Whether an id represents no text, such as `<eos>` or a language symbol."""
        return token_id in self._controls or bool(self._pieces.is_unknown(token_id))

    def pieces(self) -> dict[str, Piece]:
        """Every piece of text that has an id, without bytes and special symbols."""
        texts = [n for n in range(self.size) if not (self.is_special(n) or self._pieces.is_byte(n))]
        return {self.token(number): Piece(number, self._pieces.get_score(number)) for number in texts}

    def begins_with(self, symbols: Sequence[str], first: int = 0) -> bool:
        """Whether the ids from `first` on are these control symbols."""
        ids = range(first, min(first + len(symbols), self.size))
        return [self.token(n) for n in ids] == list(symbols) and all(map(self.is_special, ids))

    def unknown(self, text: str) -> list[str]:
        """Always empty: bytes can spell every word."""
        return []

    def table(self) -> dict[str, Any]:
        """The tokens and scores of all ids, which of them are special symbols, and the id of each byte."""
        ids = range(self.size)
        return {
            "kind": self.kind,
            "tokens": [self.token(number) for number in ids],
            "scores": [self._pieces.get_score(number) for number in ids],
            "control": [number for number in ids if self._pieces.is_control(number)],
            "bytes": [int(self._pieces.piece_to_id(f"<0x{byte:02X}>")) for byte in range(256)],
        }

    def with_languages(self, known: Sequence[str], new: Sequence[str]) -> Subwords:
        """The same pieces, and a symbol for each new language behind those of the known ones."""
        place = FIRST_LANGUAGE + len(known)
        symbols = [language_token(language).encode("utf-8") for language in new]
        added = [bytes_field(_SPELLING, symbol) + number_field(_KIND, _CONTROL) for symbol in symbols]
        held = list(fields(self.model))
        pieces, rest = ([one for one in held if (one[0] == _PIECES) == of_text] for of_text in (True, False))
        pieces[place:place] = [(_PIECES, piece) for piece in added]
        return Subwords(b"".join(bytes_field(number, content) for number, content in (*pieces, *rest)), self.kind)

    def save(self, path: Path) -> None:
        """Write the model in sentencepiece's own format."""
        with new_file(path) as partial:
            partial.write_bytes(self.model)

    @classmethod
    def load(cls, path: Path, kind: str) -> Subwords:
        """Read a model that `save` wrote."""
        model = read_model(path)
        if has_charsmap(model):
            raise TextError(
                "this sentencepiece model has a table of its own that rewrites text",
                where=str(path),
                fix="use a vocabulary that vitrail trained",
            )
        subwords = cls(model, kind)
        if not subwords.begins_with(SPECIAL_TOKENS):
            raise TextError(
                f"this sentencepiece model does not begin with {' '.join(SPECIAL_TOKENS)}",
                where=str(path),
                fix="use a vocabulary that vitrail trained",
            )
        return subwords


def read_model(path: Path) -> bytes:
    """A sentencepiece model that the library can read: its pieces are Unicode, and its scores can be compared."""
    from sentencepiece import SentencePieceProcessor

    try:
        model = regular(path, most=LARGEST).read_bytes()
        if not model:  # sentencepiece would accept this as "no model yet"
            raise ValueError("empty")
        check_charsmap(model)
        pieces: Any = SentencePieceProcessor(model_proto=model)
        ids = list(range(pieces.get_piece_size()))
        pieces.id_to_piece(ids)
        pieces.decode([pieces.unk_id()])  # it is written with a text of its own
        if not all(map(isfinite, pieces.get_score(ids))):
            raise ValueError("a score is not a number")
        return model
    except FileNotFoundError:
        raise TextError("the vocabulary is missing", where=str(path), fix="copy the whole folder") from None
    except OSError as error:
        raise TextError(f"cannot read the vocabulary: {error.strerror}", where=str(path)) from None
    except (ValueError, RuntimeError) as error:  # a RuntimeError is sentencepiece's only answer to bytes it cannot read
        why = f": {error}" if str(error).startswith("its table") else ""
        raise TextError(f"this is not a sentencepiece model{why}", where=str(path), fix="copy it again") from None


def _train(texts: Sequence[str], kind: str, size: int, languages: Sequence[str], rare: float) -> bytes:
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    pad, unk, bos, eos = SPECIAL_TOKENS
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,  # for a small corpus, learn a smaller vocabulary instead of failing
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        pad_piece=pad,
        unk_piece=unk,
        bos_piece=bos,
        eos_piece=eos,
        unk_surface=f" {unk}",
        # Control symbols have ids but no spelling, so typed text never becomes one.
        control_symbols=[language_token(language) for language in languages],
        byte_fallback=True,
        character_coverage=1 - rare,
        normalization_rule_name="identity",
        remove_extra_whitespaces=True,
        max_sentence_length=LONGEST,
        num_threads=1,  # how threads split sums of floats changes them: one thread gives the same model everywhere
        minloglevel=2,
    )
    return model.getvalue()


def refuse_surrogates(text: str) -> None:
    """Refuse half characters, which Python makes of bytes that are not UTF-8: sentencepiece cannot encode them."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        shown = text.encode("utf-8", "backslashreplace").decode("utf-8")[:60]
        raise TextError(f"this is not Unicode text: '{shown}'", fix="check its encoding: it should be UTF-8") from None
