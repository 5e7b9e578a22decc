"""The script that makes the docs' pictures, on a small model."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "screenshots.py"


def test_there_is_a_picture_of_every_view_and_of_both_sentences(browser, phrases, tmp_path):
    out = tmp_path / "pictures"
    command = [sys.executable, str(SCRIPT), str(phrases), "--out", str(out)]
    script = subprocess.run(command, capture_output=True, text=True, check=False)  # one Playwright loop per process
    assert script.returncode == 0, script.stderr
    taken = [Path(line) for line in script.stdout.splitlines()]
    assert len(taken) == len(set(taken)) >= 23
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in taken)
    assert {"it-was-too-tired.png", "it-was-too-wide.png"} <= {path.name for path in taken}
