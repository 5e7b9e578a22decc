"""The script that makes the docs' pictures, on a small model."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from vitrail.translator import load

SCRIPT = Path(__file__).parents[2] / "docs" / "screenshots.py"


def test_there_is_a_picture_of_every_view_and_of_both_sentences(browser, phrases, tmp_path):
    spec = spec_from_file_location("screenshots", SCRIPT)
    script = module_from_spec(spec)
    sys.modules["screenshots"] = script
    spec.loader.exec_module(script)
    taken = list(script.take(load(phrases), tmp_path / "pictures", "layer=0"))
    assert len(taken) == len(set(taken)) >= 23
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in taken)
    assert {"it-was-too-tired.png", "it-was-too-wide.png"} <= {path.name for path in taken}
