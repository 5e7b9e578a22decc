"""What every tokenizer offers. The pair of them that a model has is in `pair.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Tokenizer(Protocol):
    """One side's text <-> ids. Ids 0 to 3 are `<pad> <unk> <bos> <eos>`, then the language symbols."""

    kind: str  # "word", "bpe" or "unigram"

    @property
    def size(self) -> int:
        """How many ids there are, specials included."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without `<eos>` or any other special but `<unk>`."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; specials leave no trace, but for `<unk>`."""

    def token(self, token_id: int) -> str:
        """How one id is written on a screen."""

    def begins_with(self, symbols: Sequence[str], first: int = 0) -> bool:
        """Whether these are the ids from `first` on, and stand for no text."""

    def unknown(self, text: str) -> list[str]:
        """The words of a text that have no id, in order, each once; always empty for subwords."""

    def save(self, path: Path) -> None:
        """Write one file that the same class's `load` reads."""
