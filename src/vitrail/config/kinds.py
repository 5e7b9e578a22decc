"""What a setting may name: optimisers, vocabularies, activations, norms, and ways to share the embedding tables.

Each table here is the one list of its names. The part of the program that does the work has the same names, and a test
compares both. Positions and schedules have files of their own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OptimizerKind:
    """What the rest of the program needs to know about one optimiser. `train/optimizer.py` builds it."""

    name: str
    decays: bool = True  # it has a weight decay of its own


@dataclass(frozen=True)
class VocabularyKind:
    """What the rest of the program needs to know about one kind of vocabulary. `text/kinds.py` learns and loads it."""

    name: str
    whole_words: bool = False  # every token is a word, and words it has not learnt are unknown
    has_merges: bool = False  # words are built by merging pieces, some of which BPE-dropout skips


@dataclass(frozen=True)
class TieKind:
    """Which embedding tables are one and the same. `model/embedding.py` builds them."""

    name: str
    needs_joint: bool = False  # source and target share a table, so they must share a vocabulary


OPTIMIZERS: dict[str, OptimizerKind] = {
    kind.name: kind
    for kind in (
        OptimizerKind("adam", decays=False),
        OptimizerKind("adamw"),
        OptimizerKind("adafactor"),
        OptimizerKind("muon"),
    )
}

VOCABULARIES: dict[str, VocabularyKind] = {
    kind.name: kind
    for kind in (
        VocabularyKind("bpe", has_merges=True),
        VocabularyKind("unigram"),
        VocabularyKind("word", whole_words=True),
        VocabularyKind("marian"),  # not learnt from texts: it comes with an imported model
    )
}

TIES: dict[str, TieKind] = {
    kind.name: kind
    for kind in (
        TieKind("all", needs_joint=True),  # source, target and output layer
        TieKind("target"),  # target and output layer
        TieKind("none"),
    )
}

ACTIVATIONS = ("relu", "gelu", "silu")  # model/feed_forward.py
NORMS = ("post", "pre")  # after the residual sum, or before the sublayer: model/add_norm.py
ENGINES = ("auto", "ctranslate2", "torch")  # what computes translations: runtime/
PRECISIONS = ("float32", "int8")  # in which numbers it computes them
