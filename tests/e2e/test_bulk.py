"""Bulk translation through the command line: in order, as soon as it can be, and nothing lost on the way."""

import json
import os
import resource
import signal
import subprocess
import sys
import time

import dying
import pytest
from door import command, vitrail
from dying import Fault

import vitrail as package
from vitrail.translator import CHUNK

SENTENCES = ["merci", "je suis étudiant", "je suis fatigué", "il est étudiant", "elle est fatiguée"]


@pytest.fixture(scope="module")
def known(phrases):
    """Sentences whose words the model knows."""
    words = package.load(phrases).tokenizers.source
    found = [sentence for sentence in SENTENCES if not words.unknown(sentence)]
    assert len(found) >= 2
    return found


@pytest.fixture(scope="module")
def long(known, tmp_path_factory):
    """A file of several chunks that takes no time: most of its lines are numbers, which stay as they are."""
    path = tmp_path_factory.mktemp("long") / "in"
    lines = [str(number) for number in range(4 * CHUNK + 100)]
    for number, sentence in enumerate(known * 4):
        lines[number * 199 % len(lines)] = sentence
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(phrases, long, tmp_path_factory):
    """The translation of that file by a command that nobody interrupts."""
    out = tmp_path_factory.mktemp("whole") / "out"
    command(*job(phrases, long, out))
    assert len(out.read_bytes().splitlines()) == 4 * CHUNK + 100
    return out.read_bytes()


def job(model, given, out, *options):
    return ["translate", model, "--to", "en", "--input", given, "--output", out, "--format", "json", *options]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# interrupted


@pytest.mark.parametrize(
    "faults",
    [
        [Fault("line", 1), Fault("line", CHUNK + 7), Fault("line", 2 * CHUNK)],
        [Fault("flush", number, after) for number, after in ((1, False), (5, True), (9, False))],
        [Fault("rename", number, after) for number, after in ((3, True), (3, False), (4, True))],
    ],
    ids=["in a line", "at a flush", "at a rename"],
)
def test_killed_at_any_moment_and_resumed_it_is_the_same_to_the_last_digit(phrases, long, whole, tmp_path, faults):
    run = job(phrases, long, tmp_path / "out", "--resume")
    for fault in faults:
        process = dying.start_command([str(part) for part in run], fault)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert names(tmp_path)  # something to continue from
    command(*run)
    assert (tmp_path / "out").read_bytes() == whole
    assert names(tmp_path) == ["out"]
    assert "already complete" in command(*run).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_what_is_complete_and_says_how_to_continue(phrases, known, tmp_path, number):
    run = ["translate", str(phrases), "--to", "en", "--output", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "vitrail", *run],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    process.stdin.write(f"{known[0]}\n".encode())
    process.stdin.flush()
    record = tmp_path / "out.partial.json"
    while not record.exists() or json.loads(record.read_text(encoding="utf-8"))["lines"] == 0:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert b"1 line is complete" in errors and b"--resume" in errors and b"Traceback" not in errors
    assert names(tmp_path) == ["out.partial", "out.partial.json"]
    given = "".join(f"{sentence}\n" for sentence in known)
    command(*run, "--resume", input=given)
    straight = command(*run[:4], input=given).stdout
    assert (tmp_path / "out").read_text(encoding="utf-8") == straight
    assert names(tmp_path) == ["out"]


def test_a_full_disk_is_named_and_what_is_complete_stays(phrases, long, whole, tmp_path):
    run = job(phrases, long, tmp_path / "out")
    limit = len(whole) // 2

    full = vitrail(*run, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert full.returncode == 2, full.stderr
    assert "error: the file is too large" in full.stderr and "out.partial" in full.stderr
    assert "--resume" in full.stderr and "Traceback" not in full.stderr
    kept = json.loads((tmp_path / "out.partial.json").read_text(encoding="utf-8"))["lines"]
    assert kept % CHUNK == 0 and kept > 0
    assert f"{kept:,} lines are complete" in full.stderr
    command(*run, "--resume")
    assert (tmp_path / "out").read_bytes() == whole


def test_a_malformed_row_loses_nothing(phrases, known, tmp_path):
    given, out = tmp_path / "in.tsv", tmp_path / "out.tsv"
    rows = [f"{number}\t{known[0] if number % 700 == 0 else number}" for number in range(CHUNK + 50)]
    given.write_text("\n".join([*rows[: CHUNK + 9], "no tab", *rows[CHUNK + 10 :]]), encoding="utf-8")
    run = ["translate", phrases, "--to", "en", "--input", given, "--field", 2, "--output", out]
    refused = command(*run, check=False)
    assert refused.returncode == 2
    assert f"in.tsv, line {CHUNK + 10}" in refused.stderr and "no column 2" in refused.stderr
    assert f"{CHUNK + 9:,} lines are complete" in refused.stderr
    given.write_text("\n".join(rows), encoding="utf-8")
    for wrong, said in (
        (run, "--resume to continue it, or delete"),
        ([*run, "--resume", "--beam-size", 2], "beam_size was 4, now 2"),
        ([*run[:-4], "--field", 1, *run[-2:], "--resume"], "field was '2', now '1'"),
    ):
        other = command(*wrong, check=False)
        assert other.returncode == 2 and said in other.stderr
    command(*run, "--resume")
    found = out.read_text(encoding="utf-8").split("\n")
    assert [line.rsplit("\t", 1)[0] for line in found[:-1]] == rows


def test_an_output_of_another_job_is_not_taken_for_a_complete_one(phrases, long, tmp_path):
    out = tmp_path / "out"
    out.write_text("one line\n", encoding="utf-8")
    done = command(*job(phrases, long, out, "--resume"), check=False)
    assert done.returncode == 2 and "nothing to resume" in done.stderr
    assert out.read_text(encoding="utf-8") == "one line\n"


# as soon as it can be


def test_in_a_pipe_a_line_comes_out_before_the_next_goes_in(phrases, known):
    process = subprocess.Popen(
        [sys.executable, "-m", "vitrail", "translate", str(phrases), "--to", "en"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    expected = [translation.text for translation in package.load(phrases).translate(known, to="en")]
    for sentence, translation in zip(known, expected, strict=True):
        process.stdin.write(f"{sentence}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline() == f"{translation}\n".encode()
    rest, _ = process.communicate()
    assert (process.returncode, rest) == (0, b"")


def test_an_endless_stream_is_translated_as_it_is_asked_for(phrases, known):
    taken = []

    def endless():
        while True:
            taken.append(known[0])
            yield known[0]

    stream = package.load(phrases).stream(endless(), to="en", chunk=4)
    assert len({next(stream).text for _ in range(9)}) == 1
    assert len(taken) == 20  # nine need three chunks, and two more are computed meanwhile


def test_a_stream_gives_what_translate_gives(phrases, known):
    model = package.load(phrases)
    lines = [known[0], "", "12", *known, "a\0b"]
    expected = model.translate(lines, to="en")
    for live in (False, True):
        assert [each.text for each in model.stream(lines, to="en", live=live)] == [each.text for each in expected]
    assert [each.text for each in expected if each.unchanged] == ["12", "a\0b"]


# fields


def test_a_json_field_is_translated_and_the_object_kept(phrases, known, tmp_path):
    given = tmp_path / "in.jsonl"
    rows = [{"id": number, "text": sentence, "n": [1.0]} for number, sentence in enumerate(known)]
    given.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    run = ("translate", phrases, "--to", "en", "--field", "text")
    found = [json.loads(line) for line in command(*run, "--input", given).stdout.splitlines()]
    python = package.load(phrases).translate(known, to="en")
    assert found == [{**row, "translation": each.text} for row, each in zip(rows, python, strict=True)]
    full = [
        json.loads(line) for line in command(*run, "--format", "json", input=given.read_bytes()).stdout.splitlines()
    ]
    assert full == [{**row, "translation": each.to_dict()} for row, each in zip(rows, python, strict=True)]


# warnings


def test_each_kind_of_warning_is_printed_once_and_counted(trained):
    lines = [
        "merci",
        "12",
        "",
        "a\tb c",
        "x\ty z",
        "?",
        "Il dort. Elle dort.",
        "a\0b",
        '{"text": "merci"}',
        "Oui. Non.",
    ]
    done = command("translate", trained, "--beam-size", 1, input="".join(f"{line}\n" for line in lines))
    found = done.stdout.split("\n")
    assert len(found) == len(lines) + 1
    assert (found[1], found[5], found[7]) == ("12", "?", "a\0b")
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert len([line for line in warnings if "line 2 has no letters" in line]) == 1
    assert len([line for line in warnings if "line 4 has columns" in line and "--field 2" in line]) == 1
    assert len([line for line in warnings if "line 7 holds several sentences" in line]) == 1
    assert {line for line in warnings if "more line" in line} == {
        "warning: … and 2 more lines with several fields, translated whole",
        "warning: … and 2 more lines left unchanged",
        "warning: … and 1 more line with several sentences",
    }
    assert len(warnings) == 6


def test_a_text_of_several_sentences_gets_the_warning_too(trained):
    assert "the text holds several" in command("translate", trained, "Il dort. Elle dort.", "--beam-size", 1).stderr
    assert "warning" not in command("translate", trained, "M. Dupont dort.", "--beam-size", 1).stderr


# languages


def test_the_only_target_language_may_be_named(corpus, tmp_path):
    from door import settings

    files = ("--source", corpus.source, "--target", corpus.target)
    named = ("data.source_language=fr", "data.target_language=en", "train.max_steps=1")
    command("train", *files, "--out", tmp_path / "run", *settings(*named))
    asked = ("translate", tmp_path / "run", "merci", "--beam-size", 1)
    assert command(*asked, "--to", "en").stdout == command(*asked).stdout
    refused = command(*asked, "--to", "fr", check=False)
    assert refused.returncode == 2 and "only into 'en'" in refused.stderr


# scores


def test_pairs_are_scored_as_two_files_are(phrases, known, tmp_path):
    model = package.load(phrases)
    targets = [translation.text for translation in model.translate(known, to="en")]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{b}\t{a}\n" for a, b in zip(known, targets, strict=True)), encoding="utf-8")
    run = ("score", phrases, "--to", "en", "--pairs", pairs, "--source-field", 2, "--target-field", 1)
    expected = model.score(known, targets, to="en")
    assert [float(line) for line in command(*run).stdout.split()] == pytest.approx(expected, abs=1e-5)
    as_json = [json.loads(line) for line in command(*run, "--format", "json").stdout.splitlines()]
    assert [(each["source"], each["target"]) for each in as_json] == list(zip(known, targets, strict=True))
    assert [each["score"] for each in as_json] == pytest.approx(expected, abs=1e-5)
    assert model.score(known[0], targets[0], to="en") == pytest.approx(expected[0], abs=1e-5)
    with pytest.raises(package.VitrailError, match="a single string"):
        model.score(known[0], [targets[0]], to="en")


# Ctrl-C while the program starts

INTERRUPTED = """
import os, runpy, signal, sys
where, sys.argv = sys.argv[1], ["vitrail", "--help"]
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == where:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
runpy.run_module("vitrail", run_name="__main__")
"""


@pytest.mark.parametrize("where", ["vitrail.cli", "typer", "rich.console", "vitrail.cli.train", "vitrail.storage"])
def test_ctrl_c_while_the_program_starts_prints_nothing(where):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, where], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
