"""What every tokenizer offers. A model has two, one for each side: `pair.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Tokenizer(Protocol):
    """Text <-> ids for one side. Ids 0 to 3 are `<pad> <unk> <bos> <eos>`; the language symbols follow."""

    kind: str  # a name in config.VOCABULARIES

    @property
    def size(self) -> int:
        """The number of ids, special symbols included."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without `<eos>`; the only special symbol it may contain is `<unk>`."""

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special symbols other than `<unk>` are dropped."""

    def token(self, token_id: int) -> str:
        """How to display one id."""

    def begins_with(self, symbols: Sequence[str], first: int = 0) -> bool:
        """Whether the ids from `first` on are these control symbols."""

    def unknown(self, text: str) -> list[str]:
        """The words of a text that have no id, in order and without duplicates; always empty for subwords."""

    def save(self, path: Path) -> None:
        """Write one file that the same class's `load` reads."""
