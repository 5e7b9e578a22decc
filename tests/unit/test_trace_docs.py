"""docs/trace.md is correct: its reader runs, and its names are those of the traces."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from vitrail.config import POSITIONS

PAGE = Path(__file__).parents[2] / "docs" / "trace.md"


def test_the_reader_in_the_docs_runs_and_agrees(small_translator, tmp_path, monkeypatch):
    (example,) = [code for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S) if "b64" in code]
    small_translator(kv_heads=2).trace("w1 w2 w3", to="fr").save(tmp_path / "trace.json")
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example, str(PAGE), "exec"), {})
    looks, difference = out.getvalue().splitlines()
    assert " looks at " in looks
    assert float(difference.split(": ")[1]) < 1e-5


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_recorded_name_is_documented(small_translator, norm, positions):
    described = PAGE.read_text("utf-8").partition("## The arrays")[2].partition("## The search")[0]
    documented = set(re.findall(r"`([\w.…]+)`", described))
    last_names = {name.rsplit(".", 1)[-1] for name in documented}
    trace = small_translator(norm=norm, positions=positions).trace("w1", to="fr", layers=[])
    for name in trace.names():
        plain = re.sub(r"^(encoder|decoder)\.\d+\.", "encoder.i.", name)
        plain = re.sub(r"add_norm_\d", "add_norm_n", plain)
        assert plain in documented or plain.rsplit(".", 1)[-1] in last_names, name


def test_every_key_of_the_document_is_documented(small_translator):
    text = PAGE.read_text("utf-8")
    trace = small_translator().trace("w1", to="fr", layers=[], reference="w2")
    document = trace.document
    keys = {*document, *document["model"], *document["target"], *document["reference"], *document["what_if"]}
    keys |= {key for step in document["search"]["steps"] for key in step}
    keys |= set(document["search"]["steps"][0]["candidates"][0]) | set(document["search"]["results"][0])
    for key in sorted(keys):
        assert f"`{key}`" in text, key
