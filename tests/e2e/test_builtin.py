"""The built-in model: every command takes its name, `./builtin` is a folder, and nothing is written to it."""

import json
import shutil

import pytest
from door import command

import vitrail as package
from vitrail.folder import ModelFolder
from vitrail.serve.shelf import Shelf
from vitrail.weights import pack


@pytest.fixture
def box(phrases, tmp_path, monkeypatch):
    """A box with a small model, as in a wheel: packed, without its data, and read-only."""
    place = tmp_path / "site" / "vitrail" / "builtin"
    trained = ModelFolder.open(phrases)
    packed = pack(trained.model().state_dict(), "int8")
    ModelFolder.create(place, trained.config, trained.tokenizers).write_weights(packed)
    for path in (place, *place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    monkeypatch.setattr("vitrail.box.PLACE", place)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return place


@pytest.fixture
def test_set(tmp_path):
    """The options for two parallel files."""
    (tmp_path / "fr").write_text("merci\nje suis étudiant\n", encoding="utf-8")
    (tmp_path / "en").write_text("thanks\ni am a student\n", encoding="utf-8")
    return lambda name: ["--to", "en", "--source", tmp_path / "fr", f"--{name}", tmp_path / "en"]


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_command_takes_it_and_leaves_it_as_it_was(box, phrases, test_set, tmp_path):
    before = contents(box.parent)
    sentence = ["je suis étudiant", "--to", "en"]
    assert command("translate", "builtin", *sentence).stdout == command("translate", box, *sentence).stdout
    assert command("score", "builtin", *test_set("target")).stdout == command("score", box, *test_set("target")).stdout

    measured = json.loads(command("evaluate", "builtin", *test_set("reference"), "--json").stdout)
    assert measured == json.loads(command("evaluate", box, *test_set("reference"), "--json").stdout)
    against = command("evaluate", phrases, *test_set("reference"), "--against", "builtin").stdout
    assert "builtin" in against and str(box) not in against

    page = command("explain", "builtin", *sentence, "--out", tmp_path / "page.html")
    assert "page.html" in page.stdout and "builtin" in (tmp_path / "page.html").read_text(encoding="utf-8")
    facts = json.loads(command("info", "builtin", "--json").stdout)
    assert (facts["folder"], facts["precision"], facts["checkpoints"]) == (str(box), "int8", [])
    assert contents(box.parent) == before
    assert not list((tmp_path / "work").iterdir())


def test_python_takes_its_name_too(box):
    translator = package.load("builtin")
    assert translator.name == "builtin"
    assert translator.folder.path == box
    assert translator.trace("merci", to="en").document["model"]["name"] == "builtin"


def test_a_folder_of_that_name_is_named_by_a_path(box, phrases, tmp_path):
    shutil.copytree(phrases, "builtin")
    said = command("info", "builtin", "--json")
    assert json.loads(said.stdout)["folder"] == str(box)
    assert "warning: 'builtin' is the built-in model" in said.stderr and "./builtin" in said.stderr
    assert json.loads(command("info", "./builtin", "--json").stdout)["precision"] == "float32"
    assert package.load("./builtin").folder.path.resolve() == tmp_path / "work" / "builtin"


def test_a_path_object_is_a_folder_whatever_it_is_called(box):
    with pytest.raises(package.VitrailError, match="no such folder"):
        package.load(box.relative_to(box.parent))


def test_compared_with_itself_it_is_refused(box, test_set):
    done = command("evaluate", "builtin", *test_set("reference"), "--against", "builtin", check=False)
    assert done.returncode == 2 and "same model twice" in done.stderr


def test_the_studio_has_it_under_its_name(box):
    (entry,) = Shelf(box).entries()
    assert (entry["name"], entry["trained"]) == ("builtin", True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "builtin", "merci"],
        ["explain", "builtin", "merci", "--out", "page.html"],
        ["info", "builtin"],
        ["studio", "builtin"],
    ],
)
def test_an_empty_box_says_so(box, monkeypatch, arguments):
    monkeypatch.setattr("vitrail.box.PLACE", box.parent / "nothing")
    done = command(*arguments, check=False)
    assert done.returncode == 2
    what, where, fix = done.stderr.splitlines()
    assert "no built-in model" in what
    assert str(box.parent / "nothing") in where
    assert "vitrail demo" in fix
