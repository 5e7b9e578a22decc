"""Grid beam search over models that are tables: when terms may begin, what survives a step, and when it ends."""

from __future__ import annotations

from math import inf

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import search
from vitrail.decode.constrained import Grid, Partial, constrained_search, worth
from vitrail.decode.request import Request
from vitrail.decode.terms import NOWHERE, Form, Progress, Term, Terms, are_asked
from vitrail.errors import DecodeError
from vitrail.text.special import EOS

USUAL, SECOND, RARE, OTHER = 4, 5, 6, 7
OTHERS = (8, 9, 10)  # enough to keep RARE from being a usual continuation
FORBIDDEN = (0, 1, 2)
VOCABULARY = 16
TEXT = (1, 2, 3)  # of a source: its first id only says which sentence it is


class Told:
    """Says USUAL so many times, then ends; `rare` is how probable RARE is at each step. All by sentence."""

    vocabulary = VOCABULARY

    def __init__(self, lengths: list[int], rare: list[list[float]]) -> None:
        self.lengths, self.rare = lengths, rare

    class At:
        def __init__(self, sentences: list[int]) -> None:
            self.sentences, self.step = sentences, 0

        def reorder(self, parent_BW: Tensor) -> None: ...

        def keep(self, rows: Tensor) -> None:
            self.sentences = [self.sentences[row] for row in rows.tolist()]

    def start(self, source_BS: Tensor) -> At:
        return self.At([row[0] - VOCABULARY for row in source_BS.tolist()])

    def step(self, ids_BW: Tensor, cache: At) -> Tensor:
        log_probs_BWV = torch.full((*ids_BW.shape, VOCABULARY), -20.0)
        for row, sentence in enumerate(cache.sentences):
            is_text = cache.step < self.lengths[sentence]
            log_probs_BWV[row, :, USUAL if is_text else EOS] = -0.1
            log_probs_BWV[row, :, [SECOND, *OTHERS]] = -4.0
            log_probs_BWV[row, :, RARE] = self.rare[sentence][cache.step] if is_text else -20.0
        cache.step += 1
        return log_probs_BWV


class Gaze:
    """What each next id looks at. The first id of a source is looked at most, but it is no text."""

    def __init__(self, places: list[list[int]]) -> None:
        self.places = places

    def __call__(self, source_BS: Tensor, target_NT: Tensor, sentence_N: Tensor | None) -> Tensor:
        assert sentence_N is not None
        weights_NTS = torch.rand(*target_NT.shape, source_BS.size(1), generator=torch.Generator().manual_seed(1)) / 10
        for row, sentence in enumerate(source_BS[sentence_N, 0].tolist()):
            here = self.places[sentence - VOCABULARY]
            weights_NTS[row, :, 0] = 1
            weights_NTS[row, -1, here[min(target_NT.size(1), len(here)) - 1]] = 0.5
        return weights_NTS


sentences = st.integers(1, 5).flatmap(
    lambda length: st.tuples(
        st.lists(st.floats(-15, -5, width=32), min_size=length, max_size=length, unique=True),
        st.lists(st.sampled_from(TEXT), min_size=length, max_size=length),
        st.frozensets(st.sampled_from(TEXT), min_size=1, max_size=2),
    )
)


@settings(deadline=None, max_examples=40)
@given(batch=st.lists(sentences, min_size=1, max_size=4), beam_size=st.integers(1, 2))
@example(batch=[([-5.0, -6.0, -7.0], [1, 2, 3], frozenset({3})), ([-8.0], [2], frozenset({1}))], beam_size=1)
def test_a_term_is_begun_where_its_source_is_looked_at_or_else_anywhere(batch, beam_size):
    model = Told([len(rare) for rare, _, _ in batch], [rare for rare, _, _ in batch])
    asked = [Terms((Term((Form((RARE,)),), places),), (), (), TEXT) for _, _, places in batch]
    rows = [[VOCABULARY + number, USUAL, USUAL, USUAL, EOS] for number in range(len(batch))]
    found = search(
        model,
        rows,
        DecodeConfig(beam_size=beam_size, max_extra=5),
        forbidden=FORBIDDEN,
        terms=asked,
        look=Gaze([gaze for _, gaze, _ in batch]),
    )
    for (rare, gaze, places), (best,) in zip(batch, found, strict=True):
        steps = [step for step, place in enumerate(gaze) if place in places] or range(len(rare))
        where = max(steps, key=rare.__getitem__)
        assert best.row == (*[USUAL] * where, RARE, *[USUAL] * (len(rare) - where - 1), EOS)
        assert best.log_probs == pytest.approx([*[-0.1] * where, rare[where], *[-0.1] * (len(rare) - where)])


def test_a_term_that_was_begun_goes_on_wherever_the_model_looks():
    asked = Terms((Term((Form((RARE, OTHER)),), frozenset({2})),), (), (), TEXT)
    config = DecodeConfig(beam_size=1, max_extra=5)
    rows, gaze = [[VOCABULARY, USUAL, USUAL, USUAL, EOS]], Gaze([[1, 2, 1, 1, 1]])
    ((best,),) = search(Told([4], [[-9.0] * 4]), rows, config, forbidden=FORBIDDEN, terms=[asked], look=gaze)
    assert best.ids == (USUAL, RARE, OTHER, USUAL)
    # Not begun where the model would rather have ended; gone on with even there.
    ((best,),) = search(Told([2], [[-9.0] * 2]), rows, config, forbidden=FORBIDDEN, terms=[asked], look=gaze)
    assert best.ids == (USUAL, RARE, OTHER)


def test_what_a_search_for_terms_is_asked_besides_is_kept_to():
    asked = Terms((Term((Form((RARE,)),), frozenset({1})),), (), (), TEXT)
    model, rows = Told([3], [[-5.0, -6.0, -7.0]]), [[VOCABULARY, USUAL, USUAL, USUAL, EOS]]
    options = {"config": DecodeConfig(beam_size=1, max_extra=5), "forbidden": FORBIDDEN, "terms": [asked]}
    ((best,),) = search(model, rows, prefixes=[[SECOND, SECOND]], **options)
    assert best.ids == (SECOND, SECOND, RARE)
    request = Request.check(
        rows, vocabulary=VOCABULARY, forbidden=(*FORBIDDEN, RARE), prefixes=None, max_extra=5, max_positions=None
    )
    assert constrained_search(model, request, [asked], DecodeConfig()) == [[]]
    with pytest.raises(DecodeError, match="not numbers"):
        search(Told([3], [[torch.nan] * 3]), rows, **options)


def test_the_search_ends_with_the_step_after_which_nothing_can_be_better():
    class Nearly(Told):
        steps = 0

        def step(self, ids_BW: Tensor, cache: Told.At) -> Tensor:
            self.steps += 1
            log_probs_BWV = torch.full((*ids_BW.shape, VOCABULARY), -20.0)
            log_probs_BWV[..., RARE if self.steps == 1 else EOS] = -0.7
            log_probs_BWV[..., USUAL] = -0.8  # going on would be a little worse
            return log_probs_BWV

    model, asked = Nearly([1], [[-0.7]]), Terms((Term((Form((RARE,)),)),), (), ())
    ((best,),) = search(model, [[VOCABULARY, EOS]], DecodeConfig(beam_size=1), forbidden=FORBIDDEN, terms=[asked])
    assert (best.ids, model.steps) == ((RARE,), 2)


def partial(ids: tuple[int, ...], total: float, met: int, *, is_complete: bool) -> Partial:
    values = (total / len(ids),) * len(ids)
    return Partial(ids, values, total, Progress(met, is_complete, frozenset(), {}))


ends = st.lists(st.sampled_from([USUAL, EOS, EOS]), min_size=1, max_size=12)


@settings(deadline=None)
@given(
    ids=ends,
    totals=st.lists(st.integers(-40, -1), min_size=12, max_size=12),
    counts=st.lists(st.integers(0, 2), min_size=12, max_size=12),
    beam_size=st.integers(1, 3),
    top_beams=st.integers(1, 3),
    before=st.lists(st.integers(-20, -1), max_size=3),
    limit=st.sampled_from([2, 3]),
)
def test_the_rule_of_one_step(ids, totals, counts, beam_size, top_beams, before, limit):
    """Of each count the best survive; those that end are set aside; the end comes when nothing can be better."""
    candidates = [
        partial((USUAL, token_id), total, 2 if token_id == EOS else met, is_complete=token_id == EOS or met == 2)
        for token_id, total, met in zip(ids, totals, counts, strict=False)
    ]
    config = DecodeConfig(beam_size=beam_size, top_beams=min(beam_size, top_beams))
    terms = Terms((Term((Form((RARE, RARE)),)),), (), ())
    grid = Grid(0, terms, limit, [], [])
    grid.take([partial((EOS,), total, 2, is_complete=True) for total in before], 1, DecodeConfig(beam_size=9))
    earlier = list(grid.complete)
    is_over = grid.take(candidates, 2, config)

    ranks = {  # of each candidate among those that have met as much
        id(one): sum(
            other.progress.met == one.progress.met and (other.total, -place) > (one.total, -number)
            for place, other in enumerate(candidates)
        )
        for number, one in enumerate(candidates)
    }
    aside = [
        one
        for one in candidates
        if ranks[id(one)] < beam_size and one.progress.is_complete and (one.ends or limit == 2)
    ]
    assert sorted(one.row for one in grid.complete[len(earlier) :]) == sorted(one.ids for one in aside)
    growing = [one for one in candidates if not one.ends]
    for met in range(3):
        alike = [one for one in growing if one.progress.met == met]
        best = sorted((one.total for one in alike), reverse=True)[:beam_size]
        assert [one.total for one in grid.live if one.progress.met == met] == best
    assert [one.progress.met for one in grid.live] == sorted(one.progress.met for one in grid.live)

    found = sorted([*(worth(total, 1) for total in before), *(worth(one.total, 2) for one in aside)], reverse=True)[
        : config.top_beams
    ]
    last = found[-1] if len(found) == config.top_beams else -inf
    assert is_over == (limit == 2 or not growing or max(worth(one.total, 2) for one in growing) <= last)
    assert [worth(sum(one.log_probs), len(one.row)) for one in grid.best(config.top_beams)] == pytest.approx(found)


def test_of_translations_that_are_worth_the_same_the_first_to_be_complete_comes_first():
    grid = Grid(0, Terms((Term((Form((RARE,)),)),), (), ()), 9, [], [])
    for number in (USUAL, SECOND, RARE):
        grid.take([partial((number, EOS), -2.0, 1, is_complete=True)], 2, DecodeConfig())
    assert [one.ids for one in grid.best(2)] == [(USUAL,), (SECOND,)]


def test_worth_is_the_sum_over_gnmts_penalty():
    assert worth(-3.0, 7) == pytest.approx(-3 / 2**0.6)


def test_a_term_begins_only_where_its_own_source_is():
    one, other = Form((4, 5)), Form((5,), follows=True)
    asked = Terms((Term((one,), frozenset({1})), Term((one, other), frozenset({2})), Term((Form((6,)),))), (), (7,))
    progress = asked.progress(())
    assert progress.beginning == {4: {1, 2}, 6: frozenset()}
    assert [progress.wanted(place) for place in (1, 2, 3, NOWHERE, None)] == [{4}, {4}, set(), set(), {4, 6}]
    assert asked.progress((7,)).beginning == {4: {1, 2}, 5: {2}, 6: frozenset()}
    assert asked.progress((7, 5)).beginning == {4: {1}, 6: frozenset()}
    begun = asked.progress((4,))
    assert (begun.met, begun.is_complete, begun.continuing) == (1, False, {5})
    assert begun.wanted(NOWHERE) == {5} and begun.wanted(1) == {4, 5}


def test_terms_are_asked_for_if_any_sentence_has_some():
    one = Terms((Term((Form((RARE,)),)),), (), ())
    assert are_asked([None, one]) and are_asked([one])
    assert not are_asked([None, None]) and not are_asked([]) and not are_asked(None)
