"""A time budget: what is chosen, what the user gave, and the same run when it resumes. Time itself is made up here."""

import pytest
import torch

from vitrail.cli import app
from vitrail.config import load_config
from vitrail.data import Prepared, prepare
from vitrail.data.phrasebook import training_pairs
from vitrail.errors import ConfigError, TrainingError
from vitrail.folder import ModelFolder
from vitrail.train import minutes, train
from vitrail.train.minutes import ENOUGH, FOR_STEPS, Budget, Speed, measure

SMALL = {"model.d_model": 16, "model.heads": 2, "model.d_ff": 24, "model.encoder_layers": 1, "model.decoder_layers": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    pairs = [pair for pair in training_pairs(900, seed=3) if pair.target_language == "en"][:300]
    (folder / "pairs.tsv").write_text("".join(f"{one.source}\t{one.target}\n" for one in pairs), encoding="utf-8")
    return folder


@pytest.fixture
def settings(corpus):
    def read(**changes):
        given = {"data.pairs": str(corpus / "pairs.tsv"), "train.minutes": 60.0}
        return load_config(None, given={**given, **{key.replace("__", "."): value for key, value in changes.items()}})

    return read


@pytest.fixture
def clock(monkeypatch):
    """Time stands still, and steps take as long as their model has parameters."""

    class Stopped:
        @staticmethod
        def monotonic():
            return 0.0

    def made_up(config, prepared, device):
        with torch.device("meta"):
            sizes = prepared.tokenizers.source.size, prepared.tokenizers.target.size
            count = sum(one.numel() for one in minutes.Transformer(config.model, *sizes).parameters())
        return Speed(seconds=count / Stopped.per_second, tokens=2000, pairs=100, parameters=count)

    Stopped.per_second = 1e7
    monkeypatch.setattr(minutes, "time", Stopped)
    monkeypatch.setattr(minutes, "measure", made_up)
    return Stopped


@pytest.fixture(scope="module")
def prepared(corpus, tmp_path_factory):
    config = load_config(None, given={"data.pairs": str(corpus / "pairs.tsv"), "data.vocabulary_size": 400})
    return prepare(config.data, tmp_path_factory.mktemp("prepared") / "data", seed=1)


def chosen(config, prepared):
    budget = Budget.of(config, began=0.0, processes=1)
    return budget.with_rest(budget.with_data(config), prepared, torch.device("cpu"))


def test_the_steps_fill_the_time(settings, prepared, clock):
    config, said = chosen(settings(model__preset="tiny"), prepared)
    with torch.device("meta"):
        size = prepared.tokenizers.target.size
        count = sum(one.numel() for one in minutes.Transformer(config.model, size, size).parameters())
    seconds = config.train.max_steps * count / clock.per_second
    assert seconds == pytest.approx(FOR_STEPS * 3600, rel=0.01)
    assert f"{config.train.max_steps:,} steps" in said and "60 minutes at" in said


def test_the_model_grows_with_the_time_as_long_as_it_sees_enough(settings, prepared, clock):
    found = []
    for per_second in (1e5, 1e6, 3e6, 1e7, 1e8):
        clock.per_second = per_second
        config, _ = chosen(settings(), prepared)
        with torch.device("meta"):
            size = prepared.tokenizers.target.size
            count = sum(one.numel() for one in minutes.Transformer(config.model, size, size).parameters())
        found.append(count)
        smallest = config.model.d_model == 128
        assert smallest or config.train.max_steps * 2000 > 0.99 * ENOUGH * count
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_more_time_more_steps_and_less_dropout_with_fewer_epochs(settings, prepared, clock):
    clock.per_second = 1e5
    few = chosen(settings(train__minutes=1.0), prepared)[0]
    many = chosen(settings(train__minutes=10_000.0), prepared)[0]
    assert few.train.max_steps < many.train.max_steps
    assert few.model.dropout < many.model.dropout


def test_what_the_user_gave_stays_with_all_that_belongs_to_it(settings, prepared, clock):
    given = {
        "train__optimizer": "adam",
        "train__batch_tokens": 999,
        "train__use": "last",
        "train__precision": "float32",
    }
    given |= {"model__d_ff": 100, "data__vocabulary_size": 500, "train__log_every": 7}
    config, _ = chosen(settings(**given), prepared)
    assert (config.train.optimizer, config.train.schedule, config.train.peak_rate) == ("adam", "paper", None)
    assert (config.train.batch_tokens, config.train.accumulate, config.train.precision) == (999, 1, "float32")
    assert (config.train.use, config.train.ema, config.train.log_every) == ("last", None, 7)
    assert (config.model.d_ff, config.model.d_model, config.model.norm) == (100, 512, "post")
    assert config.data.vocabulary_size == 500


def test_vocabulary_and_validation_follow_from_the_data(settings, clock):
    budget = Budget.of(settings(), began=0.0, processes=1)
    data = budget.with_data(settings()).data
    assert (data.vocabulary_size, data.hold_out) == (1000, 1000)
    own = settings(data__hold_out=7, data__vocabulary="word")
    kept = Budget.of(own, began=0.0, processes=1).with_data(own).data
    assert (kept.hold_out, kept.vocabulary_size) == (7, 8000)


@pytest.mark.parametrize(
    ("changes", "processes", "what"),
    [
        ({"train__max_steps": 100}, 1, "cannot go with train.max_steps"),
        ({"train__max_epochs": 3}, 1, "cannot go with train.max_epochs"),
        ({}, 2, "this run has several"),
    ],
)
def test_what_contradicts_a_budget_is_refused(settings, changes, processes, what):
    with pytest.raises(ConfigError, match=what) as caught:
        Budget.of(settings(**changes), began=0.0, processes=processes)
    assert caught.value.where and caught.value.fix


def test_a_resumed_run_keeps_what_was_chosen(settings, clock, tmp_path, monkeypatch):
    clock.per_second = 1.0  # so slow that it is the least number of steps
    small = {key.replace(".", "__"): value for key, value in SMALL.items()}
    config = settings(**small, train__bleu_sentences=0, train__threads=1, train__probes=0)
    first = train(config, tmp_path / "run")
    before = ModelFolder.open(tmp_path / "run").config
    assert (first.step, before.train.max_steps, before.train.minutes) == (10, 10, 60.0)

    def never(*_):
        raise AssertionError("measured again")

    monkeypatch.setattr(minutes, "measure", never)
    again = train(config, tmp_path / "run")
    assert (again.step, again.reason) == (10, "max_steps")
    assert ModelFolder.open(tmp_path / "run").config == before
    with pytest.raises(TrainingError, match=r"train\.minutes was 60"):
        train(settings(**small, train__minutes=30.0), tmp_path / "run")


def test_a_model_to_start_from_keeps_its_size(settings, clock, tmp_path):
    clock.per_second = 1.0
    quick = {"train__bleu_sentences": 0, "train__threads": 1, "train__probes": 0}
    small = {key.replace(".", "__"): value for key, value in SMALL.items()}
    train(settings(**small, **quick), tmp_path / "one")
    train(settings(**quick, train__start_from=str(tmp_path / "one")), tmp_path / "two")
    config = ModelFolder.open(tmp_path / "two").config
    assert (config.model.d_model, config.train.peak_rate, config.train.optimizer) == (16, 0.001, "muon")


def test_no_time_at_all_is_refused_before_anything_is_read(corpus, tmp_path):
    files = ["--source", str(corpus / "missing.fr"), "--target", str(corpus / "missing.en")]
    with pytest.raises(ConfigError, match="'minutes' is 0"):
        app(["train", *files, "--out", str(tmp_path / "run"), "--minutes", "0"], standalone_mode=False)
    assert not (tmp_path / "run").exists()


def test_speed_is_measured_on_the_data(settings, prepared, monkeypatch):
    monkeypatch.setattr(minutes, "MEASURED", 3)
    config = settings(**{key.replace(".", "__"): value for key, value in SMALL.items()}, train__batch_tokens=100)
    before = torch.get_num_threads()
    speed = measure(config, prepared, torch.device("cpu"))
    assert speed.seconds > 0
    assert 0 < speed.pairs < speed.tokens < 101
    assert isinstance(prepared, Prepared)
    assert torch.get_num_threads() == before
