"""The doctor: every check finds what it is for, in data or a run that has just that fault, and is silent without it."""

import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from vitrail.cli import app
from vitrail.config import load_config
from vitrail.doctor import Case, averaging, batches, examine
from vitrail.doctor.alignment import WINDOW, Stretch, shifted_stretches
from vitrail.errors import ConfigError
from vitrail.train import train
from vitrail.train.checkpoint import list_steps

NAMES = ["Marie", "Paul", "Anna", "Peter", "Laura", "Tom", "Julia", "Robert", "Sophie", "Martin"]
PLACES = ["Paris", "Berlin", "Londres", "Madrid", "Rome", "Lisbonne", "Vienne", "Prague"]


def sentences(count, seed=1):
    """Pairs of French and English lines with names, numbers and marks, as texts have them."""
    dice, found = random.Random(seed), []
    for number in range(count):
        name, place, days = dice.choice(NAMES), dice.choice(PLACES), dice.randrange(2, 90)
        more = [("", ""), (" avec toute sa famille et ses amis", " with all the family and friends")][
            dice.random() < 0.5
        ]
        if dice.random() < 0.3:
            found.append((f"Où est {name}{more[0]} ({number}) ?", f"Where is {name}{more[1]} ({number})?"))
        else:
            french = f"{name} est restée à {place} pendant {days} jours{more[0]}, numéro {number}."
            found.append((french, f"{name} stayed in {place} for {days} days{more[1]}, number {number}."))
    return found


def write(folder: Path, pairs, name="train") -> dict[str, str]:
    for side, ending in enumerate(("fr", "en")):
        (folder / f"{name}.{ending}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return {"data.source": str(folder / "train.fr"), "data.target": str(folder / "train.en")}


GOOD = {
    "data.source_language": "fr",
    "data.target_language": "en",
    "data.hold_out": 50,
    "data.vocabulary_size": 400,
    "train.max_steps": 10_000,
    "train.warmup_steps": 500,
    "train.batch_tokens": 2048,
    "model.preset": "tiny",
}


def found_in(folder, pairs, **changes):
    given = {**GOOD, **write(folder, pairs), **{key.replace("__", "."): value for key, value in changes.items()}}
    return [str(one) for one in examine(Case(load_config(None, given=given)))]


def shifted(pairs, first, last):
    """The same lines, but the targets of some belong to the sources before them."""
    targets = [target for _, target in pairs]
    targets[first:last] = [targets[first - 1], *targets[first : last - 1]]
    return [(source, target) for (source, _), target in zip(pairs, targets, strict=True)]


def test_nothing_is_found_where_nothing_is_wrong(tmp_path):
    assert found_in(tmp_path, sentences(1500)) == []


@pytest.mark.parametrize(("first", "last"), [(400, 900), (0 + 1, 1500), (700, 800)])
def test_a_shifted_stretch_is_found_where_it_is(first, last):
    pairs = shifted(sentences(1500), first, last)
    (found,) = shifted_stretches(*zip(*pairs, strict=True))
    assert abs(found.first - first) < WINDOW and abs(found.last - last) < WINDOW
    assert found.shift == 1
    assert shifted_stretches(*zip(*sentences(1500), strict=True)) == []
    back = shifted_stretches(*(list(side) for side in zip(*[(b, a) for a, b in pairs], strict=True)))
    assert [replace(one, shift=-one.shift) for one in back] == [Stretch(found.first, found.last, 1)]


def test_few_lines_and_lines_without_words_are_nothing_to_judge():
    assert shifted_stretches(["a"] * 20, ["b"] * 20) == []
    assert shifted_stretches(["a"] * 500, ["b"] * 500) == []


def in_french(pairs):
    return [(one, one + " vraiment") if number % 4 == 0 else (one, other) for number, (one, other) in enumerate(pairs)]


FAULTS = {
    "shifted": (lambda pairs: shifted(pairs, 400, 900), {}, "are not translations of each other: lines 401 to 900"),
    "exchanged": (lambda pairs: [(b, a) for a, b in pairs], {}, "do not look like 'fr'"),
    "other language": (in_french, {}, "of the target lines do not look like 'en'"),
    "copies": (lambda pairs: [*pairs, *((a, a.upper()) for a, _ in pairs[:200])], {}, "are copies"),
    "duplicates": (lambda pairs: pairs + pairs, {"data__drop_duplicates": False}, "occurred before"),
    "long": (lambda pairs: pairs, {"data__max_length": 10}, "longer than data.max_length = 10"),
    "vocabulary": (lambda pairs: pairs, {"data__vocabulary_size": 9000}, "1,500 pairs for a vocabulary of 9,000"),
    "small batch": (lambda pairs: pairs, {"train__batch_tokens": 100}, "at most 100 tokens"),
    "large batch": (lambda pairs: pairs, {"train__batch_tokens": 10**9}, "more than the free memory"),
    "warm-up": (
        lambda pairs: pairs,
        {"train__warmup_steps": 4000, "train__max_steps": 5000},
        "rises for 4,000 of 5,000",
    ),
    "no validation": (lambda pairs: pairs, {"data__hold_out": 0}, "there is no validation data"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_by_its_check_with_a_number_and_a_fix(tmp_path, fault):
    spoil, changes, said = FAULTS[fault]
    found = found_in(tmp_path, spoil(sentences(1500)), **changes)
    assert sum(said in one for one in found) == 1, found
    assert len(found) <= (2 if fault == "exchanged" else 1), found  # and nothing else
    assert all("\n  fix: " in one for one in found)


def test_validation_sentences_that_are_trained_on_are_found(tmp_path):
    pairs = sentences(1000)
    write(tmp_path, pairs[:40], "val")
    files = {
        f"data__validation_{side}": str(tmp_path / f"val.{end}") for side, end in (("source", "fr"), ("target", "en"))
    }
    (said,) = found_in(tmp_path, pairs, **files)
    assert "100% of the sources" in said


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    small = {"model.d_model": 16, "model.heads": 2, "model.d_ff": 24, "model.encoder_layers": 1}
    given = {**write(folder, sentences(300)), **small, "model.decoder_layers": 1, "data.vocabulary_size": 350}
    given |= {"data.hold_out": 20, "train.max_steps": 9, "train.checkpoint_every": 1, "train.keep_checkpoints": 9}
    given |= {"train.batch_tokens": 500, "train.warmup_steps": 2, "train.validate_every": 3, "train.probes": 0}
    given |= {"train.average": 9, "train.threads": 1, "train.bleu_sentences": 0, "train.log_every": 1}
    train(load_config(None, given=given), folder / "run")
    return folder / "run"


def logged(run, tmp_path, losses, *, steps=(), seconds=100.0):
    """A copy of the run with another log."""
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    events = [{"event": "validation", "step": n, "loss": loss, "bleu": None} for n, loss in enumerate(losses, start=1)]
    clock = {"time": 1.0, "seconds": seconds, "validation": 30.0}
    events += [{"event": "step", "step": n, "loss": loss, "clock": clock} for n, loss in enumerate(steps, start=3)]
    (copy / "log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return [str(one) for one in examine(Case.of_run(copy))]


@pytest.mark.parametrize(
    ("losses", "steps", "said"),
    [
        ([5.0, 4.0, 3.5, 3.2, 3.0, 2.9, 2.8, 2.7, 2.6], [], "still falling: by"),
        ([5.0, 4.0, 3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6], [], "was best at step 3 (3.000) and is 3.600"),
        ([3.0] * 9, [3.0, 2.0, 4.0, 4.1], "jumped from 2.00 to 4.00 at step 5"),
        ([3.0] * 9, [3.0] * 4, "validation took 30% of the time"),
    ],
)
def test_what_the_log_says_is_said(run, tmp_path, losses, steps, said):
    found = logged(run, tmp_path, losses, steps=steps)
    assert sum(said in one for one in found) == 1, found
    calm = logged(run, tmp_path / "calm", [3.0] * 9, steps=[3.0] * 4, seconds=1000.0)
    assert not any("loss" in one or "validation took" in one for one in calm)


def test_seldom_tokens_of_prepared_data_are_counted(run):
    assert any("tokens occur fewer than 10 times" in str(one) for one in examine(Case.of_run(run)))


def test_averages_are_tried_on_the_checkpoints_that_are_there(run):
    (found,) = averaging.best_average(Case.of_run(run))
    losses = {name or "1": float(loss) for name, loss in re.findall(r"the last(?: (\d))? (\d\.\d+)", found.what)}
    best = min(losses, key=losses.get)
    assert losses.keys() == {"1", "4", "8"} and "the run uses the last 9" in found.what
    assert ("train.use = 'last'" if best == "1" else f"train.average = {best}") in found.fix


def test_batch_sizes_are_tried_in_equal_time(tmp_path, monkeypatch, run):
    case = Case.of_run(run)
    tried = []

    def loss_after(config, prepared, batch_tokens, seconds):
        tried.append(batch_tokens)
        return {500: 3.0, 250: 2.0, 1000: 4.0}[batch_tokens]

    with monkeypatch.context() as patch:
        patch.setattr(batches, "loss_after", loss_after)
        (found,) = batches.best_batch(case)
    assert tried == [500, 250, 1000]
    assert "batches of 250 tokens learned most" in found.what
    assert batches.loss_after(case.config, case.prepared, 500, 0.05) > 1  # a real one


def test_the_command_wants_something_to_examine():
    with pytest.raises(ConfigError, match="nothing to examine") as caught:
        app(["doctor"], standalone_mode=False)
    assert "a recipe" in caught.value.fix


def test_the_command_examines_a_recipe_or_a_run_and_writes_nothing(tmp_path, run, capsys):
    files = write(tmp_path, sentences(300))
    before = sorted(path for path in run.rglob("*"))
    app(["doctor", "--source", files["data.source"], "--target", files["data.target"], "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert all(one["what"] and one["fix"] for one in found)
    app(["doctor", str(run)], standalone_mode=False)
    assert "fix:" in capsys.readouterr().out
    assert sorted(path for path in run.rglob("*")) == before
    assert list_steps(run)
