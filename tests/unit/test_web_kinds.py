"""The page knows every kind that the settings know, and no other."""

import json
import shutil
import subprocess
from importlib.resources import files

import pytest

from vitrail.config import ACTIVATIONS, POSITIONS

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node reads the page's modules")


def known_to_the_page(module, expression):
    """What an expression over a module of the page gives, by way of JSON."""
    address = (files("vitrail") / "web" / module).as_uri()
    script = f"import * as page from {json.dumps(address)}; console.log(JSON.stringify({expression}))"
    command = ["node", "--input-type=module", "--eval", script]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("kinds", "module", "expression"),
    [
        (POSITIONS, "positions/kinds.js", "page.POSITION_KINDS.map(({name}) => name)"),
        (POSITIONS, "engine/distance.js", "Object.keys(page.ENGINE_POSITIONS)"),
        (ACTIVATIONS, "arithmetic.js", "Object.keys(page.ACTIVATIONS)"),
    ],
    ids=["positions", "positions of the engine", "activations"],
)
def test_the_page_has_the_kinds_of_the_settings(kinds, module, expression):
    assert len(kinds) > 1
    assert sorted(known_to_the_page(module, expression)) == sorted(kinds)
