"""How sure a translation is: curves that are fitted, kept with the model, and used."""

import json
from dataclasses import dataclass
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vitrail
from vitrail.confidence import CONFIDENCE, Curve, confidence, read_curves, write_curves
from vitrail.config import DecodeConfig
from vitrail.decode import Hypothesis
from vitrail.errors import DataError, FolderError
from vitrail.evaluate.calibration import area, calibrate, fit
from vitrail.folder import ModelFolder
from vitrail.text import EOS

CURVE = Curve(slope=4.0, bias=2.0, sentences=100, good=60, auc=0.8)


def test_a_known_curve_is_found_again():
    chance = np.random.default_rng(1)
    means = chance.normal(-0.5, 0.4, 20_000)
    is_good = chance.random(len(means)) < 1 / (1 + np.exp(-(5.0 * means + 3.0)))
    assert fit(means, is_good) == pytest.approx((5.0, 3.0), rel=0.05)


def test_separable_data_have_a_finite_curve():
    slope, bias = fit(np.array([-2.0, -1.5, -0.5, -0.1]), np.array([False, False, True, True]))
    assert 0 < slope < 1e4 and abs(bias) < 1e4


@given(good=st.lists(st.integers(-5, 5), min_size=1), others=st.lists(st.integers(-5, 5), min_size=1))
def test_the_area_is_how_often_a_good_one_is_above_another(good, others):
    wanted = sum((one > other) + 0.5 * (one == other) for one in good for other in others) / len(good) / len(others)
    assert area(np.array(good, float), np.array(others, float)) == pytest.approx(wanted)


@given(one=st.floats(-100, 0), other=st.floats(-100, 0), curve=st.sampled_from([CURVE, None]))
def test_a_likelier_translation_is_surer(one, other, curve):
    low, high = sorted([one, other])
    assert 0 <= confidence(low, curve) <= confidence(high, curve) <= 1


@pytest.mark.parametrize("penalty", ["length", "gnmt"])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_confidence_does_not_depend_on_the_length_penalty(penalty, alpha):
    config = DecodeConfig(penalty=penalty, alpha=alpha)
    found = Hypothesis.from_row([7, 8, EOS], [log(0.5), log(0.25), log(0.125)], config)
    assert found.mean_log_prob(config) == pytest.approx(log(0.25))
    assert confidence(found.mean_log_prob(config), None) == pytest.approx(0.25)


@dataclass
class Done:
    text: str
    mean_log_prob: float | None
    confidence: float | None


class Half:
    """A translator that repeats its source; what it is unsure of is wrong."""

    def translate(self, sources, **_):
        return [Done("xyz" if "?" in one else one, -2.0 if "?" in one else -0.1, 0.5) for one in sources]


def test_calibration_tells_good_from_bad():
    sources = [f"sentence {number}{'?' if number % 3 else ''}" for number in range(90)]
    curve = calibrate(Half(), sources, [one.removesuffix("?") for one in sources], to=None)
    assert (curve.sentences, curve.good, curve.auc) == (90, 30, 1.0)
    assert curve.at(-0.1) > 0.9 and curve.at(-2.0) < 0.1


def test_one_sided_data_are_refused():
    with pytest.raises(DataError, match="too one-sided"):
        calibrate(Half(), ["all good"] * 50, ["all good"] * 50, to=None)


@pytest.fixture
def model(tmp_path):
    """A copy of the built-in model without a curve."""
    folder = vitrail.load("builtin").folder
    assert folder is not None
    made = ModelFolder.create(tmp_path / "model", folder.config, folder.tokenizers)
    made.write_weights(folder.model().state_dict())
    return made


def test_curves_are_kept_with_the_model_and_used(model):
    source = {"text": "Merci.", "to": "en"}
    plain = vitrail.load(model.path).translate(**source)
    assert plain.confidence == pytest.approx(exp(plain.mean_log_prob))
    write_curves(model, {"en": CURVE})
    assert read_curves(model) == {"en": CURVE}
    curved = vitrail.load(model.path).translate(**source)
    assert curved.confidence == pytest.approx(CURVE.at(plain.mean_log_prob)) != plain.confidence
    assert curved.to_dict()["confidence"] == curved.confidence
    other = vitrail.load(model.path).translate("Merci.", to="fr")
    assert other.confidence == pytest.approx(exp(other.mean_log_prob)), "the other language has no curve"

    weights = model.model().state_dict()
    weights["decoder.final_norm.bias"] += 0.01
    model.write_weights(weights)
    assert read_curves(model) == {}, "curves of other weights"


@pytest.mark.parametrize("change", [{"slope": "4"}, {"slope": 1e300}, {"auc": 2}, {"bias": None}])
def test_a_damaged_file_is_named(model, change):
    path = write_curves(model, {"en": CURVE})
    document = json.loads(path.read_text())
    document["curves"]["en"] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(FolderError, match="damaged") as raised:
        read_curves(model)
    assert raised.value.where == str(model.path / CONFIDENCE)
