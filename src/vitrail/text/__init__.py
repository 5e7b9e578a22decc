"""Sentences <-> ids: words, subwords, special symbols. No torch."""

from vitrail.text.kinds import TOKENIZER_KINDS, TokenizerKind
from vitrail.text.lines import holds_several_sentences, is_translatable
from vitrail.text.marian import ListedPieces
from vitrail.text.pair import Tokenizers
from vitrail.text.spaces import tidy
from vitrail.text.special import BOS, EOS, FIRST_LANGUAGE, PAD, SPECIAL_TOKENS, UNK, language_token
from vitrail.text.subwords import Subwords
from vitrail.text.tokenizer import Tokenizer
from vitrail.text.words import WordVocabulary

__all__ = [
    "BOS",
    "EOS",
    "FIRST_LANGUAGE",
    "PAD",
    "SPECIAL_TOKENS",
    "TOKENIZER_KINDS",
    "UNK",
    "ListedPieces",
    "Subwords",
    "Tokenizer",
    "TokenizerKind",
    "Tokenizers",
    "WordVocabulary",
    "holds_several_sentences",
    "is_translatable",
    "language_token",
    "tidy",
]
