"""A student learns from what its teacher says, line by line, however often it is interrupted."""

import json
import resource
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import dying
import pytest
from door import command, settings, vitrail
from dying import Fault

import vitrail as package
from vitrail.config import load_config
from vitrail.data import Prepared, corpora
from vitrail.data.phrasebook import held_out, training_pairs
from vitrail.distill import Plan
from vitrail.translator import CHUNK

RECIPE = """
[[data.corpora]]
pairs = "{folder}/to-en.tsv"
source_language = "fr"
target_language = "en"

[[data.corpora]]
source = "{folder}/to-fr.en"
target = "{folder}/to-fr.fr"
source_language = "en"
target_language = "fr"
weight = 2.0

[[data.validation]]
pairs = "{folder}/val-en.tsv"
source_language = "fr"
target_language = "en"

[[data.validation]]
pairs = "{folder}/val-fr.tsv"
source_language = "en"
target_language = "fr"

[decode]
beam_size = 2
max_extra = 2
"""
STEPS = settings("train.max_steps=6", "train.checkpoint_every=3", "train.validate_every=6", "model.decoder_layers=1")


@dataclass(frozen=True)
class Place:
    """Everything a distillation needs: a teacher, a recipe, and files with sentences."""

    folder: Path
    teacher: Path

    @property
    def recipe(self):
        return self.folder / "recipe.toml"

    def distill(self, out, *options, recipe=True):
        return ["distill", self.teacher, *([self.recipe] if recipe else []), "--out", out, *STEPS, *options]

    def short(self, out, *options):
        """The same with files of sentences in place of a recipe."""
        validation = ("--validation-source", self.folder / "val.fr", "--validation-target", self.folder / "val.en")
        return self.distill(out, "--source", self.folder / "a.fr", *validation, *options, recipe=False)


@pytest.fixture(scope="module")
def place(teacher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("distill")

    def write(name, lines):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    words = package.load(teacher).tokenizers.source
    known = [pair for pair in training_pairs(400, seed=3) if not words.unknown(pair.source)]
    pairs = {to: [pair for pair in known if pair.target_language == to] for to in ("en", "fr")}
    # Two chunks, most of them numbers, which take no time; and a word that the teacher does not know.
    numbers = [f"{number}\t{number}" for number in range(CHUNK)]
    rows = [f"{pair.source}\t{pair.target} !" for pair in pairs["en"]]
    write("to-en.tsv", [*rows, *numbers, "merci xylophone\tno"])
    write("to-fr.en", [pair.source for pair in pairs["fr"]])
    write("to-fr.fr", [f"{pair.target} !" for pair in pairs["fr"]])
    write("a.fr", [pair.source for pair in pairs["en"]][:60])
    write("b.fr", [pair.source for pair in pairs["en"]][60:])
    for to in ("en", "fr"):
        kept = [pair for pair in held_out(60, seed=3) if pair.target_language == to][:8]
        write(f"val-{to}.tsv", [f"{pair.source}\t{pair.target}" for pair in kept])
        if to == "en":
            write("val.fr", [pair.source for pair in kept])
            write("val.en", [pair.target for pair in kept])
    (folder / "recipe.toml").write_text(RECIPE.format(folder=folder.as_posix()), encoding="utf-8")
    return Place(folder, teacher)


@pytest.fixture(scope="module")
def whole(place, tmp_path_factory):
    """A distillation that nobody interrupts: its folder, and what it printed."""
    out = tmp_path_factory.mktemp("whole") / "student"
    return out, command(*place.distill(out))


def objects(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def contents(folder):
    return {path.name: path.read_bytes() for path in (folder / "distilled").glob("*.jsonl") if path.name != "log.jsonl"}


# what it learns from


def test_the_students_data_are_the_teachers_translations_line_by_line(place, whole):
    out, done = whole
    teacher = package.load(place.teacher)
    for name, to, given in (("1-en", "en", "to-en.tsv"), ("2-fr", "fr", "to-fr.en")):
        lines = (place.folder / given).read_text(encoding="utf-8").splitlines()
        sources = [line.split("\t")[0] for line in lines]
        found = objects(out / "distilled" / f"{name}.jsonl")
        said = teacher.translate(sources, to=to, on_unknown="skip")
        assert found == [{"source": each.source, "target": each.text} for each in said]
        assert [each["source"] for each in found] == sources
        assert len({each["target"] for each in found}) > 5
    assert found[-1]["target"] and objects(out / "distilled" / "1-en.jsonl")[-1]["target"] == ""
    assert "to-en.tsv, line" in done.stderr and "does not know 'xylophone'" in done.stderr


def test_it_trains_on_them_alone_and_validates_on_real_references(place, whole):
    out, _ = whole
    data = load_config(out / "config.toml").data
    assert [(one.pairs, one.source_language, one.target_language, one.weight) for one in data.corpora] == [
        (str(out / "distilled" / "1-en.jsonl"), "fr", "en", 1.0),
        (str(out / "distilled" / "2-fr.jsonl"), "en", "fr", 2.0),
    ]
    prepared = Prepared.open(out / "data")
    real = [line.split("\t")[1] for line in (place.folder / "val-en.tsv").read_text(encoding="utf-8").splitlines()]
    assert prepared.validation[0].references == real
    usable = {
        (each["source"], each["target"])
        for each in objects(out / "distilled" / "1-en.jsonl")
        if each["target"].strip() and each["source"] != each["target"]
    }
    assert 0 < len(prepared.train[0]) <= len(usable) < CHUNK


def test_it_can_keep_the_original_translations_too(place, whole, tmp_path):
    out = tmp_path / "student"
    shutil.copytree(whole[0] / "distilled", out / "distilled")  # saves the work: translations can be copied
    command(*place.distill(out, "--keep-original"))
    files = [one.pairs or one.target for one in load_config(out / "config.toml").data.corpora]
    assert [Path(file).name for file in files] == ["1-en.jsonl", "2-fr.jsonl", "to-en.tsv", "to-fr.fr"]
    assert len(objects(out / "distilled" / "log.jsonl")) == 2  # of the one it was copied from


def test_files_of_sentences_are_enough(place, tmp_path):
    out = tmp_path / "student"
    done = command(*place.short(out, "--source", place.folder / "b.fr", "--to", "en", "--beam-size", 1))
    lines = [(place.folder / name).read_text(encoding="utf-8").splitlines() for name in ("a.fr", "b.fr")]
    for number, sources in enumerate(lines, start=1):
        found = objects(out / "distilled" / f"{number}-en.jsonl")
        said = package.load(place.teacher).translate(sources, to="en", beam_size=1, on_unknown="skip")
        assert [each["target"] for each in found] == [each.text for each in said]
    student = package.load(out)
    assert (student.languages, student.target_language) == ((), "en")
    assert student.folder.config.model.preset == "student"
    assert "val.fr, 8 sentences" in done.stdout


def test_the_phrasebook_is_translated_in_both_directions(monkeypatch, tmp_path):
    monkeypatch.setattr(corpora, "PHRASEBOOK_PAIRS", 50)
    plan = Plan.of(load_config(None, given={"data.corpora": [{"builtin": "phrasebook"}]}), tmp_path)
    student = plan.student(keep_original=False)
    assert set(student.data.directions()) == {("fr", "en"), ("en", "fr")}
    by_language = {part.to: list(part.sources()) for part in plan.parts}
    assert sum(map(len, by_language.values())) == 50 and all(by_language.values())
    assert [one.builtin for one in student.data.validation] == ["phrasebook"]


# the table


def test_the_table_has_both_systems_with_each_beam_size(place, whole):
    out, done = whole
    table = json.loads((out / "distilled" / "table.json").read_text(encoding="utf-8"))
    rows = table["rows"]
    assert [(row["system"], row["beam_size"], row["is_own"]) for row in rows] == [
        *(("teacher", 4, True), ("teacher", 2, False), ("teacher", 1, False)),
        *(("student", 4, False), ("student", 2, True), ("student", 1, False)),
    ]
    assert rows[0]["times_as_fast"] == 1.0 and all(row["sentences_per_second"] > 0 for row in rows)
    for system, folder in (("teacher", place.teacher), ("student", out)):
        own = next(row for row in rows if row["system"] == system and row["is_own"])
        assert own["megabytes"] == (folder / "model.safetensors").stat().st_size / 1e6
        for number, to in enumerate(("en", "fr")):
            run = ("evaluate", folder, "--pairs", place.folder / f"val-{to}.tsv", "--to", to, "--json")
            measured = json.loads(command(*run).stdout)
            assert own["bleu"][number] == measured["bleu"]["score"]
            assert own["chrf"][number] == measured["chrf"]["score"]
    assert rows[0]["chrf"] != rows[-1]["chrf"]
    printed = [line.split() for line in done.stdout.splitlines()]
    assert [line[:2] for line in printed if line[0] in ("teacher", "student")] == [
        [row["system"], f"{row['beam_size']}{'*' * row['is_own']}"] for row in rows
    ]
    assert "BLEU (1)  BLEU (2)" in done.stdout and "val-en.tsv to en, 8 sentences" in done.stdout


# interrupted


@pytest.mark.parametrize(
    ("fault", "translated"),
    [(Fault("line", CHUNK + 9), 0), (Fault("rename", 5, after=True), 1), (Fault("write", 2), 2)],
    ids=["while it translates", "between two parts", "while it trains"],
)
def test_killed_and_run_again_it_is_the_same_student_and_nothing_is_done_twice(
    place, whole, tmp_path, fault, translated
):
    out = tmp_path / "student"
    run = [str(part) for part in place.distill(out)]
    process = dying.start_command(run, fault)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    stamps = {path: path.stat().st_mtime_ns for path in (out / "distilled").glob("*-*.jsonl")}
    assert len(stamps) == translated
    recorded = out / "distilled" / "1-en.jsonl.partial.json"
    kept = json.loads(recorded.read_text(encoding="utf-8"))["lines"] if translated == 0 else 0
    assert kept == (CHUNK if translated == 0 else 0)
    done = command(*run)
    assert contents(out) == contents(whole[0])
    assert all(path.stat().st_mtime_ns == then for path, then in stamps.items())
    log = {entry["file"]: entry["lines"] for entry in objects(out / "distilled" / "log.jsonl")}
    assert log == {name: lines.count(b"\n") - kept * (name == "1-en.jsonl") for name, lines in contents(out).items()}
    assert ("translating" in done.stderr) == (translated < 2)
    assert (out / "model.safetensors").read_bytes() == (whole[0] / "model.safetensors").read_bytes()


def test_a_finished_one_is_only_compared_again(place, whole):
    out, first = whole
    files = [out / "model.safetensors", *(out / "distilled").glob("*.jsonl")]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files if path.name != "model.safetensors"]
    weights = files[0].read_bytes()
    done = command(*place.distill(out))
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in files[1:]] == before
    assert files[0].read_bytes() == weights
    assert "translating" not in done.stderr and "student" in done.stdout
    assert len(done.stdout.splitlines()) == len(first.stdout.splitlines())


def test_a_full_disk_is_named_and_the_same_command_continues(place, whole, tmp_path):
    run = place.distill(tmp_path / "student")
    lines = (whole[0] / "distilled" / "1-en.jsonl").read_bytes().splitlines(keepends=True)
    limit = sum(map(len, lines[:CHUNK])) + 100

    full = vitrail(*run, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert full.returncode == 2, full.stderr
    assert "error: the file is too large" in full.stderr and "1-en.jsonl.partial" in full.stderr
    assert f"{CHUNK:,} lines are complete" in full.stderr and "run the same command again" in full.stderr
    assert "--resume" not in full.stderr and "Traceback" not in full.stderr


# errors


def changed(place, before, after):
    path = place.folder / "changed.toml"
    path.write_text(place.recipe.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    return path


WRONG = {
    "no teacher": (lambda p, out: ["distill", out / "no", p.recipe, "--out", out], ["no such folder", "/no"]),
    "nothing to translate": (
        lambda p, out: p.distill(out, recipe=False),
        ["nothing to translate", "give --source, or a recipe"],
    ),
    "no such source": (
        lambda p, out: p.short(out, "--to", "en", "--source", out / "gone.fr"),
        ["there is no such file", "gone.fr"],
    ),
    "an empty source": (
        lambda p, out: p.short(out, "--to", "en", "--source", "/dev/null"),
        ["file is empty", "/dev/null"],
    ),
    "no language": (lambda p, out: p.short(out), ["en, fr", "--to"]),
    "an unknown language": (lambda p, out: p.short(out, "--to", "de"), ["de", "--to"]),
    "a language of its corpora that the teacher lacks": (
        lambda p, out: [
            *("distill", p.teacher, "--out", out),
            changed(p, 'target_language = "fr"', 'target_language = "de"'),
        ],
        ["de", "fr"],
    ),
    "a language without --source": (lambda p, out: p.distill(out, "--to", "en"), ["--to has no effect"]),
    "sentences and corpora": (
        lambda p, out: p.distill(out, "--source", p.folder / "a.fr", "--to", "en"),
        ["--source", "corpora in the recipe"],
    ),
    "originals of sentences": (
        lambda p, out: p.short(out, "--to", "en", "--keep-original"),
        ["--keep-original has no effect", "no translations"],
    ),
    "no validation data": (
        lambda p, out: p.distill(out, "--source", p.folder / "a.fr", "--to", "en", recipe=False),
        ["no validation data", "--validation-source"],
    ),
    "no such validation data": (
        lambda p, out: ["distill", p.teacher, "--out", out, changed(p, "val-fr.tsv", "val-xx.tsv")],
        ["there is no such file", "val-xx.tsv"],
    ),
    "prepared data": (
        lambda p, out: p.distill(out, "--set", "data.prepared=runs/data"),
        ["prepared", "name the corpora"],
    ),
    "an unknown setting": (lambda p, out: p.distill(out, "--set", "model.num_head=2"), ["num_head", "heads"]),
    "an unknown size": (lambda p, out: p.distill(out, "--preset", "studnt"), ["studnt", "did you mean 'student'"]),
    "an unknown tokenizer": (lambda p, out: p.distill(out, "--tokenize", "14a"), ["14a", "13a"]),
    "no beam": (lambda p, out: p.distill(out, "--beam-size", 0), ["beam_size"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_before_any_work(place, tmp_path, name):
    make, said = WRONG[name]
    done = command(*make(place, tmp_path / "student"), check=False)
    assert done.returncode == 2, done.stderr
    assert all(text in done.stderr for text in said), done.stderr
    assert "\n  at " in done.stderr and "\n  fix: " in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "student").exists()


def test_another_job_in_the_folder_is_refused(place, whole, trained, tmp_path):
    out = whole[0]
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    one_corpus = tmp_path / "one.toml"
    text = place.recipe.read_text(encoding="utf-8")
    start, end = text.index('[[data.corpora]]\nsource = "'), text.index("[[data.validation]]")
    one_corpus.write_text(text[:start] + text[end:], encoding="utf-8")
    moved = changed(place, "to-fr.en", "to-fr.fr")
    for run, said in (
        (place.distill(out, "--beam-size", 2), "the teacher's beam_size was 4, now 2"),
        (["distill", place.teacher, one_corpus, "--out", out, *STEPS], "it translated 2 sources, not 1"),
        (["distill", place.teacher, moved, "--out", out, *STEPS], "to-fr.fr is not the file that was translated"),
        (["distill", trained, one_corpus, "--out", out, *STEPS], f"its teacher is another model, '{place.teacher}'"),
        (place.distill(out, "--set", "model.d_ff=48"), "different run: model.d_ff was 64, now 48"),
        (place.distill(out, "--keep-original"), "different run: data.corpora was"),
        (place.distill(trained), "but no distillation"),
        (place.distill(place.recipe), "this is a file"),
    ):
        done = command(*run, check=False)
        assert done.returncode == 2 and said in done.stderr, (said, done.stderr)
        assert "  fix: " in done.stderr and "Traceback" not in done.stderr
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_several_processes_are_refused(place, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = command(*place.distill(tmp_path / "student"), check=False)
    assert done.returncode == 2 and "without torchrun" in done.stderr


def test_a_teacher_of_one_language_is_not_asked_for_two(place, trained, tmp_path):
    done = command("distill", trained, place.recipe, "--out", tmp_path / "student", check=False)
    assert done.returncode == 2 and "the corpora have en, fr" in done.stderr
