"""The examples run unchanged, on a given model folder and output folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import vitrail

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, *arguments):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def translate(phrases, tmp_path):
    said = run("translate.py", phrases, "merci", "je suis étudiant", "--to", "en")
    best = vitrail.load(phrases).translate("merci", to="en", beam_size=4, top_beams=3)
    assert all(f"{other.text}   ({other.score:.3f})" in said for other in best.alternatives)


def listen(phrases, tmp_path):
    lines = run("listen.py", phrases, "je suis étudiant", "--to", "en").split("\n")
    assert "source.embedding" in lines[0]
    assert lines[1].split() == ["<2en>", "je", "suis", "étudiant", "<eos>"]
    for row in lines[2:7]:
        assert sum(map(float, row.split()[1:])) == pytest.approx(1, abs=0.03)  # each weight is rounded to 0.01


def train_from_python(phrases, tmp_path):
    out = tmp_path / "numbers"
    said = run("train_from_python.py", out, "--steps", 40)
    assert "step 20: loss" in said
    assert "ended at step 40 (max_steps)" in said
    assert vitrail.load(out).translate("one two").tokens


CALLS = {"translate.py": translate, "listen.py": listen, "train_from_python.py": train_from_python}


def test_every_example_is_tried():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_an_example_does_what_it_says(name, phrases, tmp_path):
    CALLS[name](phrases, tmp_path)
