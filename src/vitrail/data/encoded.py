"""Pairs of texts as a shard, for what learns from shards. It is in a temporary folder and is removed after use."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vitrail.data.shards import Shard, ShardWriter
from vitrail.text import Tokenizers

_CHUNK = 10_000  # pairs to encode at a time


@contextmanager
def encoded(
    sources: Sequence[str], targets: Sequence[str], tokenizers: Tokenizers, *, to: str | None
) -> Iterator[Shard]:
    """The pairs as a shard; `to` is the target language if the model has several."""
    sizes = tokenizers.source.size, tokenizers.target.size
    with tempfile.TemporaryDirectory(prefix="vitrail-") as folder:
        with ShardWriter(Path(folder), "pairs", max(sizes)) as writer:
            for start in range(0, len(sources), _CHUNK):
                chunk = slice(start, start + _CHUNK)
                rows = tokenizers.encode_sources(sources[chunk], [to] * len(sources[chunk]))
                writer.write(rows, tokenizers.encode_targets(targets[chunk]), range(len(rows)))
        yield Shard(Path(folder), "pairs", "the given pairs", writer.pairs, writer.dtype, sizes)
