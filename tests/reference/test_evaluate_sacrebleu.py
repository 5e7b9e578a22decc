"""Our reports against sacrebleu's own command line, to every digit it prints."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vitrail.evaluate import compare, measure

WORDS = ("the", "a", "cat", "dog", "street,", "was", "wide", "It", "because", "crossed.", "didn't", "l'été", "Étudiant")


def sentences(seed: int, noise: float) -> list[str]:
    """The same 60 sentences for every seed, each word replaced with the probability `noise`."""
    base, other = random.Random(0), random.Random(seed)
    made = [[base.choice(WORDS) for _ in range(base.randint(3, 12))] for _ in range(60)]
    return [" ".join(other.choice(WORDS) if other.random() < noise else word for word in line) for line in made]


REFERENCES, FIRST, SECOND = sentences(1, 0.0), sentences(2, 0.3), sentences(3, 0.35)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    named = {"references": REFERENCES, "first": FIRST, "second": SECOND}
    for name, lines in named.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tuple(str(tmp_path / name) for name in named)


def sacrebleu(*arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SACREBLEU")}
    command = [sys.executable, "-m", "sacrebleu", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=True)
    return done.stdout


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, []),
        ({"tokenize": "intl"}, ["--tokenize", "intl"]),
        ({"tokenize": "char"}, ["--tokenize", "char"]),
        ({"tokenize": "none"}, ["--tokenize", "none", "--force"]),
        ({"lowercase": True}, ["--lowercase", "--chrf-lowercase"]),
    ],
)
def test_scores_intervals_and_signatures_are_sacrebleus(files, ours, theirs):
    references, first, _ = files
    metrics = ["--metrics", "bleu", "chrf", "ter", "--confidence", "--width", "4"]
    printed = {found["name"]: found for found in json.loads(sacrebleu(references, "-i", first, *metrics, *theirs))}
    report = measure(FIRST, REFERENCES, **ours)
    for measured in report.measures:
        found = printed[measured.name]
        assert f"{measured.score:.4f}" == f"{found['score']:.4f}"
        assert f"{measured.mean:.4f}" == f"{found['confidence_mean']:.4f}"
        assert f"{measured.interval:.4f}" == f"{found['confidence_var']:.4f}"
        assert measured.signature == found["signature"]
        assert measured.detail == found.get("verbose_score", "")
    assert {measured.name for measured in report.measures} == printed.keys()


def test_the_paired_bootstrap_is_sacrebleus(files):
    references, first, second = files
    # LaTeX, because it is the one format that keeps a system's numbers in one line (JSON fails on TER's float32).
    arguments = ["-i", first, second, "--metrics", "bleu", "chrf", "ter", "--paired-bs", "--width", "4", "-f", "latex"]
    printed = sacrebleu(references, *arguments)
    cell = r"([\d.]+) \(([\d.]+) ± ([\d.]+)\)(?: \(p = ([\d.]+)\)(\*?))?"
    rows = [re.findall(cell, line) for line in printed.splitlines()]
    comparison = compare({"first": FIRST, "second": SECOND}, REFERENCES)
    for row, system in zip(filter(None, rows), comparison.systems, strict=True):
        for found, measured in zip(row, system.measures.values(), strict=True):
            p_value = "" if measured.p_value is None else f"{measured.p_value:.4f}"
            numbers = [f"{number:.4f}" for number in (measured.score, measured.mean, measured.interval)]
            assert list(found[:4]) == [*numbers, p_value]
            assert str(measured).endswith("*") == (found[4] == "*")
    for name, signature in comparison.signatures.items():
        assert re.search(rf" - {name} +{re.escape(signature)}", printed)


def test_text_with_spaces_at_its_end_scores_as_from_a_file(files):
    references, first, _ = files
    spaced = [f"{line}  " for line in FIRST]
    score = sacrebleu(references, "-i", first, "--score-only", "--width", "4").strip()
    assert re.fullmatch(r"\d+\.\d{4}", score)
    assert f"{measure(spaced, REFERENCES, resamples=0)['bleu'].score:.4f}" == score
