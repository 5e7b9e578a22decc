from dataclasses import replace

import pytest

from vitrail.config import VOCABULARIES
from vitrail.errors import StorageError, TextError
from vitrail.text import BOS, EOS, PAD, UNK, ListedPieces, Subwords, Tokenizers, WordVocabulary

SOURCES = ["je suis étudiant", "merci"] * 3
TARGETS = ["i am a student", "thanks"] * 3


def trained(kind="bpe", *, joint=True, languages=()):
    if kind == "marian":  # not learnt, but put together
        learnt = Subwords.train([*SOURCES, *TARGETS], "unigram", 330, ())
        sides = [ListedPieces(learnt.model, list(learnt.pieces()), languages) for _ in range(2)]
        return Tokenizers(*sides, tuple(languages), same_ids=joint)
    return Tokenizers.train(SOURCES, TARGETS, kind=kind, size=330, joint=joint, languages=languages)


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_rows_are_symbol_text_eos(kind):
    both = trained(kind, languages=("en", "fr"))
    text = both.source.encode("merci")
    assert both.encode_source("merci", "fr") == [both.language_id("fr"), *text, EOS]
    assert both.encode_target("merci") == [*text, EOS]
    assert both.source_tokens(both.encode_source("merci", "fr"))[0] == "<2fr>"
    assert both.decode(both.encode_target("merci")) == "merci"
    alone = trained(kind)
    assert alone.encode_source("merci", None) == [*alone.source.encode("merci"), EOS]


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_many_rows_are_those_of_each(kind):
    both = trained(kind, languages=("en", "fr"))
    texts, to = ["merci", "je suis", ""], ["en", "fr", "en"]
    assert both.encode_sources(texts, to) == [
        both.encode_source(text, language) for text, language in zip(texts, to, strict=True)
    ]
    assert both.encode_targets(texts) == [both.encode_target(text) for text in texts]


def test_a_missing_or_unknown_language_names_the_choices():
    both = trained(languages=("en", "fr"))
    for to in (None, "de", "fra"):
        with pytest.raises(TextError) as error:
            both.encode_source("merci", to)
        assert "choose one of: en, fr" in error.value.fix
    with pytest.raises(TextError, match="one language only"):
        trained().encode_source("merci", "fr")


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_symbols_that_no_translation_may_contain(kind):
    both = trained(kind, languages=("en", "fr"))
    assert set(both.forbidden) == {PAD, UNK, BOS, both.language_id("en"), both.language_id("fr")}
    assert EOS not in both.forbidden
    assert both.tokens(both.forbidden) == ["<pad>", "<unk>", "<bos>", "<2en>", "<2fr>"]


@pytest.mark.parametrize("kind", VOCABULARIES)
@pytest.mark.parametrize("joint", [True, False])
def test_saved_and_loaded_is_the_same(tmp_path, kind, joint):
    pair = trained(kind, joint=joint, languages=("en", "fr"))
    assert pair.languages == ("en", "fr")
    pair.save(tmp_path / "tokenizer")
    loaded = Tokenizers.load(tmp_path / "tokenizer")
    assert loaded.joint == joint and (loaded.source is loaded.target) == (joint and kind != "marian")
    assert loaded.languages == pair.languages
    assert loaded.source.kind == loaded.target.kind == kind
    assert loaded.encode_source("je suis étudiant", "en") == pair.encode_source("je suis étudiant", "en")
    assert loaded.encode_target("thanks") == pair.encode_target("thanks")


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_many_texts_have_the_rows_of_each(kind):
    pair = trained(kind, languages=("en", "fr"))
    texts, to = [*SOURCES, "", "inconnu"], ["fr", "en"] * 4
    assert pair.encode_sources(texts, to) == [pair.encode_source(*each) for each in zip(texts, to, strict=True)]
    assert pair.encode_targets(texts) == [pair.encode_target(text) for text in texts]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"kind": "pictures", "joint": true, "languages": []}'])
def test_a_folder_that_describes_no_vocabulary_says_so(tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(TextError) as error:
        Tokenizers.load(tmp_path)
    assert error.value.where == str(tmp_path / "tokenizer.json")


def test_a_missing_vocabulary_is_named(tmp_path):
    trained(joint=False).save(tmp_path)
    (tmp_path / "target.subwords.model").unlink()
    with pytest.raises(TextError, match="missing") as error:
        Tokenizers.load(tmp_path)
    assert error.value.where == str(tmp_path / "target.subwords.model")


def test_a_joint_vocabulary_learns_from_both_sides_and_separate_ones_from_their_own():
    joint, apart = trained("word"), trained("word", joint=False)
    assert joint.source.unknown("merci thanks") == []
    assert apart.source.unknown("merci thanks") == ["thanks"]
    assert apart.target.unknown("merci thanks") == ["merci"]


def test_a_text_without_a_language_is_our_own_mistake():
    with pytest.raises(ValueError, match="longer"):
        trained(languages=("en", "fr")).encode_sources(["merci", "merci"], ["en"])


def test_a_pair_is_saved_into_folders_that_are_not_there_yet_and_over_itself(tmp_path):
    pair = trained("word")
    for _ in range(2):
        pair.save(tmp_path / "a" / "b")
    assert Tokenizers.load(tmp_path / "a" / "b").decode(pair.encode_target("merci")) == "merci"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError) as error:
        trained("word").save(tmp_path / "file" / "tokenizer")
    assert error.value.where == str(tmp_path / "file" / "tokenizer")


def test_a_language_that_is_nearly_right_is_suggested():
    with pytest.raises(TextError) as error:
        trained(languages=("eng", "fra")).encode_source("merci", "frx")
    assert "'fra'" in error.value.fix


def test_two_sides_that_should_have_the_same_tokens_are_compared(tmp_path):
    trained("marian").save(tmp_path)
    listed = tmp_path / "target.marian.json"
    listed.write_text(listed.read_text(encoding="utf-8").replace('"e"', '"xx"'), encoding="utf-8")
    with pytest.raises(TextError, match="should have the same tokens"):
        Tokenizers.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"punctuation": null, "languages": [], "pieces": ["a", "a"]}', "'pieces' has a duplicate"),
        ('{"punctuation": null, "languages": [], "pieces": ["\\ud800"]}', "surrogates not allowed"),
        ('{"punctuation": 3, "languages": [], "pieces": []}', "punctuation"),
        ("[", "not a list of pieces"),
    ],
)
def test_a_list_of_pieces_that_cannot_be_used_is_refused(tmp_path, content, what):
    trained("marian").save(tmp_path)
    (tmp_path / "source.marian.json").write_text(content, encoding="utf-8")
    with pytest.raises(TextError, match=what):
        Tokenizers.load(tmp_path)
    (tmp_path / "source.marian.spm").unlink()
    with pytest.raises(TextError):
        Tokenizers.load(tmp_path)


@pytest.mark.parametrize("kind", VOCABULARIES)
@pytest.mark.parametrize("joint", [True, False])
def test_a_new_language_gets_a_symbol_behind_the_others_on_both_sides(kind, joint):
    before = trained(kind, joint=joint, languages=("en", "fr"))
    after = before.with_languages(["fr", "de", "en", "x-med"])
    assert after.languages == ("en", "fr", "de", "x-med")
    assert (after.joint, after.source is after.target) == (before.joint, before.source is before.target)
    for side in (after.source, after.target):
        assert [side.token(number) for number in range(4, 8)] == ["<2en>", "<2fr>", "<2de>", "<2x-med>"]
    assert after.source.size == before.source.size + 2 and after.target.size == before.target.size + 2
    assert after.encode_source("merci", "x-med")[0] == 7
    assert after.decode(after.encode_target("thanks")) == before.decode(before.encode_target("thanks"))
    assert before.with_languages(["fr"]) is before


def test_vocabularies_that_differ_anywhere_are_refused():
    one = trained("word", joint=False, languages=("en", "fr"))
    one.refuse_others(trained("word", joint=False, languages=("en", "fr")), where="here")
    for side in ("source", "target"):
        mine = getattr(one, side)
        *words, last = mine.words
        for others, what in (
            (words, f"the {side} vocabularies differ: one has {mine.size} tokens, the other {mine.size - 1}"),
            ([*words, "odd"], f"the {side} vocabularies differ: token {mine.size - 1} is '{last}' in one and 'odd' in"),
        ):
            other = replace(one, **{side: WordVocabulary(others, one.languages)})
            with pytest.raises(TextError, match=what) as raised:
                one.refuse_others(other, where="here")
            assert raised.value.where == "here"
            assert raised.value.fix is not None and "same prepared data" in raised.value.fix


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_a_vocabulary_without_the_symbols_that_are_promised_is_refused(tmp_path, kind):
    trained(kind, languages=("en", "fr")).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace('"en", "fr"', '"en", "de"'))
    with pytest.raises(TextError, match="does not begin with the symbols of en, de") as raised:
        Tokenizers.load(tmp_path)
    assert raised.value.where is not None and raised.value.where.startswith(str(tmp_path))


def test_a_description_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "tokenizer.json").mkdir()
    with pytest.raises(TextError, match=r"cannot read|expected here") as raised:
        Tokenizers.load(tmp_path)
    assert raised.value.where == str(tmp_path / "tokenizer.json")


def test_ids_are_shown_as_tokens_of_their_own_side():
    pair = trained("word", joint=False, languages=("en",))
    assert pair.source_tokens([4, 5]) == ["<2en>", pair.source.words[0]]
    assert pair.tokens([4, 5]) == ["<2en>", pair.target.words[0]]
    rows = [pair.encode_target(text) for text in TARGETS]
    assert pair.decode_all(rows) == [pair.decode(row) for row in rows] == TARGETS
