"""Corpora: readers, filters, memory-mapped shards, batches; the built-in phrasebook. No torch."""

from vitrail.data.arriving import arriving_chunks, arriving_lines, fixed_chunks
from vitrail.data.batches import Batch, BatchStream, Part, Position
from vitrail.data.corpora import PHRASEBOOK_HELD_OUT, PHRASEBOOK_PAIRS, Corpus, Pair
from vitrail.data.encoded import encoded
from vitrail.data.filters import FilterReport, LeftOut, Reason
from vitrail.data.prepare import prepare
from vitrail.data.prepared import Prepared
from vitrail.data.reading import count_lines, count_lines_of
from vitrail.data.rows import Column, Field, Rows, Whole, field_to_suggest, rows_of
from vitrail.data.sentences import read_aligned, read_pairs, read_sentences, sentences_from
from vitrail.data.shards import Shard
from vitrail.data.subword_dropout import SubwordDropout
from vitrail.data.validation import ValidationSet

__all__ = [
    "PHRASEBOOK_HELD_OUT",
    "PHRASEBOOK_PAIRS",
    "Batch",
    "BatchStream",
    "Column",
    "Corpus",
    "Field",
    "FilterReport",
    "LeftOut",
    "Pair",
    "Part",
    "Position",
    "Prepared",
    "Reason",
    "Rows",
    "Shard",
    "SubwordDropout",
    "ValidationSet",
    "Whole",
    "arriving_chunks",
    "arriving_lines",
    "count_lines",
    "count_lines_of",
    "encoded",
    "field_to_suggest",
    "fixed_chunks",
    "prepare",
    "read_aligned",
    "read_pairs",
    "read_sentences",
    "rows_of",
    "sentences_from",
]
