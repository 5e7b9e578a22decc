"""The commands that the demo prints at its end work as printed, in the shell that it was started from."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vitrail.cli.program import model_argument, program

# `vitrail` as an installation writes it, but for a demo that trains for two steps and measures 60 sentences.
SCRIPT = """#!{python}
import sys
from vitrail.cli import main

demo = sys.modules["vitrail.cli.demo"]
settings = demo.demo_config()
demo.demo_config = lambda: settings.model_copy(
    update={{
        "train": settings.train.model_copy(update={{"max_steps": 2, "warmup_steps": 1, "probes": 0, "threads": 1}}),
        "decode": settings.decode.model_copy(update={{"max_extra": 2}}),
    }}
)
demo.HELD_OUT = 60
main()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with a virtual environment that is not activated, as `make demo` leaves it."""
    folder = tmp_path_factory.mktemp("clone")
    script = folder / ".venv" / "bin" / "vitrail"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT.format(python=sys.executable), encoding="utf-8")
    script.chmod(0o755)
    return folder


def shell(folder, line):
    """Run a line as a user types it, in a shell that does not find vitrail."""
    environment = {**os.environ, "PATH": os.defpath, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        ["sh", "-c", line], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def printed_commands(output):
    _, _, end = output.partition("Try:\n")
    return [line.removeprefix("  ") for line in end.splitlines()]


def test_the_commands_that_the_demo_prints_work_as_printed(installed):
    demo = shell(installed, ".venv/bin/vitrail demo --out 'runs/my demo'")
    out, errors = demo.communicate()
    assert demo.returncode == 0, errors
    studio, *others = printed_commands(out)
    assert len(others) == 3
    for line in others:
        done = shell(installed, line)
        said, errors = done.communicate()
        assert done.returncode == 0 and said.strip(), (line, errors)
    assert shlex.split(studio) == [".venv/bin/vitrail", "studio", "runs/my demo"]
    running = shell(installed, f"exec {studio} --port 0 --no-open")
    try:
        assert "127.0.0.1:" in running.stdout.readline()
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate()


def started_as(monkeypatch, path, *, found_in):
    monkeypatch.setattr(sys, "argv", [str(path), "demo"])
    monkeypatch.setenv("PATH", str(found_in))
    return program()


def test_the_program_is_called_by_its_name_only_if_the_shell_finds_it(installed, tmp_path, monkeypatch):
    monkeypatch.chdir(installed)
    here = installed / ".venv" / "bin"
    assert started_as(monkeypatch, here / "vitrail", found_in=here) == "vitrail"
    assert started_as(monkeypatch, ".venv/bin/vitrail", found_in=here) == "vitrail"
    assert started_as(monkeypatch, ".venv/bin/vitrail", found_in=tmp_path) == ".venv/bin/vitrail"
    (tmp_path / "vitrail").write_text("#!/bin/sh\n")
    (tmp_path / "vitrail").chmod(0o755)
    another = f"{tmp_path}{os.pathsep}{here}"
    assert started_as(monkeypatch, here / "vitrail", found_in=another) == shlex.quote(str(here / "vitrail"))
    assert started_as(monkeypatch, "./my tools/vitrail", found_in=here) == "'./my tools/vitrail'"


def test_python_dash_m_is_called_by_the_same_python(tmp_path, monkeypatch):
    module = Path("src/vitrail/__main__.py")
    inside, outside = tmp_path / "venv" / "python", tmp_path / "system" / "python"
    for link, target in ((outside, sys.executable), (inside, outside)):  # as in a virtual environment
        link.parent.mkdir()
        link.symlink_to(target)
    monkeypatch.setattr(sys, "executable", str(inside))
    assert started_as(monkeypatch, module, found_in=inside.parent) == "python -m vitrail"
    assert started_as(monkeypatch, module, found_in=outside.parent) == f"{shlex.quote(str(inside))} -m vitrail"


@pytest.mark.parametrize("folder", ["builtin", "-run", "--out", "a run", "it's", "$HOME", "runs/x"])
def test_a_folder_is_one_argument_and_never_an_option_or_the_built_in_model(folder):
    (argument,) = shlex.split(model_argument(Path(folder)))
    assert Path(argument) == Path(folder)
    assert not argument.startswith("-") and argument != "builtin"
