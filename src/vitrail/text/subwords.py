"""Subwords learnt by sentencepiece: frequent words are one token, rare ones several, and nothing is unknown."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from vitrail.errors import TextError
from vitrail.storage import new_file, regular
from vitrail.text.charsmap import has_charsmap
from vitrail.text.merges import Piece
from vitrail.text.spaces import tidy
from vitrail.text.special import BOS, EOS, PAD, SPECIAL_TOKENS, UNK, language_token

SubwordKind = Literal["bpe", "unigram"]

# The rarest characters, this share of the text, are spelled in bytes instead of having an id each. The first share with
# which the characters fit into the vocabulary is taken: the second and third are for scripts with thousands of them.
_RARE_CHARACTERS = (0.0001, 0.0005, 0.02)
LONGEST = 1 << 16  # bytes of a text that subwords are learnt from; longer ones are passed over


class Subwords:
    """A sentencepiece model. Byte fallback spells what it has not seen, so that any Unicode text goes through."""

    def __init__(self, model: bytes, kind: SubwordKind) -> None:
        from sentencepiece import SentencePieceProcessor

        self.kind: str = kind
        self._model = model
        self._pieces: Any = SentencePieceProcessor(model_proto=model)

    @classmethod
    def train(cls, texts: Iterable[str], kind: SubwordKind, size: int, languages: Sequence[str]) -> Subwords:
        """Learn `size` subwords, or as many as the texts have in them. The same texts give the same bytes."""
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
        """How many ids there are, specials included."""
        return int(self._pieces.get_piece_size())

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Typed "<eos>" or "<0x41>" is text like any other."""
        _refuse_surrogates(text)
        return list(self._pieces.encode(tidy(text)))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, on every core."""
        return list(self._pieces.encode([tidy(text) for text in texts], num_threads=-1))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; specials leave no trace, but for `<unk>`."""
        # Left in, a symbol would part the bytes of a character that stand before and after it.
        return tidy(self._pieces.decode([number for number in ids if not self._pieces.is_control(number)]))

    def token(self, token_id: int) -> str:
        """How one id is written on a screen; "▁" is the space before a word."""
        return str(self._pieces.id_to_piece(token_id))

    def is_special(self, token_id: int) -> bool:
        """Whether an id stands for no text: `<eos>`, a language symbol."""
        return bool(self._pieces.is_control(token_id) or self._pieces.is_unknown(token_id))

    def pieces(self) -> dict[str, Piece]:
        """Every piece of text that has an id; bytes and special symbols are none."""
        texts = [n for n in range(self.size) if not (self.is_special(n) or self._pieces.is_byte(n))]
        return {self.token(number): Piece(number, self._pieces.get_score(number)) for number in texts}

    def begins_with(self, symbols: Sequence[str], first: int = 0) -> bool:
        """Whether these are the ids from `first` on, and stand for no text."""
        ids = range(first, min(first + len(symbols), self.size))
        return [self.token(n) for n in ids] == list(symbols) and all(map(self.is_special, ids))

    def _refuse_odd_pieces(self) -> None:
        """A ValueError for pieces that are not Unicode, or have scores that no comparison can order."""
        ids = list(range(self.size))
        self._pieces.id_to_piece(ids)
        if not all(map(isfinite, self._pieces.get_score(ids))):
            raise ValueError("a score is not a number")

    def unknown(self, text: str) -> list[str]:
        """Nothing: bytes can spell every word."""
        return []

    def save(self, path: Path) -> None:
        """Write the model in sentencepiece's own format."""
        with new_file(path) as partial:
            partial.write_bytes(self._model)

    @classmethod
    def load(cls, path: Path, kind: SubwordKind) -> Subwords:
        """Read a model that `save` wrote."""
        try:
            model = regular(path).read_bytes()
            if not model:  # sentencepiece would take this for "no model yet"
                raise ValueError("empty")
            if has_charsmap(model):
                raise TextError(
                    "this sentencepiece model rewrites text by a table of its own",
                    where=str(path),
                    fix="use a vocabulary that vitrail trained",
                )
            subwords = cls(model, kind)
            subwords._refuse_odd_pieces()
        except FileNotFoundError:
            raise TextError("the vocabulary is missing", where=str(path), fix="copy the whole folder") from None
        except OSError as error:
            raise TextError(f"cannot read the vocabulary: {error.strerror}", where=str(path)) from None
        except (ValueError, RuntimeError):  # the second is all that sentencepiece says of bytes it cannot read
            raise TextError("this is not a sentencepiece model", where=str(path), fix="copy it again") from None
        if not subwords.begins_with(SPECIAL_TOKENS):
            raise TextError(
                f"this sentencepiece model does not begin with {' '.join(SPECIAL_TOKENS)}",
                where=str(path),
                fix="use a vocabulary that vitrail trained",
            )
        return subwords


def _train(texts: Sequence[str], kind: SubwordKind, size: int, languages: Sequence[str], rare: float) -> bytes:
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    pad, unk, bos, eos = SPECIAL_TOKENS
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type=kind,
        vocab_size=size,
        hard_vocab_limit=False,  # a small corpus gives a smaller vocabulary, not an error
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        pad_piece=pad,
        unk_piece=unk,
        bos_piece=bos,
        eos_piece=eos,
        unk_surface=f" {unk}",
        # Control symbols have ids but no spelling: no typed text turns into one.
        control_symbols=[language_token(language) for language in languages],
        byte_fallback=True,
        character_coverage=1 - rare,
        normalization_rule_name="identity",
        remove_extra_whitespaces=True,
        max_sentence_length=LONGEST,
        num_threads=1,  # sums of floats depend on how they are split: one thread gives the same model everywhere
        minloglevel=2,
    )
    return model.getvalue()


def _refuse_surrogates(text: str) -> None:
    """Half a character, which Python makes of bytes that are not UTF-8, can be neither looked up nor spelled."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        shown = text.encode("utf-8", "backslashreplace").decode("utf-8")[:60]
        raise TextError(f"this is not Unicode text: '{shown}'", fix="check its encoding: it should be UTF-8") from None
