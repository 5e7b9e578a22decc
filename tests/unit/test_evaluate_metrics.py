"""Reports on translations: their contents, their errors, and that they are reproducible."""

from __future__ import annotations

import json

import pytest

from vitrail.errors import ConfigError, DataError
from vitrail.evaluate import TOKENIZERS, bleu, compare, exact_share, measure

REFERENCES = ["The cat sat on the mat.", "It is late, let us go home now.", "Nobody knows where the street ends."] * 4
GOOD = ["The cat sat on a mat.", "It is late, let us go home now.", "Nobody knows where this street ends."] * 4
BAD = ["A dog stood on mats.", "Late is it, go home.", "Who knows where the street begins?"] * 4


def test_perfect_translations_get_perfect_scores():
    report = measure(REFERENCES, REFERENCES)
    assert report.bleu.score == pytest.approx(100)
    assert report.chrf.score == pytest.approx(100)
    assert report.ter.score == 0
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
    assert [line.split("|")[0] for line in lines[3:]] == ["BLEU", "chrF2", "TER"]


def test_without_resamples_there_is_no_interval():
    report = measure(GOOD, REFERENCES, resamples=0)
    assert report.bleu.mean is report.bleu.interval is None
    assert report.bleu.score == measure(GOOD, REFERENCES).bleu.score == bleu(GOOD, REFERENCES)
    assert "±" not in str(report)


def test_lowercase_forgives_capital_letters():
    shouted = [line.upper() for line in REFERENCES]
    assert measure(shouted, REFERENCES, lowercase=True, resamples=0).bleu.score == pytest.approx(100)
    assert measure(shouted, REFERENCES, lowercase=True, resamples=0).chrf.score == pytest.approx(100)
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
    assert f"tok:{tokenize}" in report.bleu.signature
    assert bleu(GOOD, REFERENCES, tokenize=tokenize) == report.bleu.score


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
