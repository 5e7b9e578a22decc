"""The documentation: every link leads somewhere, every command exists, and the generated page is up to date."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer.main

from vitrail.cli import app
from vitrail.config import load_config

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "recipes/*.md", "src/vitrail/builtin/*.md")
    for path in ROOT.glob(pattern)
)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^(?:\$ )?(vitrail (?:\\\n|.)*)", re.MULTILINE)


@pytest.fixture(params=PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def page(request):
    return request.param


def anchors(path):
    """The places in a page that a link can name, as GitHub makes them out of its headings."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.*?) *$", FENCED.sub("", path.read_text(encoding="utf-8")), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", LINK.sub("", heading).lower()).replace(" ", "-")
        again = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", other) is not None for other in found)
        found.append(f"{name}-{again}" if again else name)
    return found


def test_every_link_leads_to_a_file_and_a_heading(page):
    for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue  # elsewhere: there is no network here
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_relative_to(ROOT) and target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_command_can_be_parsed(page):
    """The options exist, the values have the right type, and settings given by --set are settings."""
    for block in FENCED.findall(page.read_text(encoding="utf-8")):
        for written in COMMAND.findall(block):
            if "OPTIONS" in written:
                continue  # a usage line of the reference
            _, name, *words = shlex.split(written.replace("\\\n", " ").split(" < ")[0], comments=True)
            given = parse(name, words)
            if given.get("recipe") and (ROOT / given["recipe"]).exists():
                load_config(ROOT / given["recipe"], given={}, overrides=list(given["changes"] or []))


def parse(name, words):
    """What the command line itself makes of a command, without running it."""
    commands = typer.main.get_command(app).commands
    assert name in commands, name
    return commands[name].make_context(name, list(words)).params


def test_the_check_of_commands_finds_a_wrong_option():
    with pytest.raises(Exception, match="--top-beam"):
        parse("translate", ["builtin", "--top-beam", "2"])


def test_the_command_line_reference_is_up_to_date():
    script = runpy.run_path(str(ROOT / "docs" / "command_line.py"))
    assert script["PAGE"].read_text(encoding="utf-8") == script["page"](), "run python docs/command_line.py"
