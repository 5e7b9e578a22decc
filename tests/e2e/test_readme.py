"""What the README and the first steps show is what happens: commands print what stands below them, Python runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from door import command, vitrail

import vitrail as package

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_STEPS = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
(SESSION,) = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
SESSIONS = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", SESSION, re.MULTILINE)
WHOLE = [(line, shown) for line, shown in SESSIONS if "…" not in shown]
IN_PART = [(line, shown) for line, shown in SESSIONS if "…" in shown]


def test_the_readme_shows_three_commands():
    assert [shlex.split(line)[1] for line, _ in SESSIONS] == ["translate", "explain", "demo"]
    assert len(WHOLE) == 2


@pytest.mark.parametrize(("line", "shown"), WHOLE, ids=[line for line, _ in WHOLE])
def test_a_command_of_the_readme_prints_what_it_shows(line, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = command(*shlex.split(line)[1:]).stdout
    number = r"\d+\.\d+"
    assert re.sub(number, "N", printed) == re.sub(number, "N", shown)
    # The size of a page changes a little whenever the page does.
    sizes, wanted = ([float(found) for found in re.findall(number, text)] for text in (printed, shown))
    assert sizes == pytest.approx(wanted, rel=0.1)


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows_of_it_and_the_commands_it_recommends_work(tmp_path):
    ((line, shown),) = IN_PART
    printed = vitrail(*shlex.split(line)[1:], cwd=tmp_path).stdout
    lines = iter(printed.splitlines())
    for wanted in shown.splitlines():
        assert wanted == "…" or wanted in lines, wanted  # in this order
    recommended = [found.strip() for found in re.findall(r"^  \S.*\bvitrail .*|^  vitrail .*", printed, re.MULTILINE)]
    assert len(recommended) >= 3
    found_by_the_shell = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for line in recommended:
        if " studio " not in line:  # which runs until it is stopped
            subprocess.run(line, shell=True, cwd=tmp_path, env=found_by_the_shell, check=True, capture_output=True)


def test_the_first_steps_in_python_run(phrases, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", FIRST_STEPS, re.DOTALL)
    exec(program.replace("runs/phrasebook", str(phrases)), {})
    lines = capsys.readouterr().out.splitlines()
    translation = package.load(phrases).translate("je suis étudiant", to="en", beam_size=4, top_beams=2)
    assert lines[0].startswith(translation.text)
    assert [line.split(" ", 1)[1] for line in lines[1:3]] == [other.text for other in translation.alternatives]
    assert lines[3].startswith("(")  # the shape of an array
