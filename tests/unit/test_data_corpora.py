import json
import random

import pytest

from vitrail.config import CorpusConfig
from vitrail.data import Corpus
from vitrail.errors import DataError


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def texts(corpus):
    return [(pair.source, pair.target) for pair in corpus.pairs()]


def file_of_pairs(tmp_path, name, lines, **fields):
    return Corpus(CorpusConfig(pairs=write(tmp_path / name, lines), **fields))


PAIRS = [("je suis étudiant", "i am a student"), ("merci", "thanks")]


def test_the_same_pairs_come_out_of_every_format(tmp_path):
    two_files = Corpus(
        CorpusConfig(
            source=write(tmp_path / "a.fr", [fr for fr, _ in PAIRS]),
            target=write(tmp_path / "a.en", [en for _, en in PAIRS]),
        )
    )
    tsv = file_of_pairs(tmp_path, "a.tsv", [f"{fr}\t{en}" for fr, en in PAIRS])
    columns = file_of_pairs(
        tmp_path, "b.tsv", [f"x\t{en}\t{fr}\ty" for fr, en in PAIRS], source_field="3", target_field="2"
    )
    plain = file_of_pairs(tmp_path, "a.jsonl", [json.dumps({"source": fr, "target": en}) for fr, en in PAIRS])
    nested = file_of_pairs(
        tmp_path,
        "b.jsonl",
        [json.dumps({"translation": {"fr": fr, "en": en}}) for fr, en in PAIRS],
        source_field="translation.fr",
        target_field="translation.en",
    )
    dotted = file_of_pairs(
        tmp_path,
        "c.jsonl",
        [json.dumps({"text.fr": fr, "text.en": en}) for fr, en in PAIRS],
        source_field="text.fr",
        target_field="text.en",
    )
    for corpus in (two_files, tsv, columns, plain, nested, dotted):
        assert texts(corpus) == PAIRS
        assert texts(corpus) == PAIRS  # and again from the start


def test_pairs_know_their_line_and_language(tmp_path):
    corpus = file_of_pairs(tmp_path, "a.tsv", ["a\tb", "", "c\td"], source_language="fr", target_language="en")
    assert [(pair.line, pair.to) for pair in corpus.pairs()] == [(1, "en"), (2, "en"), (3, "en")]


def test_a_missing_column_names_the_line_and_what_there_is(tmp_path):
    corpus = file_of_pairs(tmp_path, "a.tsv", ["a\tb", "c"])
    with pytest.raises(DataError, match=r"no column 2: the line has 1") as error:
        texts(corpus)
    assert error.value.where.endswith("a.tsv, line 2")


@pytest.mark.parametrize("column", ["0", "fr", "-1", "²"])
def test_a_column_is_a_number(tmp_path, column):
    with pytest.raises(DataError, match="not a column number"):
        texts(file_of_pairs(tmp_path, "a.tsv", ["a\tb"], source_field=column))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a", "target"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"source": "a", "traget": "b"}', "no field 'target'; the fields are: source, traget"),
        ('{"source": "a", "target": 3}', "not text: 3"),
        ('{"source": "a", "target": null}', "not text"),
        ('["a", "b"]', "no field 'source'"),
        ("3", "no field 'source'"),
    ],
)
def test_a_malformed_line_of_json_is_named(tmp_path, line, message):
    corpus = file_of_pairs(tmp_path, "a.jsonl", ['{"source": "a", "target": "b"}', line])
    with pytest.raises(DataError) as error:
        texts(corpus)
    assert message in error.value.what
    assert error.value.where.endswith("a.jsonl, line 2")


def test_a_field_that_is_nearly_right_is_suggested(tmp_path):
    corpus = file_of_pairs(tmp_path, "a.jsonl", ['{"source": "a", "traget": "b"}'])
    with pytest.raises(DataError) as error:
        texts(corpus)
    assert error.value.fix == "did you mean 'traget'?"


def test_half_a_character_in_json_is_broken_text(tmp_path):
    corpus = file_of_pairs(tmp_path, "a.jsonl", [r'{"source": "\ud800", "target": "b"}'])
    assert texts(corpus) == [(None, "b")]


def test_a_name_that_says_nothing_is_asked_about(tmp_path):
    with pytest.raises(DataError, match="TSV or JSON lines"):
        texts(file_of_pairs(tmp_path, "a.txt", ["a\tb"]))


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl"])
def test_an_empty_file_is_an_error(tmp_path, name):
    with pytest.raises(DataError, match="empty"):
        texts(file_of_pairs(tmp_path, name, []))


@pytest.mark.parametrize(("left", "right"), [([], []), ([], ["a"]), (["a"], [])])
def test_an_empty_file_of_two_is_an_error(tmp_path, left, right):
    corpus = Corpus(CorpusConfig(source=write(tmp_path / "a", left), target=write(tmp_path / "b", right)))
    with pytest.raises(DataError, match="empty") as error:
        texts(corpus)
    assert error.value.where.endswith("a" if not left else "b")


def generated(count):
    """Sentences of random lengths, and "translations" somewhat longer."""
    dice = random.Random(7)
    sources = ["x" * dice.randint(10, 150) for _ in range(count)]
    return sources, ["y" * round(len(source) * dice.uniform(1.0, 1.3)) for source in sources]


@pytest.mark.parametrize("missing", [1, 3])
@pytest.mark.parametrize("at", [0, 100, 1500, 1990])
@pytest.mark.parametrize("side", ["source", "target"])
def test_misaligned_files_name_both_lengths_and_the_place(tmp_path, side, at, missing):
    sources, targets = generated(2000)
    del (sources if side == "source" else targets)[at : at + missing]
    corpus = Corpus(CorpusConfig(source=write(tmp_path / "a.fr", sources), target=write(tmp_path / "a.en", targets)))
    with pytest.raises(DataError) as error:
        texts(corpus)
    assert "2,000" in error.value.what and f"{2000 - missing:,}" in error.value.what
    assert "seem to diverge" in error.value.fix
    guess = int(error.value.fix.partition("near line ")[2].partition(":")[0].replace(",", ""))
    assert abs(guess - (at + 1)) <= 3


def test_a_file_that_was_cut_off_is_seen_as_that(tmp_path):
    sources, targets = generated(2000)
    corpus = Corpus(
        CorpusConfig(source=write(tmp_path / "a.fr", sources[:1200]), target=write(tmp_path / "a.en", targets))
    )
    with pytest.raises(DataError) as error:
        texts(corpus)
    assert error.value.fix.startswith("a.fr seems to be cut off")
