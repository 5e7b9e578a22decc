"""The table in a sentencepiece model that rewrites text before it is split into pieces.

Our own models have none (`normalization_rule_name="identity"`); those of OPUS-MT have one (NFKC). It is a compiled
structure full of offsets, and not every version of the library checks them before it follows them. So a stranger's
table only reaches it after `check_charsmap`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vitrail.text.wire import fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NORMALIZERS = (3, 5)  # ModelProto.normalizer_spec, .denormalizer_spec
_TABLE = 2  # NormalizerSpec.precompiled_charsmap
_LONGEST = 256  # bytes that one character may become; NFKC's longest are 33


def has_charsmap(model: bytes) -> bool:
    """Whether there is such a table; a ValueError if the bytes are not a message at all."""
    return any(True for _ in _tables(model))


def check_charsmap(model: bytes) -> None:
    """Raise a ValueError if following the offsets of a table in this model could lead out of it."""
    import numpy as np

    for table in _tables(model):
        size = int.from_bytes(table[:4], "little")
        trie, texts = table[4 : 4 + size], table[4 + size :]
        if len(trie) != size or size % 4 or not size or not texts.endswith(b"\0"):
            raise ValueError("its table that rewrites text is incomplete")
        if max(map(len, texts.split(b"\0"))) > _LONGEST:
            raise ValueError("its table makes long texts of single characters")
        texts.decode("utf-8")
        _check_trie(np.frombuffer(trie, dtype="<u4").astype(np.int64), np.frombuffer(texts, dtype=np.uint8))


def _check_trie(units: NDArray[Any], texts: NDArray[Any]) -> None:
    """A double-array trie as Darts-clone lays it out: a unit has a label, an offset to its children, perhaps a leaf.

    A search goes from unit to `unit ^ offset ^ byte`, and for a leaf to `unit ^ offset`, whose value is a place in
    `texts`. All units are checked, whether a search can reach them or not.
    """
    import numpy as np

    is_value = units >> 31 == 1  # such a unit is looked up as a value only: no byte is like its label
    offsets = (units >> 10) << ((units & 0x200) >> 6)
    children = np.arange(len(units)) ^ offsets
    followed = ~is_value
    if (children[followed] | 0xFF).max(initial=0) >= len(units):
        raise ValueError("its table that rewrites text has an offset that leads out of it")
    leaves = children[followed & (units >> 8 & 1 == 1)]
    values = units[leaves] & 0x7FFFFFFF
    if values.max(initial=0) >= len(texts) or (texts[values] & 0xC0 == 0x80).any():
        raise ValueError("its table that rewrites text has a value that is not the place of a text")


def _tables(model: bytes) -> Iterator[bytes]:
    """The tables of both normalisers, as far as there are any."""
    normalizers = (content for number, content in fields(model) if number in _NORMALIZERS)
    return (content for one in normalizers for number, content in fields(one) if number == _TABLE and content)
