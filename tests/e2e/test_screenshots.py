"""The scripts that make the docs' pictures, on a small model."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_there_is_a_picture_of_every_view_and_of_both_sentences(browser, phrases, tmp_path):
    out = tmp_path / "pictures"
    command = [sys.executable, str(DOCS / "screenshots.py"), str(phrases), "--out", str(out)]
    script = subprocess.run(command, capture_output=True, text=True, check=False)  # one Playwright loop per process
    assert script.returncode == 0, script.stderr
    taken = [Path(line) for line in script.stdout.splitlines()]
    assert len(taken) == len(set(taken)) >= 23
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in taken)
    assert {"it-was-too-tired.png", "it-was-too-wide.png"} <= {path.name for path in taken}


def test_the_moving_picture_moves_and_is_small(browser, phrases, tmp_path):
    image = pytest.importorskip("PIL.Image")
    out = tmp_path / "studio.gif"
    command = [sys.executable, str(DOCS / "moving_picture.py"), str(phrases), "--out", str(out)]
    script = subprocess.run(command, capture_output=True, text=True, check=False)
    assert script.returncode == 0, script.stderr
    assert out.stat().st_size < 2e6
    with image.open(out) as picture:
        assert picture.n_frames >= 10  # Pillow joins frames that are the same
        assert picture.info["loop"] == 0
