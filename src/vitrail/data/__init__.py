"""Corpora: readers, filters, memory-mapped shards, batches; the built-in phrasebook. No torch."""

from vitrail.data.batches import Batch, BatchStream, Part, Position
from vitrail.data.corpora import PHRASEBOOK_HELD_OUT, PHRASEBOOK_PAIRS, Corpus, Pair
from vitrail.data.encoded import encoded
from vitrail.data.filters import FilterReport, LeftOut, Reason
from vitrail.data.prepare import prepare
from vitrail.data.prepared import Prepared
from vitrail.data.sentences import read_aligned, read_pairs, read_sentences, sentences_from
from vitrail.data.shards import Shard
from vitrail.data.subword_dropout import SubwordDropout
from vitrail.data.validation import ValidationSet

__all__ = [
    "PHRASEBOOK_HELD_OUT",
    "PHRASEBOOK_PAIRS",
    "Batch",
    "BatchStream",
    "Corpus",
    "FilterReport",
    "LeftOut",
    "Pair",
    "Part",
    "Position",
    "Prepared",
    "Reason",
    "Shard",
    "SubwordDropout",
    "ValidationSet",
    "encoded",
    "prepare",
    "read_aligned",
    "read_pairs",
    "read_sentences",
    "sentences_from",
]
