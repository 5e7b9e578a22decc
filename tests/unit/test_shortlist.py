"""Lexical shortlists: what IBM model 1 learns, what a list holds, and files from strangers."""

from __future__ import annotations

import random
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from vitrail.cli.shortlist import shortlist as command
from vitrail.config import Config, DataConfig, ModelConfig
from vitrail.data import encoded, lexicon
from vitrail.errors import DecodeError, FolderError
from vitrail.folder import ModelFolder
from vitrail.runtime.shortlist import ALWAYS, FILE, FREQUENT, SIZE, Shortlist
from vitrail.text import Tokenizers, WordVocabulary
from vitrail.text.special import EOS

FRENCH = WordVocabulary([f"f{number}" for number in range(20)] + ["paris"], [])
ENGLISH = WordVocabulary(["paris"] + [f"e{number}" for number in range(20)], [])
WORDS = Tokenizers(FRENCH, ENGLISH)
CONFIG = Config(model=ModelConfig(tie_embeddings="none"), data=DataConfig(joint=False, vocabulary="word"))


def corpus(seed: int, pairs: int = 400) -> tuple[list[str], list[str], list[int]]:
    """Sentences, their translations word by word in another order, and the dictionary: f<n> is e<dictionary[n]>.

    f0 and e0 are in every sentence twice, like an article: by counting alone, e0 would translate every word.
    """
    draw = random.Random(seed)
    dictionary = [0, *draw.sample(range(1, 20), 19)]
    chosen = [[0, 0, *(draw.randrange(1, 20) for _ in range(draw.randint(2, 6)))] for _ in range(pairs)]
    sources = [" ".join(f"f{number}" for number in row) for row in chosen]
    targets = [" ".join(f"e{dictionary[number]}" for number in draw.sample(row, len(row))) for row in chosen]
    return sources, targets, dictionary


def learnt(sources: list[str], targets: list[str]) -> lexicon.Lexicon:
    with encoded(sources, targets, WORDS, to=None) as shard:
        return lexicon.learn([shard])


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_dictionary_is_recovered_from_shuffled_sentences(seed: int) -> None:
    sources, targets, dictionary = corpus(seed)
    found = learnt(sources, targets)
    best = dict(zip(*found.best(np.ones(FRENCH.size, dtype=np.int64), np.zeros(FRENCH.size)), strict=True))
    for number in range(1, 20):
        assert best[FRENCH.encode(f"f{number}")[0]] == ENGLISH.encode(f"e{dictionary[number]}")[0]


def test_chances_add_up_to_one() -> None:
    found = learnt(*corpus(1)[:2])
    totals = np.bincount(found.source, found.chance)
    assert totals[np.unique(found.source)] == pytest.approx(1, abs=1e-5)


def test_blocks_and_their_size_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sources, targets, _ = corpus(2)
    whole = learnt(sources, targets)
    monkeypatch.setattr(lexicon, "_BLOCK", 200)
    in_blocks = learnt(sources, targets)
    assert np.array_equal(whole.source, in_blocks.source)
    assert np.array_equal(whole.target, in_blocks.target)
    assert in_blocks.chance == pytest.approx(whole.chance, abs=1e-5)


def test_a_large_corpus_is_sampled_from_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "MOST", 100)
    found = learnt(["f1"] * 300 + ["f2"] * 300, ["e1"] * 300 + ["e2"] * 300)
    assert {FRENCH.encode("f1")[0], FRENCH.encode("f2")[0]} <= set(found.source.tolist())


def test_a_list_has_the_end_the_likely_words_and_the_same_spelling() -> None:
    sources, targets, dictionary = corpus(3)
    made = Shortlist.of_lexicon(learnt(sources, targets), WORDS, size=1, frequent=2)
    row = WORDS.encode_source("f4 paris")
    wanted = {*ALWAYS, *ENGLISH.encode(f"e{dictionary[4]} paris")}
    assert wanted <= set(made.of([row]).tolist())
    assert len(made.of([row])) <= len(wanted) + 2
    assert EOS in made.of([[EOS]])
    both = set(made.of([WORDS.encode_source("f4"), WORDS.encode_source("f5")]).tolist())
    assert both == {*made.of([WORDS.encode_source("f4")]).tolist(), *made.of([WORDS.encode_source("f5")]).tolist()}


def test_the_command_s_sizes_are_the_usual_ones() -> None:
    defaults = {name: option.default for name, option in signature(command).parameters.items()}
    assert (defaults["size"], defaults["frequent"]) == (SIZE, FREQUENT)


def test_bytes_lead_to_bytes() -> None:
    from vitrail.text.subwords import Subwords

    words = Subwords.train(["le chat dort", "the cat sleeps"] * 10, "bpe", 300, [])
    pair = Tokenizers(words, words)
    with encoded(["le chat"], ["the cat"], pair, to=None) as shard:
        made = Shortlist.learn([shard], pair, size=5, frequent=5)
    row = pair.encode_source("日")
    assert set(words.encode("日本☃")) <= set(made.of([row]).tolist())
    assert len(made.of([pair.encode_source("chat")])) < 50


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder:
    return ModelFolder.create(tmp_path / "model", CONFIG, WORDS)


def some_lists() -> Shortlist:
    return Shortlist.of_lists([[number % ENGLISH.size, 7, 7] for number in range(FRENCH.size)])


def test_what_is_saved_is_loaded(folder: ModelFolder) -> None:
    made = some_lists()
    made.save(folder.path / FILE, vocabulary=folder.vocabulary)
    loaded = Shortlist.load(folder)
    assert np.array_equal(loaded.starts, made.starts)
    assert np.array_equal(loaded.ids, made.ids)


def test_a_model_without_a_shortlist_says_how_to_learn_one(folder: ModelFolder) -> None:
    with pytest.raises(DecodeError, match="no shortlist") as raised:
        Shortlist.load(folder)
    assert f"vitrail shortlist {folder.path}" in str(raised.value)


def test_another_vocabulary_is_refused(folder: ModelFolder, tmp_path: Path) -> None:
    other = Tokenizers(ENGLISH, FRENCH)
    made = ModelFolder.create(tmp_path / "other", CONFIG, other)
    some_lists().save(folder.path / FILE, vocabulary=made.vocabulary)
    with pytest.raises(FolderError, match="another vocabulary"):
        Shortlist.load(folder)


Arrays = dict[str, Any]
DAMAGE: dict[str, Callable[[Arrays, dict[str, str]], None]] = {
    "floats": lambda arrays, _: arrays.update(ids=arrays["ids"].astype(np.float32)),
    "negative numbers": lambda arrays, _: arrays.update(ids=arrays["ids"].astype(np.int32) - 20),
    "a table": lambda arrays, _: arrays.update(ids=arrays["ids"].reshape(-1, 1)),
    "no ids": lambda arrays, _: arrays.pop("ids"),
    "an id too far": lambda arrays, _: arrays["ids"].__setitem__(3, ENGLISH.size),
    "a late start": lambda arrays, _: arrays["starts"].__setitem__(0, 1),
    "an early end": lambda arrays, _: arrays["starts"].__setitem__(-1, 3),
    "a late end": lambda arrays, _: arrays["starts"].__setitem__(-1, 1000),
    "a start beyond the end": lambda arrays, _: arrays["starts"].__setitem__(5, 4_000_000_000),
    "too few lists": lambda arrays, _: arrays.update(starts=arrays["starts"][[0, -1]]),
    "no lists": lambda arrays, _: arrays.update(starts=arrays["starts"][:0]),
    "no format": lambda _, metadata: metadata.pop("format"),
    "a strange format": lambda _, metadata: metadata.update(format="-1"),
    "a long format": lambda _, metadata: metadata.update(format="9" * 5000),
    "a newer format": lambda _, metadata: metadata.update(format="99"),
    "no vocabulary": lambda _, metadata: metadata.pop("vocabulary"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_refused(folder: ModelFolder, damage: Callable[[Arrays, dict[str, str]], None]) -> None:
    made = some_lists()
    arrays: Arrays = {"starts": made.starts.astype(np.uint32), "ids": made.ids.astype(np.uint16)}
    metadata = {"format": "1", "vocabulary": folder.vocabulary}
    (folder.path / FILE).write_bytes(save(arrays, metadata))
    Shortlist.load(folder)
    damage(arrays, metadata)
    (folder.path / FILE).write_bytes(save({name: np.ascontiguousarray(one) for name, one in arrays.items()}, metadata))
    with pytest.raises(FolderError):
        Shortlist.load(folder)


@pytest.mark.parametrize("content", [b"", b"x", b"\xff" * 9, b"\x02\0\0\0\0\0\0\0{}"])
def test_what_is_no_shortlist_is_refused(folder: ModelFolder, content: bytes) -> None:
    (folder.path / FILE).write_bytes(content)
    with pytest.raises(FolderError):
        Shortlist.load(folder)


def test_ctranslate2_looks_up_what_all_sentences_share_only_once():
    shortlist = Shortlist.of_lists([[], [], [], [5, 6], [7, 5, 8], [8], [6, 9, 10]])
    lines = [line.split("\t") for line in shortlist.vocabulary_map(4).decode().splitlines()]
    found = {source: {int(target) for target in targets.split()} for source, targets in lines}
    assert found.pop("") == {5, 7, 8}
    assert found == {"3": {6}, "6": {6, 9, 10}}  # nothing twice: looking up takes time
    for row in ([4, 3], [4, 5, 6], [6, 4, 3]):
        union = {5, 7, 8}.union(*(found.get(str(source), set()) for source in row))
        assert union | {1, 2, 3} == set(shortlist.of([row]).tolist())
