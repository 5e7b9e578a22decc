"""How each kind of vocabulary is learnt from texts and read from its file.

`config/kinds.py` lists the same names, with what each one can do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vitrail.text.marian import ListedPieces
from vitrail.text.subwords import Subwords
from vitrail.text.tokenizer import Tokenizer
from vitrail.text.words import WordVocabulary


@dataclass(frozen=True)
class TokenizerKind:
    """One kind of vocabulary: the name of its file, and two ways to get one."""

    file_name: str  # a file of another kind may be beside it
    learn: Callable[[Iterable[str], int, Sequence[str]], Tokenizer]  # texts, size, languages
    load: Callable[[Path], Tokenizer]
    per_side: bool = False  # each side splits text in its own way, even if both have the same ids


def _subwords(kind: str) -> TokenizerKind:
    return TokenizerKind(
        "subwords.model",
        learn=lambda texts, size, languages: Subwords.train(texts, kind, size, languages),
        load=lambda path: Subwords.load(path, kind),
    )


TOKENIZER_KINDS: dict[str, TokenizerKind] = {
    "bpe": _subwords("bpe"),
    "unigram": _subwords("unigram"),
    "marian": TokenizerKind("marian.json", learn=ListedPieces.learn, load=ListedPieces.load, per_side=True),
    "word": TokenizerKind("words.json", learn=WordVocabulary.build, load=WordVocabulary.load),
}
