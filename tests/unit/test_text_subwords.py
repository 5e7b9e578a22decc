import re

import pytest

from vitrail.errors import TextError
from vitrail.text import EOS, PAD, UNK, Subwords, tidy
from vitrail.text.kinds import TOKENIZER_KINDS, _subwords
from vitrail.text.subwords import LONGEST

CORPUS = ["je suis étudiant", "merci beaucoup", "i am a student", "thanks a lot"] * 3


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_training_twice_gives_the_same_bytes(tmp_path, kind):
    for name in ("a", "b"):
        Subwords.train(CORPUS, kind, 300, ("en", "fr")).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_small_corpus_gives_a_smaller_vocabulary(kind):
    assert 256 < Subwords.train(CORPUS, kind, 8000, ()).size < 8000


def test_a_large_corpus_gives_the_size_that_was_asked_for():
    words = [f"{a}{b}{c}" for a in "bcdfg" for b in "aeiou" for c in "lmnrs"]
    corpus = [" ".join(words[i : i + 5]) for i in range(0, 120)]
    assert Subwords.train(corpus, "bpe", 330, ()).size == 330


def test_too_small_a_size_names_a_possible_one():
    with pytest.raises(TextError, match="no room") as error:
        Subwords.train(CORPUS, "bpe", 100, ())
    size = int(error.value.fix.split()[-1]) + 1
    assert Subwords.train(CORPUS, "bpe", size, ()).size == size


def test_a_script_of_many_characters_fits_by_spelling_rare_ones_in_bytes():
    common, rare = "的一是不" * 2000, "".join(chr(0x4E00 + i) for i in range(100))
    subwords = Subwords.train([common[i : i + 20] for i in range(0, len(common), 20)] + [rare], "bpe", 300, ())
    assert subwords.size <= 300
    assert subwords.decode(subwords.encode(rare)) == rare


def test_nothing_to_learn_from_is_an_error():
    with pytest.raises(TextError, match="no text"):
        Subwords.train(["", "  "], "bpe", 300, ())


def test_a_book_on_one_line_is_an_error():
    with pytest.raises(TextError, match="every line is longer than 65,536 bytes"):
        Subwords.train(["mot " * 30_000] * 3, "bpe", 300, ())


def test_saved_and_loaded_is_the_same(tmp_path):
    subwords = Subwords.train(CORPUS, "unigram", 320, ("en",))
    subwords.save(tmp_path / "subwords.model")
    loaded = Subwords.load(tmp_path / "subwords.model", "unigram")
    assert loaded.kind == "unigram" and loaded.size == subwords.size
    assert loaded.encode("merci étudiant") == subwords.encode("merci étudiant")


@pytest.mark.parametrize("content", [b"", b"not a model", None])
def test_a_file_that_is_no_model_says_so(tmp_path, content):
    path = tmp_path / "subwords.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TextError) as error:
        Subwords.load(path, "bpe")
    assert error.value.where == str(path)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("identity", "does not begin with <pad> <unk> <bos> <eos>"),
        ("nmt_nfkc", "has a table of its own that rewrites text"),
    ],
)
def test_a_model_with_other_specials_or_rules_is_refused(tmp_path, rule, message):
    import io

    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        vocab_size=40,
        hard_vocab_limit=False,
        minloglevel=2,
        normalization_rule_name=rule,
    )
    (tmp_path / "subwords.model").write_bytes(model.getvalue())
    with pytest.raises(TextError, match=message):
        Subwords.load(tmp_path / "subwords.model", "unigram")


def test_half_a_character_is_an_error_not_a_crash():
    with pytest.raises(TextError, match="not Unicode"):
        Subwords.train(CORPUS, "bpe", 300, ()).encode("a\ud800b")


def test_every_word_is_known():
    assert Subwords.train(CORPUS, "bpe", 300, ()).unknown("日本 xyz") == []


def test_only_typed_blanks_are_tidied():
    assert tidy("  a \t b\n▁c ") == "a b c"
    assert tidy("« a\u00a0!\u3000b\u2028c »") == "« a\u00a0!\u3000b\u2028c »"


def test_every_run_of_blanks_becomes_one_space_and_nothing_else_is_cut():
    assert tidy("a  b") == "a b"
    assert tidy("XaX") == "XaX"


def test_the_unknown_symbol_is_visible_in_text():
    subwords = Subwords.train(CORPUS, "bpe", 300, ())
    assert subwords.decode([*subwords.encode("merci"), UNK]) == "merci <unk>"


def test_no_character_is_replaced_by_another():
    """Unicode has many characters that look like others: each stays what it was typed as."""
    typed = "ﬁ ² Ａ ① ½ é e\u0301 \u00a0! … ™ ㎏"
    for kind in ("bpe", "unigram"):
        subwords = Subwords.train([*CORPUS, typed], kind, 320, ())
        assert subwords.decode(subwords.encode(typed)) == typed


def test_long_lines_are_learnt_from_as_far_as_the_limit():
    long = "mot " * 16_383 + "mots"
    assert len(long.encode()) == LONGEST
    pieces = Subwords.train([long], "bpe", 300, ()).pieces()
    assert "▁mot" in pieces
    assert "▁mot" in Subwords.train([*CORPUS, long, long + "s"], "bpe", 300, ()).pieces()


def test_learning_says_nothing(capfd):
    Subwords.train([*CORPUS, "x" * (LONGEST + 1)], "bpe", 300, ())
    assert capfd.readouterr() == ("", "")


def test_half_a_character_is_shown_with_what_stands_around_it():
    with pytest.raises(TextError, match=re.escape(r"'a\ud800b'")):
        Subwords.train(CORPUS, "bpe", 300, ()).encode("a\ud800b")
    with pytest.raises(TextError) as error:
        Subwords.train(CORPUS, "bpe", 300, ()).encode("y" * 100 + "\ud800")
    assert error.value.what.count("y") == 60


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_kind_learns_and_loads_vocabularies_of_its_own_kind(tmp_path, kind):
    made = _subwords(kind)
    learnt = made.learn(iter(CORPUS), 300, ("en", "fr"))
    Subwords.train(CORPUS, kind, 300, ("en", "fr")).save(tmp_path / "wanted")
    learnt.save(tmp_path / "learnt")
    assert (tmp_path / "learnt").read_bytes() == (tmp_path / "wanted").read_bytes()
    assert learnt.kind == made.load(tmp_path / "learnt").kind == kind
    assert made.load(tmp_path / "learnt").encode("merci") == learnt.encode("merci")
    assert made.file_name == TOKENIZER_KINDS[kind].file_name


def test_many_rows_decode_as_each_alone():
    subwords = Subwords.train(CORPUS, "bpe", 300, ("en", "fr"))
    rows = [subwords.encode(text) for text in ("a b c", "", "un chat ☃", "  x  ")]
    rows.append([EOS, *rows[0], PAD])
    assert subwords.decode_all(rows) == [subwords.decode(row) for row in rows]
    assert subwords.decode_all(rows)[4] == subwords.decode(rows[0])
    assert subwords.decode_all([]) == []
    assert subwords.decode_all([[]]) == [""]
