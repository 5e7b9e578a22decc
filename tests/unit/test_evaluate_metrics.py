"""Reports on translations: their contents, their errors, and that they are reproducible."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from vitrail.cli import app
from vitrail.errors import ConfigError, DataError
from vitrail.evaluate import METRICS, TOKENIZERS, Metric, Options, Scored, bleu, compare, exact_share, measure
from vitrail.evaluate.resampling import confidence, p_value, rescore

REFERENCES = ["The cat sat on the mat.", "It is late, let us go home now.", "Nobody knows where the street ends."] * 4
GOOD = ["The cat sat on a mat.", "It is late, let us go home now.", "Nobody knows where this street ends."] * 4
BAD = ["A dog stood on mats.", "Late is it, go home.", "Who knows where the street begins?"] * 4


def test_perfect_translations_get_perfect_scores():
    report = measure(REFERENCES, REFERENCES)
    assert report["bleu"].score == pytest.approx(100)
    assert report["chrf"].score == pytest.approx(100)
    assert report["ter"].score == 0
    assert report.lines == 12
    assert exact_share(REFERENCES, REFERENCES) == 1


def test_exact_share_counts_lines_that_are_the_same():
    assert exact_share(GOOD, REFERENCES) == pytest.approx(1 / 3)


def test_a_report_is_the_same_twice_and_goes_through_json():
    report = measure(GOOD, REFERENCES)
    assert measure(GOOD, REFERENCES) == report
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()
    assert compare({"a": GOOD, "b": BAD}, REFERENCES) == compare({"a": GOOD, "b": BAD}, REFERENCES)
    comparison = compare({"a": GOOD, "b": BAD}, REFERENCES).to_dict()
    assert [system["name"] for system in json.loads(json.dumps(comparison))["systems"]] == ["a", "b"]


def test_a_report_reads_as_a_few_lines():
    lines = str(measure(GOOD, REFERENCES)).splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["BLEU", "chrF2", "TER"]
    assert [line.endswith("(lower is better)") for line in lines[:3]] == [False, False, True]
    assert [line.split("|")[0] for line in lines[3:]] == ["BLEU", "chrF2", "TER"]


def test_without_resamples_there_is_no_interval():
    report = measure(GOOD, REFERENCES, resamples=0)
    assert report["bleu"].mean is report["bleu"].interval is None
    assert report["bleu"].score == measure(GOOD, REFERENCES)["bleu"].score == bleu(GOOD, REFERENCES)
    assert "±" not in str(report)


def test_lowercase_forgives_capital_letters():
    shouted = [line.upper() for line in REFERENCES]
    assert measure(shouted, REFERENCES, lowercase=True, resamples=0)["bleu"].score == pytest.approx(100)
    assert measure(shouted, REFERENCES, lowercase=True, resamples=0)["chrf"].score == pytest.approx(100)
    assert bleu(shouted, REFERENCES, lowercase=True) == pytest.approx(100)
    assert bleu(shouted, REFERENCES) < 50


def test_the_better_system_is_told_from_the_worse_and_from_itself():
    comparison = compare({"good": GOOD, "bad": BAD, "twin": GOOD}, REFERENCES)
    good, bad, twin = comparison.systems
    assert set(good.measures) == set(comparison.signatures) == {"BLEU", "chrF2", "TER"}
    assert all(measured.p_value is None for measured in good.measures.values())
    assert all(measured.p_value < 0.05 for measured in bad.measures.values())
    assert all(measured.p_value == 1 for measured in twin.measures.values())


@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_every_tokenizer_on_offer_works_offline(tokenize):
    report = measure(GOOD, REFERENCES, tokenize=tokenize, resamples=0)
    assert f"tok:{tokenize}" in report["bleu"].signature
    assert bleu(GOOD, REFERENCES, tokenize=tokenize) == report["bleu"].score


@pytest.mark.parametrize(("tokenize", "fix"), [("13b", "did you mean '13a'?"), ("flores200", "offline"), ("", "13a")])
def test_an_unknown_tokenizer_is_refused_by_name(tokenize, fix):
    for call in (
        lambda: measure(GOOD, REFERENCES, tokenize=tokenize),
        lambda: bleu(GOOD, REFERENCES, tokenize=tokenize),
        lambda: compare({"a": GOOD, "b": BAD}, REFERENCES, tokenize=tokenize),
    ):
        with pytest.raises(ConfigError, match=f"unknown tokenizer '{tokenize}'") as caught:
            call()
        assert fix in caught.value.fix


@pytest.mark.parametrize(("hypotheses", "what"), [(GOOD[:-1], "11 translations, but 12 references"), ([], "0 transl")])
def test_different_numbers_of_lines_are_refused(hypotheses, what):
    for call in (
        lambda: measure(hypotheses, REFERENCES),
        lambda: bleu(hypotheses, REFERENCES),
        lambda: exact_share(hypotheses, REFERENCES),
        lambda: compare({"fine": GOOD, "runs/short": hypotheses}, REFERENCES),
    ):
        with pytest.raises(DataError, match=what):
            call()


def test_nothing_to_evaluate_is_refused():
    for call in (lambda: measure([], []), lambda: exact_share([], []), lambda: compare({"a": [], "b": []}, [])):
        with pytest.raises(DataError, match="nothing to evaluate"):
            call()


def test_one_system_is_no_comparison():
    with pytest.raises(DataError, match="only one system"):
        compare({"runs/x": GOOD}, REFERENCES)


def test_a_comparison_without_resamples_is_refused():
    with pytest.raises(ConfigError, match="needs resampled test sets"):
        compare({"good": GOOD, "bad": BAD}, REFERENCES, resamples=0)


class WrongLines:
    """The share of lines that are not the reference, in percent: a metric of one's own, without sacrebleu."""

    def __init__(self, references: Sequence[str], options: Options) -> None:
        self.change = str.lower if options.lowercase else str
        self.references = [self.change(reference) for reference in references]

    def rows(self, hypotheses: Sequence[str]) -> Sequence[Sequence[float]]:
        pairs = zip(hypotheses, self.references, strict=True)
        return [(self.change(hypothesis) != reference, 1) for hypothesis, reference in pairs]

    def score(self, sums: NDArray[np.floating]) -> Scored:
        return Scored(100 * sums[0] / sums[1], f"of {int(sums[1])} lines")

    def signature(self, resamples: int) -> str:
        return f"resamples:{resamples}"


@pytest.fixture
def wrong_lines(monkeypatch):
    monkeypatch.setitem(METRICS, "wrong", Metric("wrong", "wrong lines", WrongLines, higher_is_better=False))


@pytest.mark.usefixtures("wrong_lines")
def test_a_new_metric_is_one_entry_and_in_the_report():
    report = measure(GOOD, REFERENCES)
    assert [measured.key for measured in report.measures] == ["bleu", "chrf", "ter", "wrong"]
    wrong = report["wrong"]
    assert wrong.score == pytest.approx(200 / 3)
    assert abs(wrong.mean - wrong.score) < wrong.interval < 50
    assert json.loads(json.dumps(report.to_dict()))["wrong"] == {
        "name": "wrong lines",
        "score": wrong.score,
        "mean": wrong.mean,
        "interval": wrong.interval,
        "signature": "resamples:1000",
        "detail": "of 12 lines",
        "higher_is_better": False,
    }
    lines = str(report).splitlines()
    assert lines[3].startswith("wrong lines 66.7 (μ = ") and lines[3].endswith(") of 12 lines (lower is better)")
    assert lines[-1] == "wrong lines|resamples:1000"
    assert {line.index(f" {measured.score:.1f} ") for line, measured in zip(lines, report.measures, strict=False)} == {
        len("wrong lines")
    }
    shouted = [line.upper() for line in REFERENCES]
    assert [measure(shouted, REFERENCES, lowercase=yes, resamples=0)["wrong"].score for yes in (False, True)] == [
        100,
        0,
    ]


@pytest.mark.usefixtures("wrong_lines")
def test_a_new_metric_is_in_the_comparison_too():
    comparison = compare({"good": GOOD, "bad": BAD, "twin": GOOD}, REFERENCES)
    assert list(comparison.signatures) == ["BLEU", "chrF2", "TER", "wrong lines"]
    assert comparison.lower_is_better == ("TER", "wrong lines")
    good, bad, twin = (system["measures"]["wrong lines"] for system in comparison.to_dict()["systems"])
    assert (good["score"], bad["score"], twin["p_value"]) == (pytest.approx(200 / 3), 100, 1)
    assert bad["p_value"] < 0.05
    printed = str(comparison)
    assert f"\nwrong lines bad  100.0 (μ = 100.0 ± 0.0) p = {bad['p_value']:.4f} *\n" in printed
    assert "\nlower is better: TER, wrong lines\n" in printed
    assert printed.endswith("\nwrong lines|resamples:1000")


@pytest.mark.usefixtures("wrong_lines")
def test_a_new_metric_is_in_what_the_command_prints(tmp_path, capsys):
    test_set = tmp_path / "test.tsv"
    test_set.write_text("Merci !\tThank you!\nOù est la gare ?\tZzz.\n", encoding="utf-8")
    asked = ["evaluate", "builtin", "--pairs", str(test_set), "--to", "en", "--beam-size", "1"]
    app([*asked, "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["lines", "bleu", "chrf", "ter", "wrong"]
    app(asked, standalone_mode=False)
    assert f"\nwrong lines {found['wrong']['score']:.1f} (μ" in capsys.readouterr().out
    rival = tmp_path / "rival.en"
    rival.write_text("Zzz.\nZzz.\n", encoding="utf-8")
    app([*asked, "--against", str(rival), "--json"], standalone_mode=False)
    systems = json.loads(capsys.readouterr().out)["systems"]
    assert [system["measures"]["wrong lines"]["score"] for system in systems] == [found["wrong"]["score"], 50]


def test_resampled_scores_are_of_the_lines_there_are():
    rows = [(number, 1) for number in range(40)]
    scores = rescore(rows, lambda sums: sums[0] / sums[1], resamples=400)
    mean, interval = confidence(scores)
    assert len(set(scores.tolist())) > 100
    assert mean == pytest.approx(19.5, abs=0.5)
    assert interval == pytest.approx(1.96 * (40**2 / 12 / 40) ** 0.5, rel=0.2)  # of a mean of 40 numbers
    assert ((scores >= mean - interval - 0.5) & (scores <= mean + interval + 0.5)).mean() >= 0.95
    assert confidence(rescore([(3, 1)] * 5, lambda sums: sums[0] / sums[1], resamples=10)) == (3, 0)


def test_a_p_value_falls_with_the_difference():
    random = np.random.default_rng(1)
    baseline, other = random.normal(30, 1, 1000), random.normal(30, 1, 1000)
    chances = [p_value(other, baseline, difference=difference) for difference in (0.0, -0.5, 0.5, 9.0)]
    assert chances[0] > chances[1] == chances[2] > chances[3] == 1 / 1001
    assert p_value(baseline, baseline, difference=0.0) == 1
