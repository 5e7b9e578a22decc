"""BPE-dropout: without dropout it equals sentencepiece's segmentation; with it, the same text in other subwords."""

import random
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vitrail.data.subword_dropout
from vitrail.config import DataConfig
from vitrail.data import BatchStream, Position, SubwordDropout, prepare
from vitrail.data.phrasebook import training_pairs
from vitrail.errors import ConfigError
from vitrail.text import EOS, PAD, Subwords, Tokenizers, WordVocabulary
from vitrail.text.merges import Merges

PLACE = {"epoch": 0, "shard": 0, "line": 1}


@pytest.fixture(scope="module")
def tokenizers():
    pairs = list(training_pairs(3000, seed=4))
    return Tokenizers.train(
        [pair.source for pair in pairs],
        [pair.target for pair in pairs],
        kind="bpe",
        size=600,
        joint=True,
        languages=["en", "fr"],
    )


@pytest.fixture(scope="module")
def sentences():
    return [pair.source for pair in islice(training_pairs(400, seed=5), 300)]


def rows(tokenizers, text, to="fr"):
    return (
        np.array(tokenizers.encode_source(text, to), dtype=np.int32),
        np.array(tokenizers.encode_target(text), dtype=np.int32),
    )


def dropout(tokenizers, share=0.3, **options):
    return SubwordDropout(tokenizers, **{"share": share, "seed": 1, **options})


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def letters_of(tokenizers):
    return sorted({character for text in tokenizers.source.pieces() for character in text if character != "▁"})


def test_words_of_its_letters_are_segmented_as_sentencepiece_does(tokenizers):
    draw, merges, letters = random.Random(1), Merges(tokenizers.source.pieces()), letters_of(tokenizers)
    for _ in range(3000):
        word = "".join(draw.choices(letters, k=draw.randint(1, 14)))
        assert merges.segment(f"▁{word}") == tokenizers.source.encode(word), word


@settings(deadline=None, max_examples=300)
@given(text=st.text(max_size=60) | st.text("abcdeiéç' -\u00a0x☃", max_size=60))
def test_without_dropout_any_row_stays_as_it_is(tokenizers, text):
    plain = rows(tokenizers, text.encode("utf-8", "replace").decode("utf-8"))
    assert same(dropout(tokenizers, share=0.0).vary(*plain, **PLACE), plain)


@settings(deadline=None, max_examples=200)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("abcdeiéç' -\u00a0x☃", max_size=60),
    share=st.sampled_from([0.1, 0.5, 0.99]),
    epoch=st.integers(0, 5),
)
def test_other_pieces_spell_the_same_text(tokenizers, text, share, epoch):
    plain = rows(tokenizers, text)
    source, target = dropout(tokenizers, share).vary(*plain, epoch=epoch, shard=0, line=3)
    assert source[0] == plain[0][0] and source[-1] == target[-1] == EOS
    for varied, row in ((source, plain[0]), (target, plain[1])):
        specials = [number for number in row.tolist() if tokenizers.source.is_special(number)]
        assert [number for number in varied.tolist() if tokenizers.source.is_special(number)] == specials
        assert tokenizers.decode(varied.tolist()) == tokenizers.decode(row.tolist())
        assert "".join(tokenizers.tokens(varied.tolist())) == "".join(tokenizers.tokens(row.tolist()))


def test_a_word_with_bytes_stays_as_it_is(tokenizers):
    _, target = rows(tokenizers, "petit pet☃it petit")
    around = [word for word in tokenizers.tokens(target.tolist()) if word.startswith("<0x")]
    assert around, "the snowman is spelled in bytes"
    only = tokenizers.target.encode("pet☃it")
    for line in range(50):
        _, varied = dropout(tokenizers, 0.5).vary(target, target, epoch=0, shard=0, line=line)
        flat = varied.tolist()
        assert any(flat[at : at + len(only)] == only for at in range(len(flat)))


def test_rows_follow_from_seed_epoch_shard_and_line_alone(tokenizers, sentences, monkeypatch):
    plain = [rows(tokenizers, text) for text in sentences]
    first = dropout(tokenizers)
    wanted = [first.vary(*pair, epoch=1, shard=0, line=line) for line, pair in enumerate(plain)]
    other = dropout(tokenizers)
    for line, pair in reversed(list(enumerate(plain))):  # in another order
        assert same(other.vary(*pair, epoch=1, shard=0, line=line), wanted[line])
    monkeypatch.setattr(vitrail.data.subword_dropout, "MEMORY", 3)  # and with a tiny cache
    forgetful = dropout(tokenizers)
    for line, pair in enumerate(plain):
        assert same(forgetful.vary(*pair, epoch=1, shard=0, line=line), wanted[line])
    for change in ({"epoch": 2}, {"shard": 1}):
        changed = [
            first.vary(*pair, **{"epoch": 1, "shard": 0, "line": line, **change}) for line, pair in enumerate(plain)
        ]
        assert sum(not same(one, two) for one, two in zip(changed, wanted, strict=True)) > len(plain) / 2
    reseeded = dropout(tokenizers, seed=2)
    again = [reseeded.vary(*pair, epoch=1, shard=0, line=line) for line, pair in enumerate(plain)]
    assert sum(not same(one, two) for one, two in zip(again, wanted, strict=True)) > len(plain) / 2


def test_a_merge_is_left_out_as_often_as_asked_for(tokenizers):
    """A word of two pieces has one merge, which is dropped with the given probability."""
    merges, draw = Merges(tokenizers.source.pieces()), random.Random(7)
    word = next(text for text in tokenizers.source.pieces() if len(text) == 2)
    split = sum(len(merges.segment(word, is_dropped=lambda: draw.random() < 0.3)) == 2 for _ in range(20_000))
    assert split / 20_000 == pytest.approx(0.3, abs=0.015)


def test_more_dropout_makes_more_pieces_up_to_single_letters(tokenizers, sentences):
    plain = [rows(tokenizers, text)[1] for text in sentences]
    lengths = []
    for share in (0.0, 0.1, 0.4, 0.999):
        drops = dropout(tokenizers, share)
        lengths.append(sum(len(drops.vary(row, row, epoch=0, shard=0, line=n)[0]) for n, row in enumerate(plain)))
    letters = sum(len("".join(tokenizers.tokens(row[:-1].tolist()))) + 1 for row in plain)
    assert lengths[0] == sum(map(len, plain)) < lengths[1] < lengths[2] < lengths[3] <= letters
    assert lengths[3] == pytest.approx(letters, rel=0.02)


def test_a_row_that_would_be_too_long_stays_plain(tokenizers, sentences):
    drops = dropout(tokenizers, 0.9, longest=20)
    plain = [rows(tokenizers, text) for text in sentences]
    short = [pair for pair in plain if len(pair[0]) <= 20]
    varied = [drops.vary(*pair, epoch=0, shard=0, line=line) for line, pair in enumerate(short)]
    assert all(len(row) <= 20 for pair in varied for row in pair)
    kept = [np.array_equal(one[0], two[0]) for one, two in zip(varied, short, strict=True)]
    assert any(kept) and not all(kept)


def test_vocabularies_without_merges_are_refused_by_name(sentences):
    for tokenizer in (WordVocabulary(["a"], []), Subwords.train(sentences, "unigram", 400, [])):
        with pytest.raises(ConfigError, match=f"train.subword_dropout .* '{tokenizer.kind}'"):
            dropout(Tokenizers(tokenizer, tokenizer))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    pairs = [pair for pair in training_pairs(600, seed=6) if pair.target_language == "en"]
    (folder / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in pairs), encoding="utf-8")
    corpora = [{"pairs": str(folder / "pairs.tsv")}] * 2
    config = DataConfig.model_validate({"corpora": corpora, "vocabulary_size": 400, "drop_duplicates": False})
    return prepare(config, folder / "prepared", seed=1)


@pytest.mark.parametrize("epoch", [0, 3])
def test_an_epoch_holds_the_same_text_in_batches_within_the_budget_and_begins_again_anywhere(prepared, epoch):
    def stream(drops):
        options = {"batch_tokens": 300, "seed": 1, "subword_dropout": drops}
        return BatchStream(prepared.train, prepared.weights, **options)

    def whole_epoch(stream):
        count = stream.batches_in_epoch(epoch)
        return [batch for _, batch in islice(stream.from_position(Position(epoch, 0)), count)]

    def texts(batches):
        decode = prepared.tokenizers.decode
        rows = (row for batch in batches for row in zip(batch.source_BS, batch.target_BT, strict=True))
        return Counter((decode(source.tolist()), decode(target.tolist())) for source, target in rows)

    def lines(batches):
        return Counter((corpus, line) for batch in batches for corpus, some in batch.lines for line in some)

    plain, varied = whole_epoch(stream(None)), whole_epoch(stream(dropout(prepared.tokenizers)))
    assert texts(varied) == texts(plain)
    assert lines(varied) == lines(plain)
    assert sum(batch.target_tokens for batch in varied) > sum(batch.target_tokens for batch in plain)
    for batch in varied:
        assert max(batch.source_BS.size, batch.target_BT.size) <= 300 or batch.pairs == 1
        assert (batch.source_BS != PAD).any(axis=0).all() and (batch.target_BT != PAD).any(axis=0).all()
    at = len(varied) // 2
    again = stream(dropout(prepared.tokenizers)).from_position(Position(epoch, at))
    for batch, (_, resumed) in zip(varied[at:], again, strict=False):
        assert np.array_equal(batch.source_BS, resumed.source_BS)
        assert np.array_equal(batch.target_BT, resumed.target_BT)


def test_the_pieces_of_a_pair_follow_from_its_epoch_its_shard_and_its_line(prepared):
    """What a batch holds is each of its pairs as `vary` gives it for this place, and another way in another epoch."""
    options = {"batch_tokens": 300, "seed": 1, "subword_dropout": dropout(prepared.tokenizers)}
    stream, drops = BatchStream(prepared.train, prepared.weights, **options), dropout(prepared.tokenizers)

    def wanted(number, line, epoch):
        shard = prepared.train[number]
        (record,) = shard.index[shard.index["line"] == line]
        start, middle = int(record["start"]), int(record["start"]) + int(record["source"])
        row = np.asarray(shard.tokens).astype(np.int32)
        pair = drops.vary(
            row[start:middle], row[middle : middle + int(record["target"])], epoch=epoch, shard=number, line=line
        )
        return tuple(tuple(side.tolist()) for side in pair)

    for epoch in (0, 1):
        for _, batch in islice(stream.from_position(Position(epoch, 0)), 8):
            pairs = Counter(
                tuple(tuple(row[row != PAD].tolist()) for row in pair)
                for pair in zip(batch.source_BS, batch.target_BT, strict=True)
            )
            assert len(batch.lines) == len(prepared.train)  # in the order of the shards, each with some of its lines
            places = [(n, line) for n, (_, lines) in enumerate(batch.lines) for line in lines]
            assert pairs == Counter(wanted(number, line, epoch) for number, line in places)
