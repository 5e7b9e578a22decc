"""The limits that the project promises, on a real corpus."""

import gzip
import random
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from vitrail.config import CorpusConfig, DataConfig
from vitrail.data import BatchStream, Corpus, Position, prepare
from vitrail.errors import DataError
from vitrail.text import PAD

MULTI30K = Path(__file__).parents[2].parent / "shared" / "data" / "multi30k"

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not MULTI30K.is_dir(), reason="needs ../shared/data/multi30k"),
]


def test_at_most_a_tenth_of_a_batch_is_padding(tmp_path):
    config = DataConfig(source=str(MULTI30K / "train.fr.gz"), target=str(MULTI30K / "train.en.gz"))
    prepared = prepare(config, tmp_path / "out", seed=1)
    assert prepared.report.kept > 28_900
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=4096, seed=1)
    cells, tokens = np.zeros(2), np.zeros(2)
    for _, batch in islice(stream.from_position(Position()), stream.batches_in_epoch(0)):
        sides = (batch.source_BS, batch.target_BT)
        cells += [side.size for side in sides]
        tokens += [np.count_nonzero(side != PAD) for side in sides]
    assert (1 - tokens / cells <= 0.10).all()


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("missing", [1, 4])
def test_where_two_files_part_is_found(tmp_path, side, missing):
    at = random.Random(missing).randrange(29_000)
    names = {"source": "train.fr", "target": "train.en"}
    lines = gzip.decompress((MULTI30K / f"{names[side]}.gz").read_bytes()).splitlines(keepends=True)
    del lines[at : at + missing]
    (tmp_path / names[side]).write_bytes(b"".join(lines))
    files = {other: str(MULTI30K / f"{name}.gz") for other, name in names.items()} | {side: str(tmp_path / names[side])}
    with pytest.raises(DataError, match="29,000") as error:
        list(Corpus(CorpusConfig(**files)).pairs())
    guess = int(error.value.fix.partition("near line ")[2].partition(":")[0].replace(",", ""))
    assert abs(guess - (at + 1)) <= 10
