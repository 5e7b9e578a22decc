"""Help and imports are fast: torch is not imported until a model is needed. All public names exist."""

import json
import subprocess
import sys

import pytest

import vitrail
from vitrail.cli import app

PARTS = ("config", "text", "data", "weights", "folder", "box", "translator")
LIGHT = ["vitrail", *(f"vitrail.{part}" for part in PARTS)]
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]

# One process for all of them: torch must be absent after every single one.
IMPORTS = """
import importlib, json, sys
found = {}
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
    found[name] = "torch" in sys.modules
print(json.dumps(found))
"""
HELP = """
import contextlib, io, json, sys
from vitrail.cli import main
found = {}
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["vitrail", *arguments]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main()
    found[" ".join(arguments)] = [out.getvalue(), "torch" in sys.modules]
print(json.dumps(found))
"""


def run(script, given):
    run = [sys.executable, "-c", script, json.dumps(given)]
    return json.loads(subprocess.run(run, capture_output=True, encoding="utf-8", check=True).stdout)


def test_what_needs_no_model_imports_no_torch():
    assert run(IMPORTS, LIGHT) == dict.fromkeys(LIGHT, False)


def test_every_help_page_is_there_without_torch():
    found = run(HELP, [["--help"], ["-h"], *([command, "--help"] for command in COMMANDS)])
    for asked, (text, has_torch) in found.items():
        assert "Usage: vitrail" in text, asked
        assert not has_torch, asked
    assert all(command in found["--help"][0] for command in COMMANDS)


def test_every_command_of_the_first_issue_is_there():
    assert {"demo", "train", "translate", "evaluate", "score", "prepare", "average", "info"} <= set(COMMANDS)


def test_public_names_are_complete_and_importable():
    for name in vitrail.__all__:
        assert getattr(vitrail, name).__name__ == name
    assert {"Config", "Translation", "Translator", "VitrailError", "load"} <= set(vitrail.__all__)
    assert set(vitrail.__all__) <= set(dir(vitrail))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vitrail.nothing  # noqa: B018


def test_the_version_is_the_one_that_is_told():
    from importlib.metadata import version

    assert version("vitrail") == vitrail.__version__
    done = subprocess.run([sys.executable, "-m", "vitrail", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"vitrail {vitrail.__version__}\n"
