"""Training settings in action, in runs of a few steps."""

import json
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from vitrail.config import Config, load_config
from vitrail.data import BatchStream, Position, Prepared, prepare
from vitrail.data.phrasebook import training_pairs
from vitrail.errors import ConfigError, FolderError
from vitrail.fast import Masks, Twin
from vitrail.folder import ModelFolder
from vitrail.storage import checksum
from vitrail.train import average_checkpoints, train
from vitrail.train.checkpoint import average_weights
from vitrail.train.events import Silence
from vitrail.train.objective import Objective
from vitrail.train.optimizer import set_rate
from vitrail.train.side_by_side import draw_seed
from vitrail.train.validation import Found, Validator

SMALL = {
    "model.d_model": 16,
    "model.heads": 2,
    "model.d_ff": 24,
    "model.encoder_layers": 1,
    "model.decoder_layers": 1,
    "data.vocabulary_size": 450,
    "train.batch_tokens": 200,
    "train.warmup_steps": 4,
    "train.max_steps": 4,
    "train.checkpoint_every": 2,
    "train.validate_every": 2,
    "train.log_every": 1,
    "train.bleu_sentences": 0,
    "train.samples": 0,
    "train.probes": 1,
    "train.threads": 1,
}


@dataclass(frozen=True)
class Desk:
    """A corpus, and runs on it."""

    folder: Path

    def config(self, **changes: object) -> Config:
        files = {f"data.{name}": str(self.folder / "pairs.tsv") for name in ("pairs", "validation_pairs")}
        changed = {key.replace("__", "."): value for key, value in changes.items()}
        given = {**SMALL, **files, **changed}
        return load_config(None, given={key: value for key, value in given.items() if value is not None})

    def run(self, name: str, **changes: object) -> Path:
        train(self.config(**changes), self.folder / name)
        return self.folder / name


@pytest.fixture
def desk(tmp_path):
    pairs = [pair for pair in training_pairs(400, seed=3) if pair.target_language == "en"]
    (tmp_path / "pairs.tsv").write_text("".join(f"{p.source}\t{p.target}\n" for p in pairs[:120]), encoding="utf-8")
    return Desk(tmp_path)


def events(run, kind):
    log = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [event for event in log if event["event"] == kind]


def test_r_drop_is_the_loss_that_is_learnt_from(desk):
    run = desk.run("run", train__r_drop=4.0, train__max_steps=1)
    folder, prepared = ModelFolder.open(run), Prepared.open(run / "data")
    torch.manual_seed(folder.config.train.seed)
    model = folder.new_model().train()
    stream = BatchStream(prepared.train, prepared.weights, batch_tokens=200, seed=folder.config.train.seed)
    ((_, batch),) = islice(stream.from_position(Position()), 1)
    # Packed if the run's were, with the seed that it drew: so the masks are the same.
    twin = Twin(model, Masks(draw_seed()), one_core=torch.get_num_threads() == 1)
    ids = torch.from_numpy(batch.source_BS), torch.from_numpy(batch.target_BT)
    wanted = Objective(twin, smoothing=0.1)(*ids, 4.0).item()
    assert events(run, "step")[0]["loss"] == pytest.approx(wanted / batch.target_tokens, rel=1e-6)


def test_r_drop_may_begin_later(desk):
    plain, later, always = (
        [event["loss"] for event in events(desk.run(name, train__log_every=1, **settings), "step")]
        for name, settings in (
            ("plain", {}),
            ("later", {"train__r_drop": 4.0, "train__r_drop_after": 2}),
            ("always", {"train__r_drop": 4.0}),
        )
    )
    assert len(plain) == 4
    assert later[:2] == plain[:2]
    assert later[2] > plain[2]
    assert later[2] != always[2]


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"train__warmup_steps": 4}, "rises for 4 steps, but the run ends after 4"),
        ({"train__warmup_steps": 2, "train__fall_steps": 3}, "falls in the last 3 of 4 steps, but rises for 2"),
        ({"train__warmup_steps": 2, "train__fall_steps": 2}, None),
    ],
)
def test_a_rate_that_has_no_room_for_its_peak_is_spoken_of(desk, monkeypatch, changes, wanted):
    said, listener = [], Silence()
    monkeypatch.setattr(listener, "note", said.append)
    train(desk.config(**changes), desk.folder / "run", listener)
    assert [wanted in line for line in said if "learning rate" in line] == ([True] if wanted else [])


def checkpoint(run, step):
    return {path.name: path.read_bytes() for path in (run / "checkpoints" / f"step-{step:06d}").iterdir()}


def test_the_average_follows_the_run_and_does_not_lead_it(desk):
    without = checkpoint(desk.run("without"), 4)
    run = desk.run("with", train__ema=0.9, train__use="ema")
    held = checkpoint(run, 4)
    assert held.keys() - without.keys() == {"ema.safetensors"}
    assert "ema.safetensors" in json.loads(held["manifest.json"])
    for name in ("model.safetensors", "optimizer.safetensors", "random.safetensors"):
        assert held[name] == without[name], name


def test_the_average_is_what_is_used_and_what_is_judged(desk):
    run = desk.run("run", train__ema=0.9, train__use="ema")
    folder, average = ModelFolder.open(run), load_file(run / "checkpoints" / "step-000004" / "ema.safetensors")
    used, newest = load_file(run / "model.safetensors"), average_weights(run, [4])
    assert all(torch.equal(used[name], value) for name, value in average.items())
    assert not all(torch.equal(used[name], value) for name, value in newest.items())
    found = Validator(Prepared.open(run / "data"), folder.config.train).look(folder.model(), folder.tokenizers)
    assert events(run, "validation")[-1]["loss"] == pytest.approx(found.loss, rel=1e-6)


def test_without_use_ema_the_average_is_kept_and_nothing_looks_at_it(desk):
    plain, kept = desk.run("plain"), desk.run("kept", train__ema=0.9)
    assert (plain / "model.safetensors").read_bytes() == (kept / "model.safetensors").read_bytes()
    assert (plain / "probes.jsonl").read_bytes() == (kept / "probes.jsonl").read_bytes()


def test_an_average_goes_on_to_the_last_bit(desk):
    settings = {"train__ema": 0.9, "train__use": "ema"}
    whole = desk.run("whole", **settings)
    desk.run("parted", **settings, train__max_steps=2)
    parted = desk.run("parted", **settings)
    assert checkpoint(whole, 4)["ema.safetensors"] == checkpoint(parted, 4)["ema.safetensors"]
    assert (whole / "model.safetensors").read_bytes() == (parted / "model.safetensors").read_bytes()
    assert (whole / "probes.jsonl").read_bytes() == (parted / "probes.jsonl").read_bytes()


def test_checkpoints_of_a_run_with_an_average_can_be_averaged(desk):
    for use, file in (("ema", "ema.safetensors"), ("last", "model.safetensors")):
        run = desk.run(use, train__ema=0.9, train__use=use)
        out, steps = average_checkpoints(run, last=2, out=desk.folder / f"mean-{use}")
        assert steps == [2, 4]
        wanted = average_weights(run, [2, 4], file=file)
        assert all(torch.equal(value, wanted[name]) for name, value in load_file(out / "model.safetensors").items())


def test_an_old_best_checkpoint_joins_no_average(desk):
    run = desk.run("run", train__max_steps=8, train__keep_checkpoints=10, train__average=1)
    shutil.rmtree(run / "checkpoints" / "step-000004")  # as if 2, the best, had been kept beside the newest
    assert average_checkpoints(run, last=5, out=desk.folder / "mean")[1] == [6, 8]
    longer = desk.run("run", train__max_steps=10, train__keep_checkpoints=10, train__average=5)
    wanted = average_weights(run, [6, 8, 10])
    used = load_file(longer / "model.safetensors")
    assert all(torch.equal(value, wanted[name]) for name, value in used.items())


def test_a_checkpoint_that_the_clock_asks_for_can_be_gone_on_from_and_joins_no_average(desk):
    """Every step here is late. Checkpoints on the grid are kept, the others come and go."""
    plain = desk.run("plain", train__max_steps=6, train__average=2)
    often = {"train__average": 2, "train__checkpoint_minutes": 1e-9}
    desk.run("often", train__max_steps=3, **often)
    assert checkpoint(desk.folder / "often", 3)
    run = desk.run("often", train__max_steps=6, **often)
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == [
        "step-000002",
        "step-000004",
        "step-000006",
    ]
    assert (run / "model.safetensors").read_bytes() == (plain / "model.safetensors").read_bytes()
    for name in ("model.safetensors", "optimizer.safetensors", "random.safetensors"):
        assert checkpoint(run, 6)[name] == checkpoint(plain, 6)[name], name


def test_what_validation_and_checkpoints_took_is_in_the_log(desk):
    last = events(desk.run("run"), "step")[-1]["clock"]
    assert 0 <= last["validation"] + last["checkpoints"] <= last["seconds"]


def test_only_the_first_sentences_of_a_large_validation_set_are_measured(desk):
    def loss(name, **changes):
        return events(desk.run(name, **changes), "validation")[-1]["loss"]

    pairs = (desk.folder / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (desk.folder / "first.tsv").write_text("".join(pairs[:7]), encoding="utf-8")
    few = loss("few", train__loss_sentences=7)
    assert few == loss("first", data__validation_pairs=str(desk.folder / "first.tsv"))
    assert few != loss("all")


def test_several_validation_sets_share_the_sentences_that_are_measured(desk):
    def loss(name, files, **changes):
        sets = tuple({"pairs": str(desk.folder / file)} for file in files)
        run = desk.run(name, data__validation=sets, data__validation_pairs=None, **changes)
        return events(run, "validation")[-1]["loss"]

    pairs = (desk.folder / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    for name, lines in {"a.tsv": pairs[:30], "b.tsv": pairs[30:60], "both.tsv": pairs[:7] + pairs[30:37]}.items():
        (desk.folder / name).write_text("".join(lines), encoding="utf-8")
    few = loss("few", ("a.tsv", "b.tsv"), train__loss_sentences=14)
    assert few == pytest.approx(loss("both", ("both.tsv",)), rel=1e-6)


def test_a_short_validation_set_does_not_keep_the_others_from_being_translated(desk):
    pairs = (desk.folder / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    for name, lines in {"a.tsv": pairs[:2], "b.tsv": pairs[10:40]}.items():
        (desk.folder / name).write_text("".join(lines), encoding="utf-8")
    sets = tuple({"pairs": str(desk.folder / name)} for name in ("a.tsv", "b.tsv"))
    run = desk.run("run", data__validation=sets, data__validation_pairs=None, train__samples=10)
    shown = [sample["source"] for sample in events(run, "validation")[-1]["samples"]]
    wanted = [pairs[number].split("\t")[0] for number in (0, 10, 1, 11, 12, 13, 14)]
    assert shown == wanted  # five of each, or as many as there are


def test_validation_that_takes_much_of_the_time_is_spoken_of_once(desk, monkeypatch):
    monkeypatch.setattr("vitrail.train.pace.SETTLED", 0.0)
    monkeypatch.setattr("vitrail.train.records.MUCH", 0.0)
    (said,) = [note for note in notes_of(desk, "run") if "validation took" in note]
    assert "train.validate_every" in said
    monkeypatch.setattr("vitrail.train.records.MUCH", 1.0)
    assert not any("validation took" in note for note in notes_of(desk, "patient"))


def test_a_run_ends_after_its_epochs_or_when_it_has_lost_its_patience(desk):
    outcome = train(desk.config(train__max_epochs=2, train__max_steps=1000), desk.folder / "epochs")
    assert outcome.reason == "max_epochs"
    assert events(desk.folder / "epochs", "step")[-1]["epoch"] == 2
    still = {"train__schedule": "constant", "train__peak_rate": 1e-12, "train__warmup_steps": 1}
    config = desk.config(train__patience=2, train__validate_every=1, train__max_steps=1000, **still)
    assert train(config, desk.folder / "patience").reason == "patience"
    losses = [look["loss"] for look in events(desk.folder / "patience", "validation")]
    assert min(losses) == losses[-3] <= min(losses[-2:])


@pytest.mark.parametrize("limit", [None, 0.01])
def test_a_gradient_is_made_as_short_as_the_settings_say(desk, monkeypatch, limit):
    norms = []

    def look(optimizer, rate):
        gradients = [one.grad.flatten() for group in optimizer.param_groups for one in group["params"]]
        norms.append(float(torch.cat(gradients).norm()))
        set_rate(optimizer, rate)

    monkeypatch.setattr("vitrail.train.loop.set_rate", look)
    desk.run("run", train__clip_norm=limit)
    assert len(norms) == 4
    assert all(norm == pytest.approx(limit, rel=1e-3) if limit else norm > 0.1 for norm in norms)


@pytest.mark.parametrize(("use", "step"), [("best", 2), ("last", 4)])
def test_the_weights_that_are_used_are_those_that_were_asked_for(desk, monkeypatch, use, step):
    losses = iter([3.0, 1.0, 2.0, 4.0])
    monkeypatch.setattr(Validator, "look", lambda *_: Found(next(losses), None, ()))
    run = desk.run("run", train__use=use, train__validate_every=1, train__checkpoint_every=1)
    used, wanted = load_file(run / "model.safetensors"), average_weights(run, [step])
    assert all(torch.equal(used[name], value) for name, value in wanted.items())


@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"x"), Path.unlink], ids=["altered", "removed"])
def test_an_average_that_was_harmed_is_named(desk, harm):
    run = desk.run("run", train__ema=0.9)
    harm(run / "checkpoints" / "step-000004" / "ema.safetensors")
    with pytest.raises(FolderError, match="damaged or incomplete"):
        desk.run("run", train__ema=0.9, train__max_steps=5)


def test_subword_dropout_changes_what_is_learnt_from_and_a_run_goes_on_to_the_last_bit(desk):
    settings = {"train__subword_dropout": 0.2, "train__max_steps": 30, "train__checkpoint_every": 10}
    plain, whole = desk.run("plain", train__max_steps=30), desk.run("whole", **settings)
    assert events(plain, "step")[0]["loss"] != events(whole, "step")[0]["loss"]
    desk.run("parted", **{**settings, "train__max_steps": 10})
    parted = desk.run("parted", **settings)
    assert events(whole, "step")[-1]["epoch"] > 0
    assert checkpoint(whole, 30)["model.safetensors"] == checkpoint(parted, 30)["model.safetensors"]


def test_rows_that_subword_dropout_makes_too_long_for_learned_positions_stay_plain(desk):
    longest = {"model__positions": "learned", "data__max_length": 30, "model__max_positions": 32}
    desk.run("run", train__subword_dropout=0.9, train__probes=0, **longest)


def test_subword_dropout_on_prepared_words_is_refused_by_name(desk):
    config = desk.config(data__vocabulary="word")
    prepare(config.data, desk.folder / "words", seed=1)
    with pytest.raises(ConfigError, match=r"train\.subword_dropout cannot be combined with a vocabulary of kind"):
        desk.run("run", data__prepared=str(desk.folder / "words"), train__subword_dropout=0.1)


# resuming


def test_prepared_rows_that_learned_positions_have_no_room_for_are_refused_at_once(desk):
    longest = max(prepare(desk.config().data, desk.folder / "data", seed=1).train[0].index["source"])
    with pytest.raises(ConfigError, match=f"a row of {longest} tokens, but model.max_positions = 9"):
        desk.run(
            "run",
            data__pairs=None,
            data__validation_pairs=None,
            data__prepared=str(desk.folder / "data"),
            data__max_length=7,
            model__positions="learned",
            model__max_positions=9,
        )
    assert not (desk.folder / "run").exists()


def test_prepared_data_without_requested_validation_data_gives_a_note(desk):
    prepare(desk.config(data__validation_pairs=None).data, desk.folder / "data", seed=1)
    given = {"data__pairs": None, "data__validation_pairs": None, "data__prepared": str(desk.folder / "data")}
    said = "has no validation data"
    assert not any(said in note for note in notes_of(desk, "run", train__max_steps=1, **given))
    assert any(said in note for note in notes_of(desk, "other", train__max_steps=1, data__hold_out=9, **given))


def test_a_corpus_that_changed_since_the_start_gives_a_note(desk):
    desk.run("run", train__max_steps=2)
    assert not any("different size or date" in note for note in notes_of(desk, "run"))
    with (desk.folder / "pairs.tsv").open("a", encoding="utf-8") as file:
        file.write("merci\tthanks\n")
    (told,) = [note for note in notes_of(desk, "run", train__max_steps=6) if "different size or date" in note]
    assert "pairs.tsv" in told
    (desk.folder / "pairs.tsv").unlink()  # a corpus that is no longer needed may be missing
    assert not any("different size or date" in note for note in notes_of(desk, "run", train__max_steps=8))


def notes_of(desk, name, **changes):
    class Heard(Silence):
        def __init__(self):
            self.notes = []

        def note(self, text):
            self.notes.append(text)

    heard = Heard()
    train(desk.config(**changes), desk.folder / name, heard)
    return heard.notes


def state(run, step):
    return json.loads(checkpoint(run, step)["state.json"])


@pytest.mark.parametrize("change", [{"train__use": "last"}, {"train__loss_sentences": 7}], ids=str)
def test_losses_of_two_different_things_are_not_compared(desk, change):
    ema = {"train__ema": 0.9, "train__use": "ema"}
    run = desk.run("run", **ema)
    edited = state(run, 4) | {"best_loss": 0.001, "best_step": 2, "stale": 1}
    folder = run / "checkpoints" / "step-000004"
    (folder / "state.json").write_text(json.dumps(edited))
    sums = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(sums | {"state.json": checksum(folder / "state.json")}))
    assert not any("no longer measured" in note for note in notes_of(desk, "run", **ema, train__max_steps=6))
    assert state(run, 6)["best_loss"] == 0.001 and state(run, 6)["stale"] == 2
    told = notes_of(desk, "run", **(ema | change), train__max_steps=8)
    assert any("no longer measured as before" in note for note in told)
    assert state(run, 8)["best_loss"] > 0.001 and state(run, 8)["stale"] == 0


def test_the_best_loss_on_other_validation_data_is_forgotten(desk):
    data = desk.folder / "data"
    given = {"data__pairs": None, "data__validation_pairs": None, "data__prepared": str(data)}
    prepare(desk.config().data, data, seed=1)
    desk.run("run", **given)
    (desk.folder / "few.tsv").write_text("merci\tthanks\n", encoding="utf-8")
    prepare(desk.config(data__validation_pairs=str(desk.folder / "few.tsv")).data, data, seed=1)
    assert any("no longer measured as before" in note for note in notes_of(desk, "run", **given, train__max_steps=6))


def test_threads_may_change_and_it_is_said_each_time(desk):
    desk.run("run")
    for steps, threads in ((5, 2), (6, 1), (7, 2)):
        told = notes_of(desk, "run", train__max_steps=steps, train__threads=threads)
        assert any(f"resumes with {threads}" in note for note in told)
    assert not any("resumes with" in note for note in notes_of(desk, "run", train__max_steps=8, train__threads=2))


@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"x"), Path.unlink], ids=["altered", "removed"])
def test_weights_that_were_harmed_are_made_again_from_the_checkpoints(desk, harm):
    whole, run = desk.run("whole", train__max_steps=6), desk.run("run")
    harm(run / "model.safetensors")
    assert any("the next checkpoint writes it again" in note for note in notes_of(desk, "run", train__max_steps=6))
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert ModelFolder.open(run).model()


@pytest.mark.parametrize("name", ["log.jsonl", "probes.jsonl"])
@pytest.mark.parametrize("lost", [3, 400])
def test_a_file_of_lines_that_lost_its_end_is_cut_to_whole_lines(desk, name, lost):
    run = desk.run("run")
    path = run / name
    path.write_bytes(path.read_bytes()[:-lost])
    desk.run("run", train__max_steps=6)
    whole = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert whole and all(whole)


def test_a_shard_that_was_damaged_is_not_learnt_from(desk):
    run = desk.run("run")
    shard = run / "data" / "train-0.tokens"
    shard.write_bytes(bytes(reversed(shard.read_bytes())))
    with pytest.raises(FolderError, match="checksum"):
        desk.run("run", train__max_steps=6)


@pytest.mark.parametrize("setting", [{"train__patience": 2}, {"train__use": "best"}], ids=str)
def test_what_looks_at_a_validation_loss_needs_validation_data(desk, setting):
    with pytest.raises(ConfigError, match="needs validation data, but there is none"):
        desk.run("run", data__validation_pairs=None, **setting)


def test_settings_that_are_refused_are_not_written_into_the_run(desk):
    run = desk.run("run", data__validation_pairs=None)
    before = (run / "config.toml").read_bytes()
    with pytest.raises(ConfigError, match="needs validation data, but there is none"):
        desk.run("run", data__validation_pairs=None, train__patience=2, train__max_steps=6)
    assert (run / "config.toml").read_bytes() == before


def test_a_rate_that_never_stops_rising_is_said_to_be_so(desk):
    assert any("rises for 4 steps" in note for note in notes_of(desk, "short", train__max_steps=3))
    assert not any("rises" in note for note in notes_of(desk, "long", train__max_steps=5))


def test_checkpoints_written_by_chance_are_not_averaged(desk):
    often = {"train__checkpoint_minutes": 1e-9, "train__validate_every": 9}
    desk.run("run", train__max_steps=3, **often)
    assert average_checkpoints(desk.folder / "run", last=5, out=desk.folder / "newest")[1] == [2, 3]
    desk.run("run", train__max_steps=5, **often)
    (desk.folder / "run" / "checkpoints" / "step-000003").mkdir()  # as if it had been kept
    assert average_checkpoints(desk.folder / "run", last=5, out=desk.folder / "mean")[1] == [2, 4, 5]


@pytest.mark.parametrize("name", ["train-0.tokens", "train-0.index"])
@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"x"), Path.unlink], ids=["cut", "removed"])
def test_data_that_goes_away_while_it_is_read_is_named(desk, name, harm):
    """A mapping survives the removal of its file, but reading it kills the process if the file was truncated."""
    run = desk.run("run", train__max_steps=1)
    prepared = Prepared.open(run / "data")
    batches = BatchStream(prepared.train, prepared.weights, batch_tokens=200, seed=1).from_position(Position())
    next(batches)
    harm(run / "data" / name)
    with pytest.raises(FolderError, match="can no longer be read") as caught:
        next(batches)
    assert caught.value.where == str(run / "data" / name)
