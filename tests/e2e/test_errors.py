"""Every user error is answered with what, where and how to fix it, and loses nothing."""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from door import command, settings, vitrail

import vitrail as package


@dataclass(frozen=True)
class Place:
    """Everything that can be passed to a command, right or wrong."""

    folder: Path
    model: Path
    words: Path
    source: Path
    target: Path

    def new(self, name, content=""):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def train(self, *changes, source=None, target=None):
        files = ("--source", source or self.source, "--target", target or self.target)
        return ["train", *files, "--out", self.folder / "run", *settings(*changes)]

    def harmed(self, name, harm):
        """A copy of the model with one file changed or removed."""
        copy = self.folder / "harmed"
        copy.mkdir()
        for file in ("manifest.json", "config.toml", "model.safetensors"):
            shutil.copy(self.model / file, copy / file)
        shutil.copytree(self.model / "tokenizer", copy / "tokenizer")
        content = (copy / name).read_bytes()
        (copy / name).unlink()
        changed = harm(content)
        if changed is not None:
            (copy / name).write_bytes(changed)
        return copy


@pytest.fixture(scope="module")
def pairs_of_500(corpus, tmp_path_factory):
    """The first 500 pairs of the corpus."""
    folder = tmp_path_factory.mktemp("five-hundred")
    for path in (corpus.source, corpus.target):
        lines = path.read_text(encoding="utf-8").split("\n")[:500]
        (folder / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / corpus.source.name, folder / corpus.target.name


@pytest.fixture
def place(pairs_of_500, trained, phrases, tmp_path):
    return Place(tmp_path, trained, phrases, *pairs_of_500)


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_line(path, number):
    lines = path.read_text(encoding="utf-8").split("\n")
    return "\n".join(lines[: number - 1] + lines[number:])


def evaluate(p, *options, source=None, reference=None):
    return ["evaluate", p.model, "--source", source or p.source, "--reference", reference or p.target, *options]


def recipe(p, text):
    return ["train", p.new("recipe.toml", text), "--out", p.folder / "run"]


def pairs(p, name, text):
    path = p.new(name, text)
    return ["train", "--out", p.folder / "run", *settings(f"data.pairs='{path}'")]


# The command line, and what the error must say.
WRONG = {
    # the command line
    "an unknown command": (lambda p: ["translat"], ["translat", "Did you mean 'translate'", "vitrail --help"]),
    "an unknown option": (lambda p: ["translate", p.model, "--beem-size", 3], ["--beem-size", "--beam-size"]),
    "a missing option": (lambda p: ["train", "--source", p.source], ["--out", "vitrail train --help"]),
    "a number that is none": (lambda p: ["translate", p.model, "--beam-size", "many"], ["--beam-size", "integer"]),
    "text without quotes": (lambda p: ["translate", p.model, "je", "suis"], ["extra argument", "suis", "in quotes"]),
    "the input for output": (
        lambda p: ["translate", p.model, "--input", p.new("a", "merci\n"), "--output", p.folder / "a"],
        ["this is the input", "--output", "write to another file"],
    ),
    "a link to the input for output": (
        lambda p: ["translate", p.model, "--input", p.new("a", "merci\n"), "--output", _link(p.folder / "b", "a")],
        ["this is the input"],
    ),
    "resuming nowhere": (lambda p: ["translate", p.model, "--resume"], ["into a file", "--output FILE"]),
    "resuming a text": (
        lambda p: ["translate", p.model, "merci", "--output", p.folder / "out", "--resume"],
        ["--resume has no effect on TEXT"],
    ),
    "a field of a text": (lambda p: ["translate", p.model, "merci", "--field", 1], ["--field has no effect on TEXT"]),
    "a column that is not there": (
        lambda p: ["translate", p.model, "--field", 3, "--input", p.new("a.tsv", "a\tb\n"), "--output", p.folder / "o"],
        ["no column 3", "a.tsv, line 1", "--field"],
    ),
    "a column that is no number": (
        lambda p: ["translate", p.model, "--field", "text", "--input", p.new("a.tsv", "a\tb\n")],
        ["'text' is not a column number", "--field"],
    ),
    "columns as JSON": (
        lambda p: ["translate", p.model, "--field", 1, "--format", "json", "--input", p.new("a.tsv", "a\tb\n")],
        ["--format json cannot be combined with a column"],
    ),
    "a partial file of someone else": (
        lambda p: [
            *("translate", p.model, "--input", p.new("a", "merci\n")),
            *("--output", p.new("o.partial", "download").with_suffix("")),
        ],
        ["in the way", "o.partial"],
    ),
    "text and a file": (lambda p: ["translate", p.model, "merci", "--input", p.source], ["TEXT and --input"]),
    # settings
    "an unknown key": (
        lambda p: p.train("model.num_head=2"),
        ["num_head", "--set model.num_head=2", "did you mean 'heads'"],
    ),
    "an unknown key in a file": (lambda p: recipe(p, "[train]\nstep = 2"), ["recipe.toml, [train]", "'step'"]),
    "an unknown section": (lambda p: p.train("modle.heads=2"), ["modle", "did you mean 'model'"]),
    "a wrong type": (lambda p: p.train("model.d_model=wide"), ["'d_model' is 'wide'", "integer", "recipe.toml"]),
    "a wrong choice": (lambda p: p.train("model.norm=posts"), ["'posts'", "did you mean 'post'"]),
    "an unknown preset": (lambda p: ["train", "--preset", "huge", "--out", p.folder / "run"], ["huge", "tiny"]),
    "heads that do not divide": (lambda p: p.train("model.heads=3"), ["heads = 3 do not divide d_model = 32"]),
    "a change that is none": (lambda p: p.train("heads=3"), ["heads=3", "section.key=value"]),
    "a seed beyond all numbers": (lambda p: p.train(f"train.seed={2**70}"), ["'seed'", "less than"]),
    "a rate without end": (lambda p: p.train("train.clip_norm=inf"), ["'clip_norm'", "finite"]),
    "a vocabulary beyond reason": (lambda p: p.train(f"data.vocabulary_size={10**12}"), ["'vocabulary_size'"]),
    "a vocabulary without room": (lambda p: p.train("data.vocabulary_size=20"), ["256 bytes", "set it to more than"]),
    "a name with a NUL": (lambda p: p.train(r'data.source="a\u0000b"'), ["cannot be the name of a file"]),
    "a name that is not UTF-8": (lambda p: p.train(source="a\udcff.fr"), ["cannot be the name of a file"]),
    "a recipe that is not there": (lambda p: ["train", "no.toml", "--out", p.folder / "run"], ["no.toml", "no such"]),
    "a recipe that is not TOML": (lambda p: recipe(p, "[train\n"), ["not TOML", "recipe.toml"]),
    "nothing to train on": (lambda p: recipe(p, ""), ["nothing to train on", "--source and --target"]),
    "half of the validation data": (
        lambda p: [*p.train(), "--validation-source", p.source],
        ["'validation_source'", "no 'validation_target'", "give both"],
    ),
    "half of a corpus": (lambda p: recipe(p, "[data]\nsource = 'a'\n"), ["no 'target'", "give both"]),
    # files
    "a file that is not there": (lambda p: p.train(source=p.folder / "no"), ["no such file", "check the path"]),
    "a folder for a file": (lambda p: p.train(source=p.folder), ["a folder, not a file", "give a file inside it"]),
    "an empty file": (lambda p: p.train(source=p.new("empty")), ["the file is empty", "empty"]),
    "a line too few": (
        lambda p: p.train(source=p.new("short", without_line(p.source, 300))),
        ["499 lines", "500", "seem to diverge near line"],
    ),
    "a test set with a line too few": (
        lambda p: evaluate(p, reference=p.new("short", without_line(p.target, 300))),
        ["500 lines", "499", "seem to diverge near line"],
    ),
    "calibrating the built-in model": (lambda p: ["calibrate", "builtin"], ["calibrated already", "of your own"]),
    "no test set": (lambda p: ["evaluate", p.words], ["no test set", "--source and --reference, or --pairs"]),
    "half a test set": (
        lambda p: ["evaluate", p.model, "--source", p.source],
        ["the test set is incomplete", "--reference"],
    ),
    "a test set twice": (lambda p: evaluate(p, "--pairs", p.source), ["more than one", "or --pairs"]),
    "a test set of half a pair": (
        lambda p: ["evaluate", p.model, "--pairs", p.new("half.tsv", "merci\tthanks\nmerci\n")],
        ["half.tsv, line 2", "no column 2"],
    ),
    "a score without its line": (
        lambda p: ["score", p.model, "--source", p.source, "--target", p.new("short", without_line(p.target, 9))],
        ["500 lines", "499"],
    ),
    "nothing to score": (lambda p: ["score", p.model, "--source", p.source], ["incomplete", "or --pairs"]),
    "fields of two files to score": (
        lambda p: ["score", p.model, "--source", p.source, "--target", p.target, "--target-field", 2],
        ["--target-field has no effect without --pairs"],
    ),
    "a file that was cut off": (
        lambda p: p.train(source=p.new("a.gz", gzip.compress(p.source.read_bytes())[:-20])),
        ["a.gz", "damaged", "ends too early", "copy or download"],
    ),
    "a name that promises too much": (lambda p: p.train(source=p.new("a.gz", "bonjour\n")), ["not compressed"]),
    "another encoding": (lambda p: p.train(source=p.new("a", "été\n".encode("utf-16"))), ["UTF-16", "save it as"]),
    "lines in another encoding": (
        lambda p: ["translate", p.model, "--input", p.new("a", "été\noui\n".encode("latin-1"))],
        ["not UTF-8", "line 1", "save the text as UTF-8"],
    ),
    "broken JSON": (lambda p: pairs(p, "a.jsonl", '{"source": "a", "target": "b"}\n{"so'), ["not JSON", "line 2"]),
    "JSON without the field": (
        lambda p: pairs(p, "a.jsonl", '{"sorce": "a", "target": "b"}'),
        ["did you mean 'sorce'"],
    ),
    "a TSV without tabs": (lambda p: pairs(p, "a.tsv", "a\tb\nc d\n"), ["no column 2", "line 2"]),
    "pairs of no known kind": (lambda p: pairs(p, "a.txt", "a\tb\n"), ["TSV or JSON lines", "rename it to end in"]),
    "a strict corpus": (
        lambda p: [*p.train(source=p.new("a", "x\n\n"), target=p.new("b", "y\nz\n")), "--strict"],
        ["empty", "line 2", "strict = false"],
    ),
    "a pipe for a corpus": (lambda p: p.train(source=_pipe(p.folder / "pipe")), ["read twice", "write it to a file"]),
    "a corpus seen without end": (
        lambda p: recipe(p, "[[data.corpora]]\nsource = 'a'\ntarget = 'b'\nweight = 1e12\n"),
        ["'weight'", "[data.corpora.0]"],
    ),
    "a name that is too long": (lambda p: ["translate", "x" * 5000, "merci"], ["name too long", "check the path"]),
    "an --out that is too long": (lambda p: ["train", "--out", "x" * 300, *p.train()[1:5]], ["name too long"]),
    # output folders
    "a place below a file": (
        lambda p: ["train", *p.train()[1:5], "--out", p.new("file") / "run", *settings()],
        ["cannot write", "Not a directory", "check the path"],
    ),
    "a file for a folder": (
        lambda p: ["train", "--out", p.new("file"), *p.train()[1:5]],
        ["give a folder as --out"],
    ),
    "a folder of other things": (
        lambda p: (p.new("notes.txt"), ["train", "--out", p.folder, *p.train()[1:5]])[1],
        ["holds other files (notes.txt)", "choose another --out"],
    ),
    "a place to prepare in that is taken": (
        lambda p: (p.new("notes.txt"), ["prepare", "--out", p.folder, *p.train()[1:5]])[1],
        ["no manifest.json", "choose another folder"],
    ),
    "an average over something": (lambda p: ["average", p.model, "--out", p.folder], ["already exists"]),
    "output into a folder": (
        lambda p: ["translate", p.model, "merci", "--output", p.folder],
        ["cannot write", "Is a directory"],
    ),
    "output below a file": (
        lambda p: ["translate", p.model, "merci", "--output", p.new("file") / "out"],
        ["cannot write", "check the path"],
    ),
    # models
    "no model": (lambda p: ["translate", p.folder / "no", "merci"], ["no such folder", "vitrail train"]),
    "a file for a model": (lambda p: ["info", p.source], ["a file, not a model folder", "vitrail train"]),
    "a folder that is no model": (lambda p: ["translate", p.folder, "merci"], ["not a model", "manifest.json"]),
    "prepared data for a model": (lambda p: ["translate", p.model / "data", "merci"], ["manifest is incomplete"]),
    "weights cut off": (
        lambda p: ["translate", p.harmed("model.safetensors", lambda b: b[:-9]), "merci"],
        ["model.safetensors", "damaged", "copy the whole folder"],
    ),
    "weights of no bytes": (
        lambda p: ["info", p.harmed("model.safetensors", lambda _: b"")],
        ["model.safetensors", "damaged", "copy the whole folder"],
    ),
    "weights of another model": (
        lambda p: [
            "translate",
            p.harmed("model.safetensors", lambda _: (p.words / "model.safetensors").read_bytes()),
            "merci",
        ],
        ["model.safetensors", "from another model", "cannot be mixed"],
    ),
    "weights that are gone": (
        lambda p: ["average", p.harmed("model.safetensors", lambda _: None)],
        ["model.safetensors is missing"],
    ),
    "a vocabulary that was altered": (
        lambda p: ["translate", p.harmed("tokenizer/subwords.model", lambda b: b[:-1] + b"x"), "merci"],
        ["subwords.model", "damaged"],
    ),
    "settings that were altered": (
        lambda p: ["translate", p.harmed("config.toml", lambda b: b.replace(b"heads = 2", b"heads = 4")), "merci"],
        ["config.toml", "damaged"],
    ),
    "a manifest that was altered": (
        lambda p: ["info", p.harmed("manifest.json", lambda b: b[: len(b) // 2])],
        ["manifest is damaged"],
    ),
    "a manifest that is a folder": (
        lambda p: ["info", _with_folder(p.harmed("manifest.json", lambda _: None) / "manifest.json")],
        ["cannot read the manifest"],
    ),
    "a log of other things": (
        lambda p: ["info", _with_log(p.harmed("config.toml", lambda b: b), "{]\n")],
        ["the log is damaged", "remove it"],
    ),
    "no checkpoints": (lambda p: ["average", p.harmed("config.toml", lambda b: b)], ["no checkpoints"]),
    # searches
    "more answers than are kept": (
        lambda p: ["translate", p.model, "merci", "--beam-size", 2, "--top-beams", 3],
        ["top_beams = 3", "beam_size = 2", "set beam_size to 3 or more"],
    ),
    "a beam beyond all memory": (
        lambda p: ["translate", p.model, "merci", "--beam-size", 100000],
        ["beam_size = 100000 is more than 1000", "1000 or fewer", "memory"],
    ),
    "no beam": (lambda p: ["translate", p.model, "merci", "--beam-size", 0], ["beam_size = 0", "greater than"]),
    "a length penalty of no kind": (lambda p: ["translate", p.model, "merci", "--penalty", "x"], ["'x'", "'gnmt'"]),
    "a temperature without end": (
        lambda p: ["translate", p.model, "merci", "--sample", "--temperature", "inf"],
        ["temperature = inf"],
    ),
    "top-k without sampling": (
        lambda p: ["translate", p.model, "merci", "--top-k", 5],
        ["--top-k has no effect without --sample", "the command line", "add --sample, or remove --top-k"],
    ),
    "top-p without sampling": (lambda p: ["translate", p.model, "merci", "--top-p", 0.5], ["--top-p", "--sample"]),
    "a temperature without sampling": (
        lambda p: ["translate", p.model, "merci", "--temperature", 1],
        ["--temperature", "--sample"],
    ),
    "a seed without sampling": (lambda p: ["translate", p.model, "merci", "--seed", 1], ["--seed", "--sample"]),
    "a beam for sampling": (
        lambda p: ["translate", p.model, "merci", "--sample", "--beam-size", 4],
        ["--beam-size has no effect when sampling", "remove --beam-size, or remove --sample"],
    ),
    "several translations on one line": (
        lambda p: ["translate", p.model, "--input", p.source, "--top-beams", 2],
        ["--top-beams has no effect", "one line each", "--format json"],
    ),
    "a size limit for chosen layers": (
        lambda p: ["explain", p.model, "merci", "--out", p.folder / "t.json", "--layers", "output", "--max-mb", 4],
        ["--max-mb has no effect", "--layers"],
    ),
    "fields of two plain files": (
        lambda p: evaluate(p, "--source-field", 2),
        ["--source-field has no effect without --pairs", "give --pairs"],
    ),
    "words as facts": (lambda p: ["info", p.model, "--words", "--json"], ["--json has no effect with --words"]),
    "a language it does not know": (
        lambda p: ["translate", p.words, "merci", "--to", "de"],
        ["'de'", "choose one of: en, fr"],
    ),
    "no language where there are several": (lambda p: ["translate", p.words, "merci"], ["choose one of: en, fr"]),
    "a language where there is one": (lambda p: ["translate", p.model, "--to", "fr"], ["one language only"]),
    "a word it does not know": (
        lambda p: ["translate", p.words, "mercy", "--to", "en"],
        ["does not know 'mercy'", "did you mean 'merci'"],
    ),
    "a prefix it does not know": (
        lambda p: ["translate", p.words, "merci", "--to", "en", "--prefix", "qwxz"],
        ["does not know 'qwxz'", "the prefix", "vitrail info MODEL --words"],
    ),
    "a prefix without end": (lambda p: ["translate", p.model, "a", "--prefix", "the " * 99], ["the prefix has"]),
    "a score of a word it does not know": (
        lambda p: ["score", p.words, "--to", "en", "--source", p.new("a", "merci\n"), "--target", p.new("b", "qwxz\n")],
        ["does not know 'qwxz'", "sentence 1"],
    ),
    # evaluation
    "an unknown tokenizer": (lambda p: evaluate(p, "--tokenize", "13b"), ["13b", "did you mean '13a'"]),
    "a model against itself": (
        lambda p: evaluate(p, "--against", p.model),
        ["the same model twice"],
    ),
    "a file against too many lines": (
        lambda p: evaluate(p, "--against", p.new("short", without_line(p.target, 5))),
        ["499 translations, but 500 references"],
    ),
    "nothing to evaluate": (
        lambda p: evaluate(p, source=p.new("a"), reference=p.new("b")),
        ["nothing to evaluate", "not empty"],
    ),
}


def _pipe(path):
    os.mkfifo(path)
    return path


def _link(path, target):
    path.symlink_to(target)
    return path


def _with_folder(path):
    path.mkdir()
    return path.parent


def _with_log(folder, text):
    (folder / "log.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_is_answered_and_leaves_no_trace(place, wrong):
    typed, said = WRONG[wrong]
    arguments = typed(place)
    before = files(place.folder)
    done = command(*arguments, check=False)
    assert done.returncode == 2, (done.stdout, done.stderr)
    what, where, fix = _parts(done.stderr)
    for fragment in said:
        assert fragment in "\n".join((what, where, fix)), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert files(place.folder) == before


def _parts(errors):
    """What, where and how to fix it, in that order, at the end of the output."""
    message = errors[errors.index("error: ") :]
    what, _, rest = message.partition("\n  at ")
    where, _, fix = rest.partition("\n  fix: ")
    assert what.strip()
    assert where.strip(), errors
    assert fix.strip(), errors
    return what, where, fix


# runs


def test_a_refused_start_does_not_stand_in_the_way_of_the_right_one(place):
    absurd = ("train.schedule=constant", "train.peak_rate=1e38", "train.warmup_steps=0", "train.checkpoint_every=1")
    done = command(*place.train(*absurd), check=False)
    assert done.returncode == 2
    what, where, _ = _parts(done.stderr)
    assert "step 1 produced weights that are not finite" in what
    assert "there is no checkpoint yet" in what
    assert "epoch 0, batch 0" in where
    assert str(place.source) in where
    too_large = command(*place.train("model.heads=65536", "model.d_k=65536"), check=False)
    assert too_large.returncode == 2
    assert "not enough memory" in _parts(too_large.stderr)[0]
    again = command(*place.train("train.max_steps=2", "data.vocabulary=word"))
    assert "finished at step 2" in again.stdout
    assert command("translate", place.folder / "run", "le").returncode == 0


def test_a_loss_that_is_not_finite_names_the_batch_and_leaves_the_last_good_checkpoint(place):
    # Weights that grow thirty-fold with every step: finite for some steps, then not.
    growing = (
        "train.optimizer=adamw",
        "train.weight_decay=30000.0",
        "train.schedule=constant",
        "train.peak_rate=0.001",
    )
    run = place.train(*growing, "train.warmup_steps=0", "train.checkpoint_every=2", "train.use=last")
    done = command(*run, check=False)
    assert done.returncode == 2
    what, where, fix = _parts(done.stderr)
    assert " is nan at step " in what or " is inf at step " in what
    assert "epoch 0, batch" in where
    assert f"{place.source} line" in where
    assert "train.clip_norm" in fix
    last = max(int(path.name.removeprefix("step-")) for path in (place.folder / "run" / "checkpoints").iterdir())
    assert f"the last good checkpoint is step {last}" in what
    assert command("translate", place.folder / "run", "merci").returncode == 0


def test_a_run_is_held_to_its_settings_and_to_its_data(place):
    out, prepared = place.folder / "run", place.folder / "prepared"
    data = ["--source", place.source, "--target", place.target, "--out", prepared]

    def train(*changes):
        return command("train", "--out", out, *settings(f"data.prepared='{prepared}'", *changes), check=False)

    def prepare(*changes):
        shutil.rmtree(prepared, ignore_errors=True)
        command("prepare", *data, *[part for change in changes for part in ("--set", change)])

    prepare("data.vocabulary_size=300")
    assert train("train.max_steps=1").returncode == 0
    before = files(out)

    refused = train("train.seed=2", "train.max_steps=2")
    assert "train.seed was 1, now 2" in refused.stderr
    prepare("data.vocabulary_size=310")
    other_words = train("train.max_steps=2")
    assert "the prepared data has a different vocabulary from the run" in other_words.stderr
    prepare("data.vocabulary_size=300", "data.max_length=20")
    other_lines = train("train.max_steps=2")
    assert "not the data that the run started with" in other_lines.stderr
    prepare("data.vocabulary_size=300", "data.joint=false", "model.tie_embeddings=target")
    out = place.folder / "other"
    other_sides = train()
    assert "a vocabulary for each side" in other_sides.stderr
    for done in (refused, other_words, other_lines, other_sides):
        assert done.returncode == 2
        _parts(done.stderr)
    out = place.folder / "run"
    after = files(out)
    changed = {path.name for path in before if before[path] != after[path]}
    assert changed <= {"config.toml", "manifest.json"}  # the length of the run may change, and did

    prepare("data.vocabulary_size=300")
    assert "finished at step 2" in train("train.max_steps=2").stdout


def test_checkpoints_that_were_removed_or_harmed_are_answered(place):
    out, checkpoints = place.folder / "run", place.folder / "run" / "checkpoints"
    every_step = ("train.checkpoint_every=1", "train.use=best", "train.validate_every=1", "train.bleu_sentences=0")
    validation = []
    for side, path in (("source", place.source), ("target", place.target)):
        few = place.new(f"few.{side}", "\n".join(path.read_text(encoding="utf-8").split("\n")[:20]))
        validation.append(f"data.validation_{side}='{few}'")

    def train(steps):
        return command(*place.train(*every_step, *validation, f"train.max_steps={steps}"), check=False)

    assert train(3).returncode == 0
    shutil.rmtree(checkpoints / "step-000003")
    assert "resuming from step 2" in train(3).stderr

    (checkpoints / "step-000003" / "optimizer.safetensors").write_bytes(b"")
    harmed = train(4)
    assert harmed.returncode == 2
    assert "optimizer.safetensors" in _parts(harmed.stderr)[0]
    assert "remove step-000003" in _parts(harmed.stderr)[2]
    shutil.rmtree(checkpoints / "step-000003")
    assert "finished at step 4" in train(4).stdout

    (checkpoints / "step-000004" / "manifest.json").write_text("[]", encoding="utf-8")
    assert "damaged or incomplete" in train(5).stderr
    shutil.rmtree(checkpoints)
    nothing = train(5)
    assert nothing.returncode == 2
    assert "no checkpoint to resume from" in _parts(nothing.stderr)[0]
    assert command("translate", out, "merci").returncode == 0


def test_a_full_disk_costs_nothing_and_the_same_command_goes_on(place):
    run = place.train("train.max_steps=12", "train.checkpoint_every=6")
    first = place.train("train.max_steps=6", "train.checkpoint_every=6")
    command(*first)
    before = files(place.folder / "run")
    # A limit on the file size simulates a full disk without a disk of its own.
    largest = max(len(content) for path, content in before.items() if path.name == "optimizer.safetensors")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest - 1, largest - 1))

    full = vitrail(*run, check=False, preexec_fn=limit)
    assert full.returncode == 2, full.stderr
    what, where, fix = _parts(full.stderr)
    assert "files that were complete are unchanged" in what
    assert "step-000012" in where
    assert "run the same command again" in fix
    assert "Traceback" not in full.stderr
    kept = files(place.folder / "run" / "checkpoints")
    assert kept == {path: content for path, content in before.items() if "checkpoints" in path.parts}
    assert command("translate", place.folder / "run", "merci").returncode == 0
    assert "resuming from step 6" in command(*run).stderr


def test_a_full_standard_output_is_named(phrases):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vitrail", "info", str(phrases), "--words"],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert done.returncode == 2
    assert "standard output" in _parts(done.stderr)[1]
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_a_translation_quietly(phrases):
    process = subprocess.Popen(
        [sys.executable, "-m", "vitrail", "translate", str(phrases), "--to", "en"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    process.stdin.write(b"\n" * 1024)
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(1024)] == [b"\n"] * 1024  # all are done, and it waits for input
    while process.poll() is None:  # again, if the signal came just before Python began to wait and was lost
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)  # before its input ends, which would end the process too
    _, errors = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_killed_while_it_prepares_the_same_command_starts_again(place):
    out = place.folder / "prepared"
    run = ["prepare", "--source", place.source, "--target", place.target, "--out", out]
    run += ["--set", "data.vocabulary_size=300"]
    process = subprocess.Popen(
        [sys.executable, "-m", "vitrail", *map(str, run)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not any(place.folder.glob(".prepared*")):
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert not out.exists()
    command(*run)
    assert json.loads((out / "manifest.json").read_text(encoding="utf-8"))["shards"]
    assert [path.name for path in place.folder.iterdir()] == ["prepared"]


def test_python_raises_what_the_command_line_prints(phrases):
    with pytest.raises(package.VitrailError) as caught:
        package.load(phrases).translate(["merci", "mercy"], to="en")
    assert caught.value.where == "sentence 2"
    assert "mercy" in caught.value.what
    assert "merci" in caught.value.fix
