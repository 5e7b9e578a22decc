"""A process that has loaded a model may fork, and may use it from many threads."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import vitrail

SCRIPT = """
import multiprocessing, sys
import vitrail

translator = vitrail.load("builtin", threads=2)
if sys.argv[1] != "auto":
    translator.config = translator.config.model_copy(update={"engine": sys.argv[1]})
TEXTS = ["Où est la gare ?", "Je suis étudiant.", "Bonjour.", "Merci !"]

def translate(_):
    return [one.text for one in translator.translate(TEXTS, to="en")]

if __name__ == "__main__":
    wanted = translate(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(translate, range(4))
    assert found == [wanted] * 4, found
    assert translate(0) == wanted
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("engine", ["auto", pytest.param("torch", marks=pytest.mark.slow)])
def test_children_of_a_process_that_loaded_a_model_translate_as_it_does(tmp_path, engine):
    script = tmp_path / "fork.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, script, engine], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_sixteen_threads_may_share_a_translator():
    translator = vitrail.load("builtin")
    texts = ["Où est la gare ?", "Je suis étudiant.", "Bonjour."]
    wanted = [(one.text, one.score) for one in (translator.translate(text, to="en") for text in texts)]
    with ThreadPoolExecutor(16) as threads:
        found = threads.map(lambda number: translator.translate(texts[number % 3], to="en"), range(48))
    assert [(one.text, one.score) for one in found] == [wanted[number % 3] for number in range(48)]
