"""Sentences to begin with: ones that a model can read, in its own directions."""

from __future__ import annotations

from typing import Any

from vitrail.config import VOCABULARIES
from vitrail.data import Prepared
from vitrail.errors import FolderError
from vitrail.folder import ModelFolder

MOST = 5
_LONGEST = 30  # tokens

# For models of whole words, such as the phrasebook's: the post's sentences.
_POST = (
    ("en", "fr", "the animal didn't cross the street because it was too tired"),
    ("en", "fr", "the animal didn't cross the street because it was too wide"),
    ("fr", "en", "je suis étudiant"),
    ("fr", "en", "merci"),
)
# For models of everyday sentences, such as the built-in one.
_EVERYDAY = (
    ("en", "fr", "The cat is sleeping because it is tired."),
    ("en", "fr", "The weather is nice today."),
    ("en", "fr", "I don't know where she lives."),
    ("fr", "en", "Je suis étudiant."),
    ("fr", "en", "Où est la gare ?"),
)


def examples(folder: ModelFolder) -> list[dict[str, Any]]:
    """At most five sentences, each with the language to translate it into; possibly none."""
    tokenizers = folder.tokenizers
    whole_words = VOCABULARIES[tokenizers.source.kind].whole_words
    directions = folder.config.data.directions()
    found = [
        {"text": text, "to": to if tokenizers.languages else None}
        for source, to, text in (_POST if whole_words else _EVERYDAY)
        if (source, to) in directions and _is_readable(folder, text)
    ]
    return (found or _of_the_validation_data(folder))[:MOST]


def _of_the_validation_data(folder: ModelFolder) -> list[dict[str, Any]]:
    try:
        prepared = Prepared.open(folder.data)
    except FolderError:  # the model was copied without its data
        return []
    return [
        {"text": text, "to": data.to}
        for data in prepared.validation
        for text in data.sources[:MOST]
        if _is_readable(folder, text)
    ]


def _is_readable(folder: ModelFolder, text: str) -> bool:
    source = folder.tokenizers.source
    return not source.unknown(text) and len(source.encode(text)) <= _LONGEST
