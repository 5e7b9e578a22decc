"""Packed sentences: every token once, beside its neighbours."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.fast.packing import Packing
from vitrail.model import shifted
from vitrail.text import BOS, PAD

pytestmark = pytest.mark.usefixtures("true_suffixes")

VOCABULARY = 40
LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12)


def make_ids(lengths, *, more_padding=0):
    """Rows of the given lengths, no two alike."""
    width = max(lengths) + more_padding
    ids = torch.randint(5, VOCABULARY, (len(lengths), width), generator=torch.Generator().manual_seed(len(lengths)))
    return ids.where(torch.arange(width) < torch.tensor(lengths)[:, None], PAD)


@settings(deadline=None, max_examples=30)
@given(lengths=LENGTHS, more_padding=st.integers(0, 3), looks=st.integers(1, 2))
def test_every_token_is_packed_once_beside_its_neighbours(lengths, more_padding, looks):
    sources, targets = zip(*lengths, strict=True)
    source_BS = make_ids(sources, more_padding=more_padding)
    target_BT = make_ids(targets, more_padding=more_padding)
    packing = Packing(source_BS, target_BT, looks=looks)
    rows = sorted(range(len(lengths)), key=lambda row: lengths[row])
    for side, ids_BT, of in ((packing.source, source_BS, sources), (packing.target, target_BT, targets)):
        wanted = torch.cat([ids_BT[row, : of[row]] for row in rows])
        assert side.pack(ids_BT).tolist() == [wanted.tolist() * looks]
        assert side.position_N.tolist() == [at for row in rows for at in range(of[row])] * looks
        assert sum(run.sentences * run.queries for run in side.sight.runs) == looks * len(wanted)
    assert len(packing.across.runs) == looks * len(set(lengths))


def test_the_decoder_input_of_a_packed_target_begins_with_bos_and_has_no_end():
    target_BT = make_ids([3, 1, 4])
    packing = Packing(target_BT, target_BT)
    packed = packing.target.pack(shifted(target_BT))[0].tolist()
    rows = [[BOS, *row[: length - 1]] for length, row in sorted((int((r != PAD).sum()), r.tolist()) for r in target_BT)]
    assert packed == [one for row in rows for one in row]
