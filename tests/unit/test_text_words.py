"""The word vocabulary: how words are split, which ids exist, and the errors for a damaged file."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.errors import TextError
from vitrail.text.special import EOS, SPECIAL_TOKENS, UNK
from vitrail.text.words import WordVocabulary, join_words, split_words


def vocabulary() -> WordVocabulary:
    return WordVocabulary.build(["je suis étudiant", "i am a student", "je suis là", "qu'il", "?"], 100, ["fr", "en"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parce qu'il était", ["parce", "qu'", "il", "était"]),
        ("L’animal n'a pas", ["l'", "animal", "n'", "a", "pas"]),
        ("it didn't, did it?", ["it", "didn't", ",", "did", "it", "?"]),
        ("est-ce qu'elle dort ?", ["est-ce", "qu'", "elle", "dort", "?"]),
        ("aujourd'hui", ["aujourd'hui"]),
        ("s'il vous plaît", ["s'", "il", "vous", "plaît"]),
        ("the dogs' bone", ["the", "dogs", "'", "bone"]),
        ("", []),
    ],
)
def test_words_are_split_where_a_reader_would(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_joining_restores_elisions_and_punctuation() -> None:
    for text in (
        "l'animal n'a pas traversé la rue parce qu'il était trop fatigué",
        "yes, isn't it?",
        "s'il vous plaît!",
    ):
        assert join_words(split_words(text)) == text


def test_ids_are_specials_then_languages_then_words_by_frequency() -> None:
    words = vocabulary()
    assert [words.token(i) for i in range(8)] == [*SPECIAL_TOKENS, "<2fr>", "<2en>", "je", "suis"]
    assert words.size == 6 + len(words.words)


def test_ties_are_broken_by_first_appearance() -> None:
    assert WordVocabulary.build(["b a", "c a"], 100, []).words == ("a", "b", "c")


def test_size_counts_the_specials() -> None:
    assert WordVocabulary.build(["a b c d e f"], 7, ["fr"]).size == 7
    with pytest.raises(TextError, match="no room for words"):
        WordVocabulary.build(["a"], 5, ["fr"])


def test_typed_symbols_never_become_symbols() -> None:
    words = WordVocabulary.build(["<eos> <2fr> <pad> a"], 100, ["fr", "en"])
    for typed in ("<eos>", "<2fr>", "<2en>", "<pad>", "<unk>", "<bos>"):
        ids = words.encode(typed)
        assert all(token_id == UNK or token_id >= 6 for token_id in ids)
        assert len(ids) == 3


def test_capitals_and_a_full_stop_are_understood() -> None:
    words = vocabulary()
    assert words.encode("Je suis ÉTUDIANT.") == words.encode("je suis étudiant")
    assert words.unknown("Je suis étudiant!") == []
    assert words.unknown(".") == ["."]


def test_a_full_stop_that_is_known_is_kept() -> None:
    words = WordVocabulary.build(["a ."], 100, [])
    assert len(words.encode("a.")) == 2


def test_decomposed_accents_are_the_same_word() -> None:
    assert vocabulary().unknown("e\u0301tudiant") == []


def test_unknown_words_are_named_once_in_order() -> None:
    words = vocabulary()
    assert words.unknown("je zig am zag zig") == ["zig", "zag"]
    assert words.encode("zig je")[0] == UNK
    assert words.decode(words.encode("zig je")) == "<unk> je"


def test_specials_leave_no_trace_in_text() -> None:
    words = vocabulary()
    assert words.decode([2, 4, *words.encode("je suis"), EOS, 0]) == "je suis"


def test_load_gives_back_what_was_saved(tmp_path: Path) -> None:
    words = vocabulary()
    words.save(tmp_path / "words.json")
    loaded = WordVocabulary.load(tmp_path / "words.json")
    assert [loaded.token(i) for i in range(loaded.size)] == [words.token(i) for i in range(words.size)]
    assert loaded.languages == ("fr", "en")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{", "not JSON"),
        ("[]", "not a word vocabulary"),
        ('{"kind": "word", "format": 99}', "newer"),
        ('{"kind": "word", "format": 1, "words": [1], "languages": []}', "'words' is not a list"),
        ('{"kind": "word", "format": 1, "words": ["a", "a"], "languages": []}', "'words' has a duplicate"),
        ('{"kind": "word", "format": 1, "words": ["a"]}', "'languages' is not a list"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "words.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(TextError, match=what) as caught:
        WordVocabulary.load(path)
    assert caught.value.where == str(path)
    assert caught.value.fix


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="cannot read"):
        WordVocabulary.load(tmp_path / "words.json")


def test_the_file_is_readable_json(tmp_path: Path) -> None:
    vocabulary().save(tmp_path / "words.json")
    assert "étudiant" in json.loads((tmp_path / "words.json").read_text(encoding="utf-8"))["words"]


@given(text=st.text())
@settings(deadline=None)
def test_any_text_goes_through(text: str) -> None:
    words = vocabulary()
    ids = words.encode(text)
    assert all(token_id == UNK or 6 <= token_id < words.size for token_id in ids)
    assert (UNK in ids) == bool(words.unknown(text))
    assert isinstance(words.decode(ids), str)


@given(texts=st.lists(st.text(st.characters())), size=st.integers(7, 40))
@settings(deadline=None)
def test_any_corpus_gives_a_vocabulary_that_can_be_written(texts: list[str], size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "words.json"
        words = WordVocabulary.build(texts, size, ["fr", "en"])
        words.save(path)
        assert WordVocabulary.load(path).words == words.words
    assert words.size <= size
    if words.size < size:
        assert all(words.unknown(text) == [] for text in texts)


def test_half_a_character_is_a_character_that_is_not_known() -> None:
    assert split_words("a\ud800b") == ["a\ufffdb"]


def test_one_word_and_a_full_stop_are_the_word() -> None:
    words = vocabulary()
    assert words.encode("Je.") == words.encode("je!") == words.encode("je")


def test_the_file_has_a_line_for_each_word_as_it_is_written(tmp_path: Path) -> None:
    words = vocabulary()
    words.save(tmp_path / "words.json")
    lines = (tmp_path / "words.json").read_text(encoding="utf-8").splitlines()
    assert all(f'"{word}"' in (line.rstrip(",") for line in lines) for word in words.words)
