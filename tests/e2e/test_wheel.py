"""The wheel, built from the checkout and installed outside it, is complete; so is the source archive."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from vitrail.box import PLACE

CHECKOUT = Path(__file__).parents[2]


def build(kind, folder):
    """Build the checkout into a folder."""
    command = [sys.executable, "-m", "build", kind, "--outdir", folder, CHECKOUT]
    try:
        import hatchling  # noqa: F401

        command.append("--no-isolation")  # nothing to fetch
    except ImportError:
        pass
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("vitrail-*")
    return built


def files_of_the_package():
    """The files under src that git tracks; empty in a checkout without git, which has nothing to compare with."""
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=CHECKOUT, capture_output=True, encoding="utf-8", check=False
    )
    return {name for name in listed.stdout.split("\n") if name}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with only the wheel installed in it."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build("--wheel", folder)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder / "site"]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    return folder, wheel


@pytest.fixture(scope="module")
def outside(installed):
    """Run Python outside the checkout, with the wheel and the dependencies but not the checkout on its path."""
    folder, _ = installed
    # -S skips the site module, and with it the editable installation that points to the checkout.
    paths = [str(folder / "site"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "COLUMNS": "120"}

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-S", *map(str, arguments)],
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_it_is_the_wheel_that_runs(installed, outside):
    place = outside("-c", "import vitrail; print(vitrail.__file__)")
    assert Path(place.strip()).is_relative_to(installed[0])


def test_help_and_translation_work_outside_the_checkout(outside, trained):
    assert "Usage: vitrail" in outside("-m", "vitrail", "--help")
    assert outside("-m", "vitrail", "translate", trained, "merci", "--prefix", "thanks").startswith("thanks")


def test_it_has_every_file_of_the_package_its_licence_and_the_command(installed):
    names = set(zipfile.ZipFile(installed[1]).namelist())
    assert {name.removeprefix("src/") for name in files_of_the_package()} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
    assert "vitrail = vitrail.__main__:main" in zipfile.ZipFile(installed[1]).read(entry_points).decode()


def test_the_archive_of_the_sources_has_every_file_of_the_package(tmp_path):
    with tarfile.open(build("--sdist", tmp_path)) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert files_of_the_package() <= names


@pytest.mark.skipif(not (PLACE / "manifest.json").exists(), reason="the box of this checkout is empty")
def test_the_model_in_the_box_travels_along_and_translates(installed, outside):
    box = installed[0] / "site" / "vitrail" / "builtin"
    before = {path: path.read_bytes() for path in box.rglob("*") if path.is_file()}
    assert sum(map(len, before.values())) <= 10_000_000
    assert {"README.md", "receipt.json", "model.safetensors"} <= {path.name for path in before}
    for sentence, to in (("Où est la gare ?", "en"), ("Where is the station?", "fr")):
        assert outside("-m", "vitrail", "translate", "builtin", sentence, "--to", to).strip()
    assert {path: path.read_bytes() for path in box.rglob("*") if path.is_file()} == before
