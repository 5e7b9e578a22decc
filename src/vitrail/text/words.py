"""The plain word vocabulary, as in the post: every word is one id, and unknown words are reported instead of guessed.

Text is lower-cased and composed (NFC) before it is split, and the typographic apostrophe ’ becomes '.
French elisions end after their apostrophe ("qu'il" is "qu'", "il"); English contractions stay whole ("didn't");
every punctuation mark is a word of its own. A full stop or exclamation mark at the end of a sentence is dropped if the
vocabulary has none, so that a model that never saw a full stop understands "Je suis étudiant.".
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from vitrail.documents import parse_json
from vitrail.errors import TextError
from vitrail.storage import read_text
from vitrail.text.special import FIRST_LANGUAGE, LARGEST, SPECIAL_TOKENS, UNK, language_token

FORMAT: Final = 1

_ELIDED = ("jusqu", "lorsqu", "presqu", "puisqu", "quelqu", "quoiqu", "qu", "c", "d", "j", "l", "m", "n", "s", "t")
_MARKS = r"""!"#$%&()*+,./:;<=>?@\[\\\]^_`{|}~…«»“”„‘–—¡¿、。，！？：；（）「」"""
_WORD = re.compile(
    rf"(?:{'|'.join(_ELIDED)})'(?=[^\s'{_MARKS}-])"  # an elision, if a word follows it
    rf"|[^\s'{_MARKS}-]+(?:['-][^\s'{_MARKS}-]+)*"  # a word, perhaps with apostrophes and hyphens inside
    r"|\S"  # anything else is a word of its own
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_JOINS_NEXT = frozenset({f"{word}'" for word in _ELIDED} | set("([{«“„¡¿"))
_JOINS_PREVIOUS = frozenset(",.;:!?)]}»”…")
_MAY_BE_DROPPED = frozenset({".", "!", "…"})


def split_words(text: str) -> list[str]:
    """The words and punctuation marks of a text, in the form that the vocabulary stores."""
    text = unicodedata.normalize("NFC", text.lower().replace("’", "'"))
    return _WORD.findall(_LONE_SURROGATE.sub("\ufffd", text))


def join_words(words: Iterable[str]) -> str:
    """Words as a text, with no space after an elision and none before closing punctuation."""
    parts: list[str] = []
    touches = True  # the first word needs no space before it
    for word in words:
        if not touches and word not in _JOINS_PREVIOUS:
            parts.append(" ")
        parts.append(word)
        touches = word in _JOINS_NEXT
    return "".join(parts)


class WordVocabulary:
    """Words <-> ids: the four special symbols, the language symbols, then words, the most frequent first."""

    kind = "word"

    def __init__(self, words: Sequence[str], languages: Sequence[str]) -> None:
        self.words = tuple(words)
        self.languages = tuple(languages)
        self._tokens = (*SPECIAL_TOKENS, *map(language_token, languages), *words)
        self._first_word = FIRST_LANGUAGE + len(self.languages)
        # Only words can be looked up, so typed text never becomes a special symbol.
        self._id_of = {word: self._first_word + index for index, word in enumerate(words)}

    @classmethod
    def build(cls, texts: Iterable[str], size: int, languages: Sequence[str]) -> WordVocabulary:
        """A vocabulary of the most frequent words, with at most `size` ids, special symbols included."""
        room = size - FIRST_LANGUAGE - len(languages)
        if room < 1:
            raise TextError(
                f"a vocabulary of {size} has no room for words: {size - room} ids are special symbols",
                where="data.vocabulary_size",
                fix=f"choose {size - room + 1} or more",
            )
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(split_words(text))
        # Among words with equal counts, most_common puts the first to appear first.
        return cls([word for word, _ in counts.most_common(room)], languages)

    @property
    def size(self) -> int:
        """The number of ids, special symbols included."""
        return len(self._tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's words; `<unk>` for each unknown word."""
        return [self._id_of.get(word, UNK) for word in self._known_form(text)]

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special symbols other than `<unk>` are dropped."""
        return join_words(self._tokens[i] for i in ids if i >= self._first_word or i == UNK)

    def decode_all(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many rows of ids."""
        return [self.decode(ids) for ids in rows]

    def token(self, token_id: int) -> str:
        """How to display one id."""
        return self._tokens[token_id]

    def begins_with(self, symbols: Sequence[str], first: int = 0) -> bool:
        """Whether the ids from `first` on are these control symbols."""
        last = first + len(symbols)
        return self._tokens[first:last] == tuple(symbols) and last <= self._first_word

    def unknown(self, text: str) -> list[str]:
        """The words of a text that have no id, in order and without duplicates."""
        return list(dict.fromkeys(word for word in self._known_form(text) if word not in self._id_of))

    def table(self) -> dict[str, Any]:
        """The tokens of all ids, and the first that is a word."""
        return {"kind": self.kind, "tokens": self._tokens, "first_word": self._first_word}

    def with_languages(self, known: Sequence[str], new: Sequence[str]) -> WordVocabulary:
        """The same words, and a symbol for each new language behind those of the known ones."""
        return WordVocabulary(self.words, (*known, *new))

    def save(self, path: Path) -> None:
        """Write the vocabulary as a JSON file."""
        table = {"format": FORMAT, "kind": self.kind, "languages": self.languages, "words": self.words}
        path.write_text(json.dumps(table, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> WordVocabulary:
        """Read a vocabulary that `save` wrote."""
        try:
            table = parse_json(read_text(path, most=LARGEST))
        except OSError as error:
            raise TextError(
                f"cannot read the vocabulary: {error.strerror}",
                where=str(path),
                fix="check that the tokenizer folder is complete",
            ) from None
        except ValueError:
            raise TextError(
                "this is not a vocabulary: it is not JSON in UTF-8",
                where=str(path),
                fix="take the file from the model's tokenizer folder",
            ) from None
        words, languages = _checked(table, str(path))
        return cls(words, languages)

    def _known_form(self, text: str) -> list[str]:
        words = split_words(text)
        while len(words) > 1 and words[-1] in _MAY_BE_DROPPED and words[-1] not in self._id_of:
            words.pop()
        return words


def _checked(table: object, where: str) -> tuple[list[str], list[str]]:
    """The words and languages in a file's table, which may contain anything."""
    if not isinstance(table, dict) or table.get("kind") != WordVocabulary.kind:
        raise TextError("this is not a word vocabulary", where=where, fix="use a file that Vitrail wrote")
    if not isinstance(table.get("format"), int) or table["format"] > FORMAT:
        raise TextError("this vocabulary was written by a newer Vitrail", where=where, fix="upgrade vitrail")
    words, languages = table.get("words"), table.get("languages")
    for name, entries in (("words", words), ("languages", languages)):
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise TextError(f"'{name}' is not a list of strings", where=where, fix="use a file that Vitrail wrote")
        if any(_LONE_SURROGATE.search(entry) for entry in entries):
            raise TextError(f"'{name}' has half a character", where=where, fix="use a file that Vitrail wrote")
        if len(set(entries)) != len(entries):
            raise TextError(f"'{name}' has a duplicate", where=where, fix="use a file that Vitrail wrote")
    assert isinstance(words, list)
    assert isinstance(languages, list)
    return words, languages
