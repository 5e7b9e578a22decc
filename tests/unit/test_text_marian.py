"""The vocabulary of an imported model: pieces from one file, ids from another."""

from __future__ import annotations

import json
from functools import cache

import pytest

from vitrail.errors import TextError
from vitrail.text import UNK, ListedPieces, Subwords
from vitrail.text.punctuation import normalised
from vitrail.text.special import EOS, SPECIAL_TOKENS
from vitrail.text.subwords import LONGEST, read_model
from vitrail.text.wire import bytes_field

CORPUS = ["je suis étudiant", "merci beaucoup", "i am a student", "thanks a lot, it's (here)"] * 3
TEXTS = ["merci", "  i am\ta  student ", "", "“it’s” …", "xyz ☃", "<unk> <eos>"]


@cache
def learnt() -> Subwords:
    return Subwords.train(CORPUS, "unigram", 330, ())


def listed(*languages: str, without: str = "", punctuation: str | None = None) -> ListedPieces:
    pieces = sorted(piece for piece in learnt().pieces() if piece != without)
    return ListedPieces(learnt().model, pieces, languages, punctuation=punctuation)


@pytest.mark.parametrize("languages", [(), ("en", "fr")])
@pytest.mark.parametrize("punctuation", [None, "en"])
def test_ids_stand_for_sentencepieces_pieces(languages, punctuation):
    words = listed(*languages, punctuation=punctuation)
    assert [words.token(n) for n in range(4 + len(languages))] == [*SPECIAL_TOKENS, *(f"<2{x}>" for x in languages)]
    assert words.size == 4 + len(languages) + len(words.pieces)
    for text in TEXTS:
        plain = text if punctuation is None else normalised(" ".join(text.split()), punctuation)
        pieces = [learnt().token(number) for number in learnt().encode(plain)]
        wanted = [piece if piece in words.pieces else "<unk>" for piece in pieces]  # bytes are not in the list
        assert [words.token(number) for number in words.encode(text)] == wanted
        assert all(number == UNK or number >= 4 + len(languages) for number in words.encode(text))
    assert words.encode_all(TEXTS) == [words.encode(text) for text in TEXTS]
    assert words.unknown("xyz ☃") == []


def test_a_piece_that_is_not_listed_is_unknown():
    piece = learnt().token(learnt().encode("merci")[0])
    assert UNK in listed(without=piece).encode("merci")
    assert UNK not in listed().encode("merci")


def test_texts_of_ids_have_no_symbols_but_the_unknown():
    words = listed("en", "fr")
    ids = words.encode("merci beaucoup")
    assert words.decode([2, 4, *ids[:1], 5, *ids[1:], EOS, 0]) == "merci beaucoup"
    assert words.decode([*ids, UNK]) == "merci beaucoup <unk>"
    assert words.decode([UNK, *ids]) == "<unk> merci beaucoup"
    assert words.decode([6]) == words.token(6).replace("▁", " ").strip()  # the first piece
    assert words.decode_all([ids, [], [UNK]]) == ["merci beaucoup", "", "<unk>"]
    other = ListedPieces(learnt().model, ["▁other", "side", "▁▁x"], ())
    assert other.decode([4, 5, 6]) == "otherside x"


def test_the_symbols_at_the_beginning_are_recognised():
    words = listed("en", "fr")
    assert words.begins_with(["<2en>", "<2fr>"], 4) and words.begins_with(["<2en>"], 4) and words.begins_with([], 6)
    assert words.begins_with(SPECIAL_TOKENS)
    assert not words.begins_with(["<2fr>"], 4) and not words.begins_with(["<2en>", "<2fr>", words.token(6)], 4)
    typed = ListedPieces(learnt().model, ["<2en>"], ())
    assert not typed.begins_with(["<2en>"], 4), "a piece is no symbol"


def test_languages_are_added_behind_those_that_are_known():
    words = listed("en", punctuation="fr").with_languages(["en"], ["de", "x-med"])
    assert [words.token(n) for n in range(4, 8)] == ["<2en>", "<2de>", "<2x-med>", words.pieces[0]]
    assert (words.languages, words.punctuation) == (("en", "de", "x-med"), "fr")
    assert words.decode(words.encode("merci")) == "merci"


def test_saved_and_loaded_is_the_same_and_can_be_read(tmp_path):
    words = listed("en", "fr", punctuation="fr")
    words.save(tmp_path / "marian.json")
    loaded = ListedPieces.load(tmp_path / "marian.json")
    assert vars(loaded).keys() == vars(words).keys()
    for name in ("model", "pieces", "languages", "punctuation", "size"):
        assert getattr(loaded, name) == getattr(words, name)
    assert (tmp_path / "marian.spm").read_bytes() == learnt().model
    text = (tmp_path / "marian.json").read_text(encoding="utf-8")
    assert '\n"é"' in text and text.endswith("}\n")


def test_what_cannot_be_loaded_is_named(tmp_path):
    path = tmp_path / "marian.json"
    with pytest.raises(TextError, match="the vocabulary is missing") as raised:
        ListedPieces.load(path)
    assert raised.value.where == str(path)
    listed("en").save(path)
    whole = json.loads(path.read_text(encoding="utf-8"))
    for change, what in (
        ({"languages": ["en", "en"]}, "'languages' has a duplicate"),
        ({"pieces": ["a", "b", "a"]}, "'pieces' has a duplicate"),
        ({"languages": ["\ud800"]}, "surrogates"),
        ({"pieces": 3}, "pieces"),
    ):
        path.write_text(json.dumps(whole | change), encoding="utf-8")
        with pytest.raises(TextError, match=what) as raised:
            ListedPieces.load(path)
        assert (raised.value.where, raised.value.fix) == (str(path), "copy it again")
    path.write_text(json.dumps(whole), encoding="utf-8")
    (tmp_path / "marian.spm").unlink()
    with pytest.raises(TextError, match="missing") as raised:
        ListedPieces.load(path)
    assert raised.value.where == str(tmp_path / "marian.spm")
    path.unlink()
    path.mkdir()
    with pytest.raises(TextError, match=r"cannot read|expected here") as raised:
        ListedPieces.load(path)
    assert raised.value.where == str(path)


def test_half_a_character_is_refused_by_every_way_in():
    for words in (listed(), listed(punctuation="en")):
        for encode in (words.encode, lambda text, words=words: words.encode_all([text])):
            with pytest.raises(TextError, match="not Unicode"):
                encode("a\ud800b")


def test_this_kind_is_neither_learnt_nor_part_of_a_page():
    with pytest.raises(TextError, match="'marian' cannot be learnt") as raised:
        ListedPieces.learn(iter(CORPUS), 300, ())
    assert raised.value.where == "data.vocabulary"
    with pytest.raises(TextError, match="of kind 'marian'"):
        listed().table()


def test_a_model_whose_scores_or_tables_cannot_be_used_is_refused(tmp_path):
    path, good = tmp_path / "x.spm", learnt().model
    path.write_bytes(good)
    assert read_model(path) == good
    nan = bytes_field(1, bytes_field(1, b"nan") + b"\x15\x00\x00\xc0\x7f")  # a piece whose score is not a number
    broken = bytes_field(3, bytes_field(2, b"\1"))
    for content, what in (
        (b"", "this is not a sentencepiece model"),
        (b"text", "this is not a sentencepiece model"),
        (good + nan, "this is not a sentencepiece model"),
        (good + broken, "this is not a sentencepiece model: its table that rewrites text is incomplete"),
    ):
        path.write_bytes(content)
        with pytest.raises(TextError) as raised:
            read_model(path)
        assert (raised.value.what, raised.value.where) == (what, str(path))
    path.unlink()
    path.mkdir()
    with pytest.raises(TextError) as raised:
        read_model(path)
    assert raised.value.where == str(path)


def test_the_table_of_subwords_is_what_sentencepiece_says():
    words = Subwords.train(CORPUS, "bpe", 300, ("en", "fr"))
    table, pieces = words.table(), words.pieces()
    assert table["kind"] == "bpe" and table["tokens"] == [words.token(n) for n in range(words.size)]
    assert table["control"] == [0, 2, 3, 4, 5]
    assert [table["tokens"][number] for number in table["bytes"]] == [f"<0x{byte:02X}>" for byte in range(256)]
    special = {UNK, *table["control"], *table["bytes"]}
    assert {piece.id: text for text, piece in pieces.items()} == {
        number: text for number, text in enumerate(table["tokens"]) if number not in special
    }
    assert all(piece.score == table["scores"][piece.id] for piece in pieces.values())
    assert [n for n in range(words.size) if words.is_special(n)] == [0, 1, 2, 3, 4, 5]
    assert LONGEST == 65536


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_new_languages_move_every_other_id(kind):
    before = Subwords.train(CORPUS, kind, 330, ["en", "fr"])
    after = before.with_languages(["en", "fr"], ["de", "x-é"])
    assert (after.kind, after.size) == (kind, before.size + 2)
    assert after.begins_with(["<2en>", "<2fr>", "<2de>", "<2x-é>"], 4) and after.begins_with(SPECIAL_TOKENS)
    assert [after.token(n) for n in range(8, after.size)] == [before.token(n) for n in range(6, before.size)]
    for text in TEXTS:
        assert after.encode(text) == [number + 2 * (number >= 6) for number in before.encode(text)]
        assert after.decode(after.encode(text)) == before.decode(before.encode(text))
    first = Subwords.train(CORPUS, kind, 330, []).with_languages([], ["en"])
    assert first.begins_with(["<2en>"], 4) and first.begins_with(SPECIAL_TOKENS)
    assert not first.begins_with(["<2en>", first.token(5)], 4), "a piece is no symbol"
    last = first.size - 1
    assert not first.begins_with([first.token(last), "more"], last)
