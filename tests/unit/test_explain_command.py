"""`vitrail explain` as a command: what it writes, and its errors."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from vitrail.cli import main
from vitrail.config import parse_config
from vitrail.folder import ModelFolder
from vitrail.text import Tokenizers, WordVocabulary
from vitrail.trace import Trace


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    config = parse_config(
        {
            "model": {"d_model": 16, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 2},
            "data": {"vocabulary": "word"},
            "decode": {"max_extra": 2},
        },
        where="test",
    )
    vocabulary = WordVocabulary([*"abcde"], ["en", "fr"])
    folder = ModelFolder.create(
        tmp_path_factory.mktemp("runs") / "letters", config, Tokenizers(vocabulary, vocabulary, ("en", "fr"))
    )
    torch.manual_seed(0)
    folder.write_weights(folder.new_model().state_dict())
    return folder.path


@pytest.fixture
def explain(model, monkeypatch, capsys):
    """Run the command; return its exit code and what it wrote to both streams."""

    def run(text, *options):
        monkeypatch.setattr(sys, "argv", ["vitrail", "explain", str(model), text, *map(str, options)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_a_page_that_would_be_too_large_says_what_it_leaves_out(explain, tmp_path, monkeypatch):
    monkeypatch.setattr("vitrail.explain.explanation.PAGE_MB", 0.0)
    out = tmp_path / "page.html"
    code, _, said = explain("a b c", "--to", "fr", "--out", out, "--max-mb", "0.001")
    assert code == 0
    assert "encoder.0, decoder.0, decoder.1" in said and "--layers encoder.0" in said
    kept = explain("a b c", "--to", "fr", "--out", out, "--max-mb", "0.001", "--layers", "encoder.0")[2]
    assert "For decoder.0, decoder.1, output the page" in kept


def test_it_writes_one_page_and_says_where_and_how_large(explain, tmp_path):
    out = tmp_path / "page.html"
    code, said, _ = explain("a b c", "--to", "fr", "--out", out)
    assert code == 0
    assert said == f"{out} ({out.stat().st_size / 1e6:.1f} MB, with the model)\n"
    page = out.read_text("utf-8")
    assert "<title>a b c →" in page
    assert 'id="vitrail-trace"' in page
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_model_goes_in_or_stays_out(explain, tmp_path):
    out = tmp_path / "page.html"
    for option, is_live in (("--live", True), ("--static", False)):
        assert explain("a b c", "--to", "fr", "--out", out, option)[0] == 0
        assert ('id="vitrail-model"' in out.read_text("utf-8")) is is_live
    # Who asks for some of the weights gets a page that holds just those.
    assert explain("a b c", "--to", "fr", "--out", out, "--layers", "encoder.0")[0] == 0
    assert 'id="vitrail-model"' not in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--live", "--max-mb", "3"], "--layers or --max-mb has no effect on a live page"),
        (["--live", "--layers", "all"], "--layers or --max-mb has no effect on a live page"),
        (["--static", "--out", "trace.json"], "--live or --static has no effect on a bare trace"),
    ],
)
def test_options_that_a_page_would_ignore_are_refused(explain, tmp_path, monkeypatch, options, what):
    monkeypatch.chdir(tmp_path)
    code, _, said = explain("a b c", "--to", "fr", "--out", "page.html", *options)
    assert code == 2 and what in said and "fix:" in said
    assert list(tmp_path.iterdir()) == []


def test_every_option_reaches_the_trace(explain, tmp_path):
    out = tmp_path / "trace.json"
    options = ["--to", "en", "--out", out, "--layers", "encoder.0, decoder.1", "--beam-size", 3, "--top-beams", 2]
    options += ["--alpha", 0.5, "--prefix", "d e", "--reference", "c c"]
    options += ["--heads-off", "decoder.0.cross_attention:1", "--heads-off", "encoder.0.self_attention:all"]
    code, _, _ = explain("a b", *options)
    assert code == 0
    document = Trace.load(out).document
    assert document["to"] == "en"
    assert document["weights_of"] == ["encoder.0", "decoder.1"]
    assert document["settings"]["alpha"] == 0.5
    assert (document["search"]["beam_size"], document["search"]["top_beams"]) == (3, 2)
    assert document["target"]["tokens"][:2] == ["d", "e"]
    assert document["what_if"]["heads_off"] == {"decoder.0.cross_attention": [1], "encoder.0.self_attention": [0, 1]}
    assert document["reference"]["tokens"] == ["c", "c", "<eos>"]
    assert document["model"]["name"] == "letters"


def test_a_trace_can_stay_without_weights(explain, tmp_path):
    explain("a b", "--to", "en", "--out", tmp_path / "trace.json", "--max-mb", 0.001)
    document = json.loads((tmp_path / "trace.json").read_text())
    assert document["weights_of"] == []
    _, _, noted = explain("a b", "--to", "en", "--out", tmp_path / "trace.json", "--max-mb", 0.001)
    assert "larger than 0.001 MB" in noted


def test_a_page_may_be_of_any_size(explain, tmp_path):
    out = tmp_path / "trace.json"
    assert explain("a b", "--to", "fr", "--out", out, "--max-mb", "inf")[0] == 0
    assert Trace.load(out).document["weights_of"] == ["encoder.0", "decoder.0", "decoder.1", "output"]
    assert explain("a b", "--to", "fr", "--out", tmp_path / "page.html", "--max-mb", "inf")[0] == 0


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a b", ["--to", "de"], "does not translate into 'de'"),
        ("a b", [], "several languages"),
        ("a x", ["--to", "fr"], "'x'"),
        (" ", ["--to", "fr"], "nothing to translate"),
        ("a b", ["--to", "fr", "--layers", "encoder.1"], "no layer 'encoder.1'"),
        ("a b", ["--to", "fr", "--heads-off", "decoder.0.cross_attention"], "cannot read"),
        ("a b", ["--to", "fr", "--heads-off", "decoder.0.cross_attention:x"], "cannot read"),
        ("a b", ["--to", "fr", "--heads-off", "decoder.0.cross_attention:7"], "no head 7"),
        ("a b", ["--to", "fr", "--heads-off", "decoder.9.cross_attention:0"], "decoder.9.cross_attention"),
        ("a b", ["--to", "fr", "--max-mb", "nan"], "max-mb"),
        ("a b", ["--to", "fr", "--max-mb", "-1"], "max-mb"),
        ("a b", ["--to", "fr", "--top-beams", "9"], "top_beams"),
        ("a b", ["--to", "fr", "--prefix", "x"], "'x'"),
        ("a b", ["--to", "fr", "--reference", "x"], "'x'"),
    ],
)
def test_a_mistake_is_answered_and_leaves_nothing_behind(explain, tmp_path, text, options, said):
    code, _, error = explain(text, *options, "--out", tmp_path / "page.html")
    assert code == 2
    assert said in error
    assert "fix: " in error
    assert not list(tmp_path.iterdir())
