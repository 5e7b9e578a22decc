"""Every recipe for a real corpus has a receipt, and the receipt matches the recipe."""

import json
import runpy
import tomllib
from pathlib import Path

import pytest

from vitrail.config import load_config
from vitrail.storage import checksum

ROOT = Path(__file__).parents[2]
WITHOUT_DATA = ("recipe", "laptop", "tests")
RECIPES = sorted(path for path in (ROOT / "recipes").glob("*.toml") if path.stem not in WITHOUT_DATA)


def receipt_of(recipe):
    return json.loads(recipe.with_suffix(".receipt.json").read_text(encoding="utf-8"))


@pytest.fixture(params=RECIPES, ids=lambda path: path.stem)
def recipe(request):
    return request.param


def test_a_recipe_can_be_read(recipe):
    assert load_config(recipe, given={}, overrides=[]).train.max_steps > 0


def test_the_one_for_your_own_files_takes_them_and_a_size():
    given = {"model.preset": "small", "data.source": "a.fr", "data.target": "a.en"}
    config = load_config(ROOT / "recipes" / "laptop.toml", given=given, overrides=[])
    assert [corpus.source for corpus in config.data.training_corpora()] == ["a.fr"]
    assert config.model.d_model == 256


def test_the_receipt_has_the_recipes_settings(recipe):
    settings = receipt_of(recipe)["settings"]
    for section, keys in tomllib.loads(recipe.read_text(encoding="utf-8")).items():
        for key, value in keys.items():
            found = settings[section][key]
            if isinstance(value, list):  # corpora, whose defaults are written out in a receipt
                found = [{name: one[name] for name in wanted} for one, wanted in zip(found, value, strict=True)]
            assert found == value, f"[{section}] {key}"


def test_the_receipt_tells_the_whole_run(recipe):
    receipt = receipt_of(recipe)
    assert receipt["training"]["minutes"] + receipt.get("teacher", {}).get("minutes", 0) <= 120
    assert receipt["training"]["steps"] == receipt["settings"]["train"]["max_steps"]
    assert receipt["training"]["validation"]
    assert len({test["weights"] for test in receipt["tests"]}) == 1  # one model, however often it was evaluated
    for test in receipt["tests"]:
        assert all(test[measure]["signature"] for measure in ("bleu", "chrf"))


def test_the_data_are_those_of_the_receipt(recipe):
    data = {Path(name): known for name, known in receipt_of(recipe)["data"].items()}
    if not all((ROOT / name).exists() for name in data):
        pytest.skip("the corpora are not here")
    assert all(checksum(ROOT / name) == known for name, known in data.items())


def test_every_test_set_belongs_to_a_recipe():
    tests = tomllib.loads((ROOT / "recipes" / "tests.toml").read_text(encoding="utf-8"))
    assert set(tests) == {path.stem for path in RECIPES}


def test_a_receipts_minutes_are_those_of_every_time_that_the_run_went_on():
    script = runpy.run_path(str(ROOT / "recipes" / "receipt.py"))
    clocks = [(1040.1, 40.0), (2045.0, 45.0), (2090.2, 90.0), (3005.0, 5.0)]  # it was stopped and resumed twice
    steps = [{"clock": {"time": time, "seconds": seconds}} for time, seconds in clocks]
    assert script["total"](steps, "seconds") == 40 + 90 + 5
