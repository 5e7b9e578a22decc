import hashlib
import json
import random
import subprocess
import sys
from collections import Counter

import pytest

from vitrail.config import CorpusConfig, DataConfig
from vitrail.data import Prepared, Reason, prepare
from vitrail.errors import DataError, FolderError, TextError

WORDS = ("le", "la", "chat", "chien", "rue", "maison", "grand", "petit", "rouge", "mange", "voit", "est", "large")


def sentences(count, seed):
    dice = random.Random(seed)
    return [" ".join(dice.choices(WORDS, k=dice.randint(3, 12))) for _ in range(count)]


def write(path, lines):
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines))
    return str(path)


def two_files(tmp_path, count=60):
    lines = sentences(count, 1)
    return {
        "source": write(tmp_path / "a.fr", lines),
        "target": write(tmp_path / "a.en", [line.upper() for line in lines]),
    }


def small(**settings):
    return DataConfig(**{"vocabulary_size": 320, **settings})


def decoded(prepared, shard=0):
    tokenizers = prepared.tokenizers
    rows = (prepared.train[shard].rows(n) for n in range(len(prepared.train[shard])))
    return [(tokenizers.source.decode(source), tokenizers.target.decode(target)) for source, target in rows]


@pytest.mark.parametrize("vocabulary", ["bpe", "unigram"])
@pytest.mark.parametrize("joint", [True, False])
def test_shards_hold_the_corpus(tmp_path, vocabulary, joint):
    files = two_files(tmp_path)
    prepared = prepare(small(**files, vocabulary=vocabulary, joint=joint), tmp_path / "out", seed=1)
    lines = sentences(60, 1)
    assert decoded(prepared) == [(line, line.upper()) for line in dict.fromkeys(lines)]
    assert prepared.weights == (1.0,)
    prepared.check()


def test_every_reason_is_counted_with_its_lines(tmp_path):
    good = sentences(30, 2)
    pairs = [f"{line}\t{line.upper()}" for line in good]
    pairs[3] = "un deux\t"
    pairs[5] = "mot " * 300 + "\tword"
    pairs[7] = "a b c d e f g h i j k l m n o p q r s t\tx"
    pairs[9] = "pareil\tpareil"
    pairs[11] = pairs[2]
    pairs[13] = "un\x07\tone"
    pairs[15] = b"\xff\xfe\xff\tbroken\n"
    corpus = write(tmp_path / "a.tsv", pairs)
    prepared = prepare(small(pairs=corpus), tmp_path / "out", seed=1)
    found = {entry.reason: (entry.count, [line for _, line in entry.first]) for entry in prepared.report.left_out}
    assert found == {
        Reason.EMPTY: (1, [4]),
        Reason.LONG: (1, [6]),
        Reason.RATIO: (1, [8]),
        Reason.IDENTICAL: (1, [10]),
        Reason.DUPLICATE: (1, [12]),
        Reason.CONTROL: (1, [14]),
        Reason.BROKEN: (1, [16]),
    }
    assert (prepared.report.read, prepared.report.kept, len(prepared.train[0])) == (30, 23, 23)
    kept_lines = prepared.train[0].index["line"].tolist()
    assert kept_lines == [line for line in range(1, 31) if line not in (4, 6, 8, 10, 12, 14, 16)]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("un deux\t", "empty"),
        ("mot " * 300 + "\tword", "too long"),
        ("pareil\tpareil", "equal"),
        ("un\x07\tone", "control"),
        (b"\xff\tx\n", "broken"),
        (None, "duplicate"),
    ],
)
def test_strict_makes_any_of_them_an_error(tmp_path, bad, message):
    pairs = [f"{line}\t{line.upper()}" for line in sentences(30, 2)]
    pairs[20] = pairs[4] if bad is None else bad
    config = small(pairs=write(tmp_path / "a.tsv", pairs), strict=True)
    with pytest.raises(DataError, match=message) as error:
        prepare(config, tmp_path / "out", seed=1)
    assert error.value.where.endswith("a.tsv, line 21")
    assert not (tmp_path / "out").exists()


def test_duplicates_go_across_corpora_but_not_across_directions(tmp_path):
    file = write(tmp_path / "a.tsv", [f"{line}\t{line.upper()}" for line in sentences(20, 3)])
    fr, de = {"source_language": "fr"}, {"source_language": "de"}
    to_en, to_es = {"target_language": "en"}, {"target_language": "es"}
    again = small(corpora=[CorpusConfig(pairs=file, **fr, **to_en), CorpusConfig(pairs=file, **fr, **to_en)])
    with pytest.raises(DataError, match="no pair of this corpus can be used: 20 duplicate"):
        prepare(again, tmp_path / "again", seed=1)
    other = small(corpora=[CorpusConfig(pairs=file, **fr, **to_en), CorpusConfig(pairs=file, **de, **to_es)])
    assert [len(shard) for shard in prepare(other, tmp_path / "other", seed=1).train] == [20, 20]
    kept = small(corpora=again.corpora, drop_duplicates=False)
    assert [len(shard) for shard in prepare(kept, tmp_path / "kept", seed=1).train] == [20, 20]


def test_several_directions_are_told_by_a_symbol(tmp_path):
    one = write(tmp_path / "a.tsv", [f"{line}\t{line.upper()}" for line in sentences(20, 3)])
    two = write(tmp_path / "b.tsv", [f"{line.upper()}\t{line}" for line in sentences(20, 4)])
    config = small(
        corpora=[
            CorpusConfig(pairs=one, source_language="fr", target_language="en", weight=0.5),
            CorpusConfig(pairs=two, source_language="en", target_language="fr", weight=2),
        ],
        validation=[CorpusConfig(pairs=one, source_language="fr", target_language="en")],
    )
    prepared = prepare(config, tmp_path / "out", seed=1)
    tokenizers = prepared.tokenizers
    assert tokenizers.languages == ("en", "fr") and prepared.weights == (0.5, 2.0)
    for shard, to in zip(prepared.train, tokenizers.languages, strict=True):
        assert {shard.rows(n)[0][0] for n in range(len(shard))} == {tokenizers.language_id(to)}
    assert prepared.validation[0].to == "en"


def test_one_target_language_needs_no_symbol(tmp_path):
    config = small(**two_files(tmp_path), source_language="fr", target_language="en")
    assert prepare(config, tmp_path / "out", seed=1).tokenizers.languages == ()


def test_validation_into_a_language_that_is_not_learnt_is_refused(tmp_path):
    files = two_files(tmp_path)
    learnt = CorpusConfig(**files, source_language="fr", target_language="en")
    other = CorpusConfig(**files, source_language="fr", target_language="de")
    with pytest.raises(DataError, match="into 'de', but no training corpus does"):
        prepare(small(corpora=(learnt,), validation=(other,)), tmp_path / "out", seed=1)


@pytest.mark.parametrize("part", ["corpora", "validation"])
def test_where_there_are_several_languages_every_corpus_names_its_own(tmp_path, part):
    file = write(tmp_path / "a.tsv", [f"{line}\t{line.upper()}" for line in sentences(20, 3)])
    named = [
        CorpusConfig(pairs=file, source_language="fr", target_language="en"),
        CorpusConfig(pairs=file, source_language="en", target_language="fr"),
    ]
    unnamed = [CorpusConfig(pairs=file)]
    config = small(
        corpora=named + unnamed if part == "corpora" else named, validation=unnamed if part == "validation" else ()
    )
    with pytest.raises(DataError, match="does not name its target language"):
        prepare(config, tmp_path / "out", seed=1)


@pytest.fixture
def short_phrasebook(monkeypatch):
    monkeypatch.setattr("vitrail.data.corpora.PHRASEBOOK_PAIRS", 300)
    monkeypatch.setattr("vitrail.data.corpora.PHRASEBOOK_HELD_OUT", 40)


def test_the_phrasebook_brings_its_directions_and_its_validation(tmp_path, short_phrasebook):
    config = DataConfig(corpora=[CorpusConfig(builtin="phrasebook")], vocabulary="word")
    prepared = prepare(config, tmp_path / "out", seed=1)
    tokenizers = prepared.tokenizers
    assert tokenizers.languages == ("en", "fr")
    assert 0 < prepared.report.kept <= 300
    symbols = {prepared.train[0].rows(n)[0][0] for n in range(len(prepared.train[0]))}
    assert symbols == {tokenizers.language_id("en"), tokenizers.language_id("fr")}
    assert {data.to for data in prepared.validation} == {"en", "fr"}
    assert sum(len(data.sources) for data in prepared.validation) == 40
    trained = set(decoded(prepared))
    for data in prepared.validation:
        assert trained.isdisjoint(zip(data.sources, data.references, strict=True))


def test_validation_is_kept_as_it_is(tmp_path):
    odd = ["pareil\tpareil", "a\tb", "a\tb", "\tempty", "mot " * 300 + "\tword", "tab\u2028here\tx\u0085y"]
    config = small(**two_files(tmp_path), validation_pairs=write(tmp_path / "v.tsv", odd))
    prepared = prepare(config, tmp_path / "out", seed=1)
    (data,) = prepared.validation
    wanted = [tuple(line.split("\t")) for line in odd if not line.startswith("\t")]
    assert list(zip(data.sources, data.references, strict=True)) == wanted
    assert any("1 empty or malformed" in note for note in prepared.report.notes)


def test_a_large_validation_set_is_cut_with_a_note(tmp_path):
    lines = [f"{n}\t-{n}" for n in range(10_005)]
    config = small(**two_files(tmp_path), validation_pairs=write(tmp_path / "v.tsv", lines))
    prepared = prepare(config, tmp_path / "out", seed=1)
    assert prepared.validation[0].sources == [str(n) for n in range(10_000)]
    assert any("first 10,000" in note for note in prepared.report.notes)


def test_a_vocabulary_that_cannot_be_filled_is_noted(tmp_path):
    prepared = prepare(small(**two_files(tmp_path), vocabulary_size=8000), tmp_path / "out", seed=1)
    assert prepared.tokenizers.source.size < 8000
    assert any("not 8,000" in line for line in prepared.report.lines())


def test_the_same_inputs_give_the_same_files(tmp_path):
    files = two_files(tmp_path)
    for name in ("one", "two"):
        prepare(small(**files), tmp_path / name, seed=1)

    def checksums(name):
        found = sorted((tmp_path / name).rglob("*"))
        return [(f.name, hashlib.sha256(f.read_bytes()).hexdigest()) for f in found if f.is_file()]

    assert checksums("one") == checksums("two")


def test_a_folder_made_of_the_same_is_used_again(tmp_path):
    files = two_files(tmp_path)
    asked = Counter()

    def report(what, done, total):
        asked[what] += 1

    out = tmp_path / "out"
    first = prepare(small(**files), out, seed=1, report=report)
    assert asked["encoding"] == 1
    assert prepare(small(**files), out, seed=1, report=report).fingerprint == first.fingerprint
    assert asked["encoding"] == 1
    prepare(small(**files, max_length=50), out, seed=1, report=report)  # other settings
    assert asked["encoding"] == 2
    (tmp_path / "a.fr").write_text("\n".join(sentences(60, 9)) + "\n")  # other text
    again = prepare(small(**files, max_length=50), out, seed=1, report=report)
    assert asked["encoding"] == 3 and again.fingerprint != first.fingerprint
    (out / "train-0.tokens").unlink()  # damaged
    prepare(small(**files, max_length=50), out, seed=1, report=report)
    assert asked["encoding"] == 4
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    "content", [{"notes.txt": "mine"}, {"manifest.json": '{"format": 1, "version": "0", "files": {}}'}]
)
def test_a_folder_with_other_things_is_not_touched(tmp_path, content):
    out = tmp_path / "out"
    out.mkdir()
    for name, text in content.items():
        (out / name).write_text(text)
    with pytest.raises(FolderError, match=r"manifest") as error:
        prepare(small(**two_files(tmp_path)), out, seed=1)
    assert "another folder" in error.value.fix
    assert {path.name: path.read_text() for path in out.iterdir()} == content


@pytest.mark.parametrize("name", ["train-0.tokens", "train-0.index", "validation.jsonl", "tokenizer/subwords.model"])
def test_missing_cut_and_damaged_files_are_named(tmp_path, name):
    prepared = prepare(small(**two_files(tmp_path)), tmp_path / "out", seed=1)
    file = tmp_path / "out" / name
    whole = file.read_bytes()
    file.unlink()
    with pytest.raises(FolderError, match="missing") as error:
        Prepared.open(tmp_path / "out")
    assert error.value.where == str(file)
    if whole:
        file.write_bytes(whole[:-1])
        with pytest.raises(FolderError, match="bytes"):
            Prepared.open(tmp_path / "out")
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(FolderError, match="checksum"):
            prepared.check()
    file.write_bytes(whole)
    Prepared.open(tmp_path / "out").check()


@pytest.mark.parametrize(
    ("manifest", "message"),
    [("{", "damaged"), ("[]", "damaged"), ('{"format": 99, "version": "9"}', "newer"), (None, "no prepared data")],
)
def test_a_manifest_that_is_not_right_is_named(tmp_path, manifest, message):
    prepare(small(**two_files(tmp_path)), tmp_path / "out", seed=1)
    file = tmp_path / "out" / "manifest.json"
    file.unlink()
    if manifest is not None:
        file.write_text(manifest)
    with pytest.raises(FolderError, match=message):
        Prepared.open(tmp_path / "out")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FolderError, match="no such folder"):
        Prepared.open(tmp_path / "nowhere")


def test_nothing_to_prepare_and_nothing_left_are_errors(tmp_path):
    with pytest.raises(DataError, match="nothing to prepare"):
        prepare(small(), tmp_path / "out", seed=1)
    with pytest.raises(DataError, match="no pair of this corpus can be used: 2 empty"):
        prepare(small(pairs=write(tmp_path / "a.tsv", ["\ta", "b\t"])), tmp_path / "out", seed=1)
    with pytest.raises(DataError, match="no pair of this corpus can be used: 30 too long"):
        config = small(pairs=write(tmp_path / "b.tsv", [f"{s}\t{s.upper()}" for s in sentences(30, 1)]), max_length=1)
        prepare(config, tmp_path / "out", seed=1)
    with pytest.raises(DataError, match="no pair of this validation corpus"):
        config = small(**two_files(tmp_path), validation_pairs=write(tmp_path / "v.tsv", ["\ta"]))
        prepare(config, tmp_path / "out", seed=1)
    with pytest.raises(TextError, match="no room"):
        prepare(small(**two_files(tmp_path), vocabulary_size=20), tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_named_and_leaves_nothing_half_done(tmp_path):
    files = two_files(tmp_path, count=5000)
    config = {**files, "vocabulary_size": 320, "drop_duplicates": False}
    code = f"""
import resource
from pathlib import Path
from vitrail.config import DataConfig
from vitrail.data import prepare
from vitrail.errors import StorageError

resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    prepare(DataConfig(**{config!r}), Path({str(tmp_path / "out")!r}), seed=1)
except StorageError as error:
    print(error.what)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert "too large" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.en", "a.fr"]


def test_no_torch():
    code = "import sys, vitrail.text, vitrail.data; assert 'torch' not in sys.modules; print('fine')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "fine\n"


def test_the_manifest_is_json_with_checksums(tmp_path):
    prepare(small(**two_files(tmp_path)), tmp_path / "out", seed=1)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    on_disk = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert manifest["files"].keys() | {"manifest.json"} == on_disk
    for name, known in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == known["sha256"]


def held_out_of(tmp_path, lines, **settings):
    files = {
        "source": write(tmp_path / "a.fr", lines),
        "target": write(tmp_path / "a.en", [line.upper() for line in lines]),
    }
    return prepare(small(**files, hold_out=6, **settings), tmp_path / "out", seed=1)


def test_pairs_are_held_out_where_no_validation_is_named(tmp_path):
    lines = list(dict.fromkeys(sentences(100, 1)))
    prepared = held_out_of(tmp_path, lines, strict=True)
    (data,) = prepared.validation
    assert len(data.sources) == 6
    assert data.references == [source.upper() for source in data.sources]
    assert decoded(prepared) == [(line, line.upper()) for line in lines if line not in data.sources]
    (left_out,) = prepared.report.left_out
    assert (left_out.reason, left_out.count) == (Reason.HELD_OUT, 6)
    assert any("6 pairs to validate on" in note for note in prepared.report.notes)


def test_what_a_corpus_says_often_is_learnt_and_not_held_out(tmp_path):
    often = list(dict.fromkeys(sentences(60, 2)))
    lines = [*sentences(100, 1), *often, *(f"  {line.replace(' ', '  ', 1)} " for line in often)]
    prepared = held_out_of(tmp_path, lines)
    (data,) = prepared.validation
    assert not set(often) & set(data.sources)
    assert set(often) <= {source for source, _ in decoded(prepared)}


def test_what_is_held_out_is_not_the_same_for_another_seed(tmp_path):
    files = two_files(tmp_path, 200)
    held_out = [
        prepare(small(**files, hold_out=6), tmp_path / str(number), seed=seed).validation[0].sources
        for number, seed in enumerate((1, 1, 2))
    ]
    assert held_out[0] == held_out[1] != held_out[2]


def test_a_sentence_that_is_held_out_one_way_is_not_trained_on_the_other(tmp_path):
    files = two_files(tmp_path, 200)
    there = CorpusConfig(**files, source_language="fr", target_language="en")
    back = CorpusConfig(
        source=files["target"], target=files["source"], source_language="en", target_language="fr", weight=2.0
    )
    prepared = prepare(small(corpora=(there, back), hold_out=6), tmp_path / "out", seed=1)
    first, second = prepared.validation
    assert (first.to, second.to) == ("en", "fr")
    assert first.sources == second.references  # the same pairs, so that no more are lost than necessary
    held_out = {*first.sources, *first.references}
    for shard in (0, 1):
        assert all(held_out.isdisjoint(pair) for pair in decoded(prepared, shard))


def test_corpora_that_share_their_sources_have_pairs_held_out(tmp_path):
    lines = list(dict.fromkeys(sentences(100, 1)))
    english = write(tmp_path / "a.en", lines)
    corpora = []
    for language, spelled in (("de", english), ("fr", str(tmp_path / ".." / tmp_path.name / "a.en"))):
        target = write(tmp_path / f"a.{language}", [f"{language}{line}" for line in lines])
        corpora.append(CorpusConfig(source=spelled, target=target, source_language="en", target_language=language))
    prepared = prepare(small(corpora=tuple(corpora), hold_out=6), tmp_path / "out", seed=1)
    assert [(data.to, len(data.sources)) for data in prepared.validation] == [("de", 6), ("fr", 6)]
    assert prepared.validation[0].sources == prepared.validation[1].sources


def test_what_is_too_odd_to_learn_from_is_too_odd_to_measure_on(tmp_path):
    lines = list(dict.fromkeys(sentences(200, 1)))
    odd = [f"{line} {'zu ' * 300}{number}" if number % 2 else line.upper() for number, line in enumerate(lines)]
    files = {"source": write(tmp_path / "a.fr", lines), "target": write(tmp_path / "a.en", odd)}
    prepared = prepare(small(**files, hold_out=10), tmp_path / "out", seed=1)
    (data,) = prepared.validation
    assert 0 < len(data.sources) < 10
    assert not any("zu zu" in reference for reference in data.references)


def test_at_most_a_tenth_is_held_out(tmp_path):
    prepared = held_out_of(tmp_path, sentences(35, 1))
    assert len(prepared.validation[0].sources) == 3


def test_what_one_corpus_says_once_and_another_often_is_learnt(tmp_path):
    once = list(dict.fromkeys(sentences(40, 1)))
    files = [
        write(tmp_path / f"{name}.tsv", [f"{line}\t{line.upper()}" for line in lines])
        for name, lines in (("a", once), ("b", [*once, *once, *sentences(40, 2)]))
    ]
    corpora = tuple(CorpusConfig(pairs=file) for file in files)
    prepared = prepare(small(corpora=corpora, hold_out=6, drop_duplicates=False), tmp_path / "out", seed=1)
    (data,) = prepared.validation
    assert not set(once) & set(data.sources)
    assert f"{files[0]}: nothing is held out" in str(prepared.report)
    assert len(decoded(prepared, 0)) == len(once)


def test_a_few_pairs_are_all_trained_on(tmp_path):
    prepared = held_out_of(tmp_path, sentences(9, 1))
    assert prepared.validation == ()


def test_nothing_is_held_out_where_validation_is_named(tmp_path):
    files = two_files(tmp_path)
    named = {"validation_source": files["source"], "validation_target": files["target"]}
    with_both = prepare(small(**files, **named, hold_out=6), tmp_path / "with", seed=1)
    without = prepare(small(**files, **named), tmp_path / "without", seed=1)
    assert with_both.validation == without.validation
    assert decoded(with_both) == decoded(without)


def test_of_a_corpus_that_only_repeats_itself_nothing_is_held_out(tmp_path):
    prepared = held_out_of(tmp_path, ["le chat mange", "le chien voit"] * 30)
    assert prepared.validation == ()
    assert len(decoded(prepared)) == 2
    assert any("nothing is held out" in note for note in prepared.report.notes)
