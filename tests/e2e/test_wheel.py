"""The wheel, built from the checkout and installed outside it, is whole."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with nothing but the wheel in it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, CHECKOUT]
    try:
        import hatchling  # noqa: F401

        build.append("--no-isolation")  # nothing to fetch
    except ImportError:
        pass
    done = subprocess.run(build, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("vitrail-*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder / "site"]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    return folder, wheel


@pytest.fixture(scope="module")
def outside(installed):
    """Python, outside the checkout, that finds the wheel and the dependencies but not the checkout."""
    folder, _ = installed
    # -S leaves out the site module, and with it the editable installation that leads to the checkout.
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
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=CHECKOUT, capture_output=True, encoding="utf-8", check=False
    )
    if listed.returncode == 0:  # a checkout without git has no list to compare with
        assert {name.removeprefix("src/") for name in listed.stdout.split("\n") if name} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
    assert "vitrail = vitrail.cli:main" in zipfile.ZipFile(installed[1]).read(entry_points).decode()
