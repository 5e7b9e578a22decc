"""BPE-dropout on rows of ids: words are split differently every epoch, so that a model learns what subwords mean.

A word has up to 64 splits ("ways"). Seed, word and way number determine each of them; it is computed once and cached.
Seed, epoch and line determine which split each word of a line gets, so any batch can be reproduced.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vitrail.config import VOCABULARIES
from vitrail.errors import ConfigError
from vitrail.text import Subwords, Tokenizer, Tokenizers
from vitrail.text.merges import SPACE, Merges

WAYS: Final = 64
MEMORY: Final = 1 << 20  # cached ways, about 130 bytes each; further ones are computed every time
_BYTES: Final = 4  # of an id, in the keys below

Row = NDArray[np.int32]


class SubwordDropout:
    """Splits the words of a pair's rows anew. A row that would become too long is left unchanged."""

    def __init__(self, tokenizers: Tokenizers, *, share: float, seed: int, longest: int | None = None) -> None:
        self._source = _Side(tokenizers.source, share, seed)
        self._target = self._source if tokenizers.joint else _Side(tokenizers.target, share, seed)
        self._seed, self._longest = seed, longest

    def vary(self, source: Row, target: Row, *, epoch: int, shard: int, line: int) -> tuple[Row, Row]:
        """The rows of a pair for an epoch. Special symbols keep their places."""
        sources, targets = self._source.words(source), self._target.words(target)
        # Python's generator: setting one up takes a third of the time NumPy's takes.
        drawn = random.Random(f"{self._seed} {epoch} {shard} {line}").randbytes(len(sources) + len(targets))
        varied_source = self._source.join(sources, drawn[: len(sources)])
        varied_target = self._target.join(targets, drawn[len(sources) :])
        return self._fitting(varied_source, source), self._fitting(varied_target, target)

    def _fitting(self, varied: Row, plain: Row) -> Row:
        return plain if self._longest is not None and len(varied) > self._longest else varied


class _Side:
    """One vocabulary's words and their ways. A word is the bytes of its ids: fast to slice, look up and join."""

    def __init__(self, tokenizer: Tokenizer, share: float, seed: int) -> None:
        if not isinstance(tokenizer, Subwords) or not VOCABULARIES[tokenizer.kind].has_merges:
            raise ConfigError(
                f"train.subword_dropout cannot be combined with a vocabulary of kind '{tokenizer.kind}'",
                where="[train] subword_dropout",
                fix="only 'bpe' has merges to drop: prepare data with a 'bpe' vocabulary, or set subword_dropout to 0",
            )
        self._share, self._seed = share, seed
        pieces = tokenizer.pieces()
        self._merges = Merges(pieces)
        self._texts = {piece.id: text for text, piece in pieces.items()}
        ids = range(tokenizer.size)
        self._begins = [tokenizer.is_special(n) or self._texts.get(n, "").startswith(SPACE) for n in ids]
        self._known: dict[bytes, bytes] = {}

    def words(self, row: Row) -> list[bytes]:
        """A row, split before every word and special symbol."""
        begins, flat = self._begins, row.tobytes()
        cuts = [place * _BYTES for place, number in enumerate(row.tolist()) if begins[number] or place == 0]
        return [flat[start:end] for start, end in pairwise([*cuts, len(flat)])]

    def join(self, words: list[bytes], drawn: bytes) -> Row:
        """The row in which each word takes the way drawn for it."""
        known, found = self._known, []
        for word, byte in zip(words, drawn, strict=True):
            key = word + _WAY[byte]
            other = known.get(key)
            if other is None:
                other = self._way(word, byte % WAYS)
                if len(known) < MEMORY:
                    known[key] = other
            found.append(other)
        return np.frombuffer(b"".join(found), dtype=np.int32)

    def _way(self, word: bytes, way: int) -> bytes:
        ids = np.frombuffer(word, dtype=np.int32).tolist()
        if not all(number in self._texts for number in ids) or not self._texts[ids[0]].startswith(SPACE):
            return word  # it contains byte pieces, or is a special symbol
        draw = random.Random(f"{self._seed} {way} {word.hex()}").random
        text = "".join(self._texts[number] for number in ids)
        varied = self._merges.segment(text, is_dropped=lambda: draw() < self._share)
        other = np.array(varied, dtype=np.int32).tobytes() if varied is not None else word
        return word if other == word else other  # reusing the same object saves memory


_WAY = [bytes([byte % WAYS]) for byte in range(256)]
