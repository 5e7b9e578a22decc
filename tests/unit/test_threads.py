"""`--threads N`, and `threads=N` in Python: every computation keeps to so many cores."""

import pytest
import torch
from typer.testing import CliRunner

import vitrail.explain
import vitrail.serve.pool
import vitrail.trace
import vitrail.translator
from vitrail.box import model_path
from vitrail.cli import app
from vitrail.errors import VitrailError
from vitrail.serve.shelf import stamp_of
from vitrail.serve.tasks import Bench
from vitrail.translator import load


class AskedError(VitrailError):
    """Raised instead of working."""


@pytest.fixture
def three_cores():
    """Torch as it is on a computer with three cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("threads", "used"), [(1, 1), (2, 2), (None, 3)])
def test_traces_and_pages_keep_to_their_cores(three_cores, monkeypatch, threads, used):
    seen = []
    monkeypatch.setattr(vitrail.trace, "record", lambda *_, **__: seen.append(torch.get_num_threads()))
    monkeypatch.setattr(vitrail.explain, "explain", lambda *_, **__: seen.append(torch.get_num_threads()))
    translator = load("builtin", threads=threads)
    translator.trace("merci", to="en")
    translator.explain("merci", to="en")
    assert seen == [used, used]
    assert torch.get_num_threads() == 3  # what others do in this process is not changed


def test_scores_are_computed_side_by_side_and_are_the_same():
    sources, targets = ["merci", "je suis fatigué", "bonjour à tous"] * 9, ["thanks", "i am tired", "hello"] * 9
    alone, together = (load("builtin", threads=count).score(sources, targets, to="en") for count in (1, 3))
    assert alone == pytest.approx(together, abs=1e-4)


def test_a_model_without_some_heads_keeps_to_the_same_cores():
    assert load("builtin", threads=1).without_heads({"decoder.0.cross_attention": [0]}).runtime.threads == 1


def test_the_studios_models_keep_to_its_cores():
    path = model_path("builtin")
    assert Bench(kept=1, threads=1).translator(path, stamp_of(path)).runtime.threads == 1


@pytest.mark.parametrize(
    "command",
    [
        ["translate", "builtin", "merci"],
        ["explain", "builtin", "merci", "--out", "x.html"],
        ["score", "builtin", "--pairs", "PAIRS"],
        ["evaluate", "builtin", "--pairs", "PAIRS", "--to", "en"],
        ["calibrate", "own", "--pairs", "PAIRS", "--to", "en"],
        ["studio", "builtin"],
    ],
)
def test_every_command_that_translates_takes_threads(command, monkeypatch, tmp_path):
    (tmp_path / "pairs.tsv").write_text("merci\tthanks\n")
    (tmp_path / "own").symlink_to(model_path("builtin"))
    monkeypatch.chdir(tmp_path)

    def refuse(*_, threads=None, **__):
        raise AskedError(f"threads: {threads}")

    monkeypatch.setattr(vitrail.translator, "load", refuse)
    monkeypatch.setattr(vitrail.serve.pool, "Pool", refuse)
    arguments = [str(tmp_path / "pairs.tsv") if one == "PAIRS" else one for one in command]
    result = CliRunner().invoke(app, [*arguments, "--threads", "5"])
    assert isinstance(result.exception, AskedError), result.output
    assert result.exception.what == "threads: 5"
