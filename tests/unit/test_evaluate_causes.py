"""Search errors and model errors: told apart by scores, and traced to the step at which the reference left the beam."""

import random
from math import fsum

import pytest

from vitrail.config import DecodeConfig
from vitrail.decode import length_penalty
from vitrail.evaluate.causes import cause_of
from vitrail.text import EOS

GREEDY, WIDE = DecodeConfig(beam_size=1, max_extra=3), DecodeConfig(beam_size=40, top_beams=40, max_extra=3)


def sentence(draw: random.Random) -> str:
    return " ".join(f"w{draw.randrange(25)}" for _ in range(draw.randint(2, 5)))


@pytest.fixture
def translator(small_translator):
    made = small_translator(output_bias=True)
    made.model.output_bias.data[EOS] += 2.5  # a model that was never trained would hardly ever end
    return made


def test_what_was_found_is_right(translator):
    for seed in range(5):
        source = sentence(random.Random(seed))
        found = translator.search(source, to="fr", decode=GREEDY)[1][0]
        if not found.finished or not found.ids:
            continue
        cause = cause_of(translator, source, translator.tokenizers.decode(found.ids), to="fr", decode=GREEDY)
        assert (cause.kind, cause.left) == ("right", None)
        assert all(step.is_live and step.rank == 0 for step in cause.steps)
        assert cause.score == pytest.approx(cause.reference_score, abs=1e-5)


def finished(translator, source):
    """What a wide search finds, as texts with their scores."""
    found = translator.search(source, to="fr", decode=WIDE)[1]
    return [(translator.tokenizers.decode(one.ids), one) for one in found if one.finished and one.ids]


def test_the_two_kinds_of_errors_and_the_step_at_which_greedy_search_left_the_reference(translator):
    kinds = []
    for seed in range(6):
        source = sentence(random.Random(seed))
        greedy = translator.search(source, to="fr", decode=GREEDY)[1][0]
        for text, wide in finished(translator, source)[::9]:
            cause = cause_of(translator, source, text, to="fr", decode=GREEDY)
            kinds.append(cause.kind)
            if wide.row == greedy.row:
                assert cause.kind == "right"
                continue
            assert cause.kind == ("search" if wide.score > greedy.score + 1e-4 else "model")
            # Greedy search keeps one beginning: the reference leaves where the two rows first differ.
            differ = next(
                place
                for place in range(len(wide.row))
                if place >= len(greedy.row) or wide.row[place] != greedy.row[place]
            )
            assert cause.left == differ + 1
            assert [step.is_live for step in cause.steps] == [place < differ for place in range(len(wide.row))]
            if differ < len(greedy.row):
                assert cause.steps[differ].best == translator.tokenizers.tokens([greedy.row[differ]])[0]
                assert cause.steps[differ].rank > 0
    assert kinds.count("search") >= 2 and kinds.count("model") >= 3


def test_the_score_of_the_reference_is_the_rule_of_the_search(translator):
    source, reference = "w1 w2 w3", "w4 w5"
    cause = cause_of(translator, source, reference, to="en", decode=GREEDY)
    total = translator.score(source, reference, to="en")
    assert cause.reference_score == pytest.approx(total / length_penalty(3, GREEDY), abs=1e-5)
    assert fsum(step.log_prob for step in cause.steps) == pytest.approx(total, abs=1e-4)
    assert cause.steps[-1].token == translator.tokenizers.tokens([EOS])[0]


def test_a_wide_beam_keeps_what_a_narrow_one_loses(translator):
    source = "w7 w3 w11"
    text, _ = finished(translator, source)[-1]
    assert cause_of(translator, source, text, to="fr", decode=GREEDY).left is not None
    kept = cause_of(translator, source, text, to="fr", decode=WIDE)
    assert (kept.left, kept.fate, kept.margin) == (None, None, None)


def test_a_pruned_reference_says_by_how_much(translator):
    seen = set()
    for seed in range(6):
        source = sentence(random.Random(seed))
        for text, _ in finished(translator, source)[::9]:
            cause = cause_of(translator, source, text, to="fr", decode=DecodeConfig(beam_size=3, max_extra=3))
            seen.add(cause.fate)
            assert (cause.margin is not None) == (cause.fate == "pruned")
            assert cause.margin is None or cause.margin >= 0
    assert {"pruned", "unseen"} <= seen


def test_words_that_the_model_cannot_write(translator):
    cause = cause_of(translator, "w1 w2", "w1 zebra", to="fr")
    assert (cause.kind, cause.unknown, cause.steps) == ("unknown", ("zebra",), ())
