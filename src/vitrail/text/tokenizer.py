"""What every tokenizer offers. A model has two, one for each side: `pair.py`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self


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

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of ids."""

    def token(self, token_id: int) -> str:
        """How to display one id."""

    def begins_with(self, symbols: Sequence[str], first: int = 0) -> bool:
        """Whether the ids from `first` on are these control symbols."""

    def unknown(self, text: str) -> list[str]:
        """The words of a text that have no id, in order and without duplicates; always empty for subwords."""

    def table(self) -> dict[str, Any]:
        """All of it as plain values, for a page that encodes and decodes as this one does. A kind may refuse."""

    def with_languages(self, known: Sequence[str], new: Sequence[str]) -> Self:
        """The same vocabulary, and a symbol for each new language behind those of the known ones."""

    def save(self, path: Path) -> None:
        """Write the file that the same class's `load` reads, and what belongs beside it."""
