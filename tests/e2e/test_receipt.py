"""A recipe's receipt agrees with the run, the data and the evaluation."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from door import SMALL, command, vitrail

from vitrail.storage import checksum

SCRIPT = Path(__file__).parents[2] / "recipes" / "receipt.py"


def write_recipe(corpus, path):
    values = {}
    for setting in SMALL:
        key, _, value = setting.partition("=")
        values.setdefault(key.split(".")[0], []).append(f"{key.split('.')[1]} = {value}")
    values["data"] += [
        f'{name} = "{getattr(corpus, name).as_posix()}"'
        for name in ("source", "target", "validation_source", "validation_target")
    ]
    path.write_text("\n".join(line for name, lines in values.items() for line in (f"[{name}]", *lines)))


def make_receipt(recipe, out, tests, *more):
    command = [sys.executable, str(SCRIPT), str(recipe), "--out", str(out), "--tests", str(tests), *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(recipe.with_suffix(".receipt.json").read_text())


def test_it_holds_the_whole_run_and_every_evaluation(corpus, tmp_path):
    recipe, tests, out = tmp_path / "small.toml", tmp_path / "tests.toml", tmp_path / "run"
    write_recipe(corpus, recipe)
    sides = {"source": corpus.validation_source.as_posix(), "reference": corpus.validation_target.as_posix()}
    tests.write_text("")  # not needed unless something is evaluated
    untested = make_receipt(recipe, out, tests, "--no-tests")
    tests.write_text("[[small]]\n" + "\n".join(f'{key} = "{path}"' for key, path in sides.items()))
    assert not untested["tests"] and not untested["earlier"]
    for times in (1, 2):  # both find the run finished, and evaluate it again
        receipt = make_receipt(recipe, out, tests)
        assert len(receipt["tests"]) == times and not receipt["earlier"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=SCRIPT.parent, capture_output=True, text=True, check=False)
    assert (untested["training"]["commit"] or "").removesuffix("-dirty") == head.stdout.strip()  # "" without git
    assert receipt["training"]["commit"] == untested["training"]["commit"]
    assert receipt["training"]["peak_mb"] >= untested["training"]["peak_mb"]
    assert receipt["tests"][0]["decode"] == {
        key: receipt["settings"]["decode"][key] for key in ("beam_size", "alpha", "penalty")
    }
    assert receipt["data"][corpus.source.as_posix()] == checksum(corpus.source)
    assert receipt["tests"][0]["sha256"] == {path: checksum(Path(path)) for path in sides.values()}
    assert receipt["settings"]["model"]["d_model"] == 32
    assert receipt["training"]["steps"] == 40 and receipt["training"]["minutes"] >= 0
    assert [look["step"] for look in receipt["training"]["validation"]] == [20, 40]
    options = [part for key, path in sides.items() for part in (f"--{key}", path)]
    measured = json.loads(vitrail("evaluate", out, *options, "--json").stdout)
    assert all(test[key] == value for test in receipt["tests"] for key, value in measured.items())

    recipe.write_text(recipe.read_text().replace("max_steps = 40", "max_steps = 20"))
    better = make_receipt(recipe, tmp_path / "another", tests)
    assert better["training"]["steps"] == 20 and len(better["tests"]) == 1
    assert [[test["weights"] for test in model["tests"]] for model in better["earlier"]] == [
        [test["weights"] for test in receipt["tests"]]
    ]


def test_a_students_receipt_names_its_teacher_and_has_the_scores_of_both(corpus, teacher, tmp_path):
    recipe, tests, out = tmp_path / "small.toml", tmp_path / "tests.toml", tmp_path / "run"
    write_recipe(corpus, recipe)
    languages = '[data]\nsource_language = "fr"\ntarget_language = "en"'
    recipe.write_text(recipe.read_text().replace("[data]", languages).replace("max_steps = 40", "max_steps = 10"))
    sides = {"source": corpus.validation_source.as_posix(), "reference": corpus.validation_target.as_posix()}
    tests.write_text("[[small]]\n" + "\n".join(f'{key} = "{path}"' for key, path in sides.items()) + '\nto = "en"')
    receipt = make_receipt(recipe, out, tests, "--teacher", str(teacher), "--keep-original")
    known = receipt["teacher"]
    assert (known["model"], known["weights"]) == (str(teacher), checksum(teacher / "model.safetensors"))
    assert known["keep_original"] and known["decode"]["beam_size"] == 4 and known["minutes"] >= 0
    assert known["sentences"] == len(corpus.source.read_text(encoding="utf-8").splitlines())
    assert {row["system"] for row in known["comparison"]["rows"]} == {"teacher", "student"}
    assert receipt["settings"]["data"]["source"] == corpus.source.as_posix()  # the recipe's, not the translations
    (test,) = receipt["tests"]
    options = [part for key, path in sides.items() for part in (f"--{key}", path)]
    for model, found in ((teacher, test["teacher"]), (out, test)):
        measured = json.loads(command("evaluate", model, *options, "--to", "en", "--json").stdout)
        assert all(found[key] == value for key, value in measured.items())
    assert test["weights"] == checksum(out / "model.safetensors") != known["weights"]

    again = [sys.executable, str(SCRIPT), str(recipe), "--out", str(out), "--tests", str(tests)]
    done = subprocess.run(again, capture_output=True, text=True, check=False)
    assert done.returncode and f"add --teacher {teacher}" in done.stderr


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(corpus, tmp_path):
    recipe, tests, out = tmp_path / "small.toml", tmp_path / "tests.toml", tmp_path / "run"
    write_recipe(corpus, recipe)
    recipe.write_text(recipe.read_text().replace("max_steps = 40", "max_steps = 4000"))
    tests.write_text(f'[[small]]\npairs = "{recipe.as_posix()}"\n')
    command = [sys.executable, str(SCRIPT), str(recipe), "--out", str(out), "--tests", str(tests)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, process_group=0) as process:
        while process.poll() is None and not (out / "log.jsonl").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # to both, as a terminal does
        errors = process.stderr.read().decode()
    assert process.returncode == 130, errors
    assert "run the same command again to resume" in errors
    assert any((out / "checkpoints").iterdir())
    assert not recipe.with_suffix(".receipt.json").exists()


def test_a_test_set_that_is_missing_is_named_before_the_training(corpus, tmp_path):
    recipe, tests, out = tmp_path / "small.toml", tmp_path / "tests.toml", tmp_path / "run"
    write_recipe(corpus, recipe)
    tests.write_text(f'[[small]]\nsource = "{corpus.source.as_posix()}"\nreference = "nowhere.en"\n')
    command = [sys.executable, str(SCRIPT), str(recipe), "--out", str(out), "--tests", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode and "nowhere.en is missing" in done.stderr
    assert not out.exists()
