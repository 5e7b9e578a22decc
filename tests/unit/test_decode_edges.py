"""Edge cases of a search: refusals, empty input, and when sentences leave the batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import Hypothesis, begin_all, length_penalty, score, score_all, search
from vitrail.decode.beam import Candidates, Live, decide
from vitrail.decode.request import Request, rectangle
from vitrail.errors import DecodeError
from vitrail.text.special import BOS, EOS, PAD


class Countdown:
    """A model that predicts 5 once for each source id before EOS, then EOS; it counts its work."""

    vocabulary = 7

    def __init__(self) -> None:
        self.rows: list[int] = []

    class Left:
        def __init__(self, left: list[int]) -> None:
            self.left = left

        def reorder(self, parent_BW: Tensor) -> None: ...

        def keep(self, rows: Tensor) -> None:
            self.left = [self.left[row] for row in rows.tolist()]

    def start(self, source_BS: Tensor) -> Left:
        return self.Left([sum(i not in (PAD, EOS) for i in row) for row in source_BS.tolist()])

    def step(self, ids_BW: Tensor, cache: Left) -> Tensor:
        self.rows.append(ids_BW.size(0))
        logits_BWV = torch.zeros(*ids_BW.shape, self.vocabulary)
        for row, left in enumerate(cache.left):
            logits_BWV[row, :, 5 if left else EOS] = 9.0
        cache.left = [max(left - 1, 0) for left in cache.left]
        return logits_BWV.log_softmax(-1)


class Constant:
    """A model that always predicts the same."""

    vocabulary = 7

    def __init__(self, log_probs: list[float]) -> None:
        self.log_probs_V = torch.tensor(log_probs)

    def start(self, source_BS: Tensor) -> Countdown.Left:
        return Countdown.Left([0] * len(source_BS))

    def step(self, ids_BW: Tensor, cache: Countdown.Left) -> Tensor:
        return self.log_probs_V.repeat(*ids_BW.shape, 1)


GREEDY = DecodeConfig(beam_size=1)
BOTH = [DecodeConfig(), DecodeConfig(sample=True)]


@pytest.mark.parametrize("config", BOTH)
def test_nothing_to_translate_gives_nothing(config):
    assert search(Countdown(), [], config) == []
    assert begin_all(Countdown(), [], config)() == []
    assert score_all(None, [], [], config) == score(None, [], [], config) == []


@pytest.mark.parametrize("config", [GREEDY, DecodeConfig(sample=True, top_k=1)])
def test_finished_sentences_leave_the_batch(config):
    model = Countdown()
    found = search(model, [[4, 4, EOS], [EOS], [4, 4, 4, 4, EOS]], config)
    assert [best.ids for (best,) in found] == [(5, 5), (), (5, 5, 5, 5)]
    assert all(best.finished for (best,) in found)
    assert model.rows == [3, 2, 2, 1, 1]


def test_an_empty_translation_is_one():
    (best,) = search(Countdown(), [[EOS]], GREEDY)[0]
    assert best.ids == () and best.row == (EOS,) and len(best.log_probs) == 1
    assert best.score == best.log_probs[0]


@pytest.mark.parametrize("config", BOTH)
@pytest.mark.parametrize(
    ("prefix", "what"),
    [
        ([5, EOS], "id 3, which no translation may contain"),
        ([BOS], "id 2, which no translation may contain"),
        ([5, 4], "id 4, which no translation may contain"),
        ([7], "id 7, but the vocabulary has only 7 ids"),
        ([-1], "id -1, but the vocabulary has only 7 ids"),
        ([5] * 53, "53 tokens, but the translation may have at most 52"),
    ],
)
def test_an_impossible_prefix_is_refused(config, prefix, what):
    with pytest.raises(DecodeError, match=what) as caught:
        search(Countdown(), [[5, EOS], [5, EOS]], config, forbidden=(0, 1, 2, 4), prefixes=[[], prefix])
    assert caught.value.where == "sentence 2"
    assert caught.value.fix


def test_an_impossible_prefix_is_refused_before_any_work():
    model, sources = Countdown(), [[5, 5, EOS], [5, EOS], [5, 5, 5, EOS]]
    with pytest.raises(DecodeError) as caught:
        begin_all(model, sources, DecodeConfig(max_extra=0), prefixes=[[5, 5, 5]] * 3, batch_tokens=1)()
    assert caught.value.where == "sentence 2"
    assert model.rows == []


def test_a_prefix_as_long_as_the_limit_is_the_translation():
    config = DecodeConfig(max_extra=1)
    ((best,),) = search(Countdown(), [[5, EOS]], config, prefixes=[[6, 6, 6]])
    assert best.ids == (6, 6, 6) and not best.finished


@pytest.mark.parametrize("config", BOTH)
def test_a_model_that_predicts_no_numbers_is_refused(config):
    for log_probs in ([float("nan")] * 7, [-2.0] * 6 + [float("nan")]):
        with pytest.raises(DecodeError, match="not numbers"):
            search(Constant(log_probs), [[EOS]], config)


@pytest.mark.parametrize("config", BOTH)
def test_a_model_that_rules_everything_out_is_refused(config):
    with pytest.raises(DecodeError, match="any probability"):
        search(Constant([-float("inf")] * 7), [[EOS]], config)


def test_of_equal_continuations_the_lower_id_comes_first():
    config = DecodeConfig(beam_size=2, top_beams=2, max_extra=1)
    (found,) = search(Constant([-2.0] * 7), [[EOS]], config, forbidden=(0, 1, 2))
    assert [hypothesis.row for hypothesis in found] == [(EOS,), (4, EOS)]


def test_the_rule_of_one_step():
    """A beam of 2: rank 0 ends and is set aside, ranks 1 and 2 survive, rank 3 ends too far down and is dropped."""
    candidates = Candidates(
        totals_BC=torch.tensor([[-1.0, -2.0, -3.0, -4.0]]),
        parents_BC=torch.tensor([[0, 0, 1, 1]]),
        ids_BC=torch.tensor([[EOS, 5, 6, EOS]]),
        log_probs_BC=torch.tensor([[-1.0, -2.0, -3.0, -4.0]]),
    )
    decision = decide(candidates, torch.tensor([False]), beam_size=2)
    assert decision.set_aside_BC.tolist() == [[True, False, False, False]]
    assert decision.survivors_BW.tolist() == [[1, 2]]
    assert decision.filled_BW.all()
    last = decide(candidates, torch.tensor([True]), beam_size=2)
    assert last.set_aside_BC.tolist() == [[True, True, False, False]]


def test_the_two_length_penalties():
    assert length_penalty(9, DecodeConfig(alpha=1.0)) == 9
    assert length_penalty(9, DecodeConfig(alpha=0.5)) == 3
    assert length_penalty(7, DecodeConfig(alpha=2.0, penalty="gnmt")) == 4
    assert length_penalty(7, DecodeConfig(alpha=0.0, penalty="gnmt")) == length_penalty(7, DecodeConfig(alpha=0.0)) == 1


def test_a_hypothesis_knows_whether_it_ended():
    ended = Hypothesis.from_row([5, 6, EOS], [-1.0, -2.0, -3.0], DecodeConfig())
    assert (ended.ids, ended.row, ended.score, ended.finished) == ((5, 6), (5, 6, EOS), -2.0, True)
    cut = Hypothesis.from_row([5, 6], [-1.0, -2.0], DecodeConfig())
    assert (cut.ids, cut.row, cut.score, cut.finished) == ((5, 6), (5, 6), -1.5, False)


def test_progress_counts_sentences():
    told = []
    begin_all(Countdown(), [[5, EOS]] * 5, GREEDY, batch_tokens=32, report=lambda *what: told.append(what))()
    assert told == [("translate", 2, 5), ("translate", 4, 5), ("translate", 5, 5)]


def test_a_model_in_training_mode_is_our_own_mistake():
    with pytest.raises(AssertionError, match="eval"):
        search(torch.nn.Dropout(), [[EOS]], GREEDY)


def test_a_search_begins_with_one_empty_hypothesis_for_each_sentence():
    live = Live.begin(3)
    assert live.sentence_B.tolist() == [0, 1, 2]
    assert live.ids_BWT.tolist() == [[[BOS]]] * 3
    assert live.log_probs_BWT.tolist() == [[[0.0]]] * 3 and live.totals_BW.tolist() == [[0.0]] * 3


@pytest.mark.parametrize("prefixes", [None, [[], []]])
def test_the_tables_of_a_request_hold_whole_numbers_even_if_they_are_empty(prefixes):
    rest = {"vocabulary": 7, "forbidden": (), "max_extra": 1, "max_positions": None}
    for sources in ([[5, EOS], [EOS]], []):
        request = Request.check(sources, prefixes=prefixes and prefixes[: len(sources)], **rest)
        assert request.limits_B.dtype == request.forbidden.dtype == request.forced_BT.dtype == torch.long
    assert rectangle([], fill=PAD).numel() == 0
