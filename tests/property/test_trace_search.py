"""The record of a search is complete: every candidate can be traced, every number follows from earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from math import fsum
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vitrail.config import POSITIONS, DecodeConfig
from vitrail.decode import Hypothesis, search
from vitrail.decode.sampling import distribution
from vitrail.model import Transformer, without_heads
from vitrail.text import EOS, Tokenizers, WordVocabulary
from vitrail.trace.search import ALTERNATIVES, SearchRecord

Build = Callable[..., Transformer]
FORBIDDEN = (0, 1, 2)
VOCABULARY = WordVocabulary([f"w{number}" for number in range(27)], [])
TOKENIZERS = Tokenizers(VOCABULARY, VOCABULARY)

beams = st.integers(1, 4).flatmap(
    lambda beam_size: st.builds(
        DecodeConfig,
        beam_size=st.just(beam_size),
        top_beams=st.integers(1, beam_size),
        alpha=st.sampled_from([0.0, 0.6, 1.0]),
        penalty=st.sampled_from(["length", "gnmt"]),
        max_extra=st.integers(0, 5),
    )
)
samplings = st.builds(
    DecodeConfig,
    sample=st.just(True),
    top_beams=st.integers(1, 4),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
    top_k=st.sampled_from([0, 1, 5]),
    top_p=st.sampled_from([0.3, 1.0]),
    max_extra=st.integers(0, 5),
    seed=st.integers(0, 99),
)
rows = st.lists(st.integers(4, 30), min_size=1, max_size=5).map(lambda ids: [*ids, EOS])
prefixes = st.lists(st.integers(4, 30), max_size=2)


@pytest.fixture(scope="module")
def model(small_model: Build) -> Transformer:
    made = small_model(encoder_layers=1, decoder_layers=1, output_bias=True)
    with torch.no_grad():
        made.output_bias[EOS] += 1.0  # some translations end early, others are cut
    return made


def recorded(
    model: Transformer, row: list[int], config: DecodeConfig, prefix: list[int]
) -> tuple[dict[str, Any], list[Hypothesis]]:
    record = SearchRecord(config)
    found = search(model, [row], config, forbidden=FORBIDDEN, prefixes=[prefix], listener=record)[0]
    assert found == search(model, [row], config, forbidden=FORBIDDEN, prefixes=[prefix])[0], "listening changed it"
    return record.to_dict(found, TOKENIZERS), found


def followed(steps: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
    """Follow every candidate from its parent to its fate."""
    arrived: dict[tuple[int, int], tuple[list[int], float]] = {(0, 0): ([], 0.0)}
    ended: set[int] = set()
    for number, step in enumerate(steps):
        assert step["step"] == number + 1
        for index, live in enumerate(step["live"]):
            ids, total = arrived.get((number, index), ([], 0.0))
            assert live["tokens_so_far"] == ids
            assert live["total"] == pytest.approx(total)
        for candidate in step["candidates"]:
            parent = step["live"][candidate["parent"]]
            ids = [*parent["tokens_so_far"], candidate["id"]]
            total = parent["total"] + candidate["log_prob"]
            assert candidate["total"] == pytest.approx(total, abs=1e-9)
            if candidate["fate"] == "kept":
                assert (number + 1, candidate["becomes"]) not in arrived
                arrived[number + 1, candidate["becomes"]] = ids, total
            elif candidate["becomes"] is not None:
                assert candidate["fate"] in ("finished", "stopped")
                result = results[candidate["becomes"]]
                assert result["ids"] == ids
                assert result["score"] == pytest.approx(candidate["score"], abs=1e-9)
                assert fsum(result["log_probs"]) == pytest.approx(candidate["total"], abs=1e-9)
                ended.add(candidate["becomes"])
            else:
                assert candidate["fate"] in ("pruned", "dropped", "stopped")
    assert ended == set(range(len(results)))
    names = [live["hypothesis"] for step in steps for live in step["live"]]
    assert len(set(names)) == len(names)


def penalty(length: int, config: DecodeConfig) -> float:
    return ((5 + length) / 6 if config.penalty == "gnmt" else length) ** config.alpha


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(row=rows, config=beams, prefix=prefixes)
def test_every_candidate_of_a_beam_search_is_there_with_its_fate(model, row, config, prefix):
    prefix = prefix[: len(row) + config.max_extra]
    facts, found = recorded(model, row, config, prefix)
    assert facts["kind"] == "beam"
    followed(facts["steps"], facts["results"])
    assert [result["ids"] for result in facts["results"] if result["returned"]] == [list(h.row) for h in found]
    assert [result["score"] for result in facts["results"]] == sorted(
        (result["score"] for result in facts["results"]), reverse=True
    )
    for step in facts["steps"]:
        candidates, is_last = step["candidates"], step is facts["steps"][-1]
        length = step["step"]
        assert [c["rank"] for c in candidates] == list(range(len(candidates)))
        if length > len(prefix):
            assert len(candidates) == 2 * config.beam_size
        totals = [c["total"] for c in candidates]
        assert totals == sorted(totals, reverse=True)
        going_on = [c for c in candidates if c["id"] != EOS]
        for c in candidates:
            assert c["score"] == pytest.approx(c["total"] / penalty(length, config))
            if c["id"] == EOS:
                assert c["fate"] == ("finished" if c["rank"] < config.beam_size else "dropped")
            elif going_on.index(c) < config.beam_size:
                assert c["fate"] == ("stopped" if is_last else "kept")
            else:
                assert c["fate"] == "pruned"
            if c["fate"] == "pruned":
                assert c["margin"] == going_on[config.beam_size - 1]["total"] - c["total"] >= 0
            else:
                assert c["margin"] is None
        kept = [c["becomes"] for c in candidates if c["fate"] == "kept"]
        assert kept == list(range(len(kept)))
        assert is_last == (not kept)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(row=rows, config=samplings, prefix=prefixes)
def test_every_draw_is_there_with_what_it_was_drawn_from(model, row, config, prefix):
    prefix = prefix[: len(row) + config.max_extra]
    facts, found = recorded(model, row, config, prefix)
    assert facts["kind"] == "sample"
    followed(facts["steps"], facts["results"])
    assert [result["ids"] for result in facts["results"]] == [list(h.row) for h in found]
    assert all(result["returned"] for result in facts["results"])
    source = torch.tensor([row])
    for step in facts["steps"]:
        for parent, live in enumerate(step["live"]):
            mine = [c for c in step["candidates"] if c["parent"] == parent]
            assert len([c for c in mine if c["fate"] != "dropped"]) == 1
            assert len(mine) <= ALTERNATIVES + 1
            given_ids = torch.tensor([[2, *live["tokens_so_far"]]])
            log_probs = model.log_probs(source, given_ids)[0, -1].detach().clone()
            log_probs[list(FORBIDDEN)] = -torch.inf
            if step["step"] <= len(prefix):
                log_probs[[i for i in range(31) if i != prefix[step["step"] - 1]]] = -torch.inf
            chances = distribution(
                log_probs, temperature=config.temperature, top_k=config.top_k, top_p=config.top_p
            ).tolist()
            for c in mine:
                assert c["log_prob"] == pytest.approx(float(log_probs[c["id"]]), abs=1e-4)
                assert c["chance"] == pytest.approx(chances[c["id"]], abs=1e-4)
                assert c["chance"] > 0
            assert [c["chance"] for c in mine] == sorted((c["chance"] for c in mine), reverse=True)


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_search_without_a_head_is_that_of_a_model_without_its_columns(small_model: Build, positions: str) -> None:
    model = small_model(positions=positions, kv_heads=2)
    config = DecodeConfig(beam_size=3, top_beams=3, max_extra=3)
    batch = [[4, 9, 7, 5, 3], [8, 6, 3]]
    found = search(without_heads(model, {"decoder.0.cross_attention": [0, 1, 2]}), batch, config)
    with torch.no_grad():
        model.decoder.layers[0].cross_attention.output.weight[:, :30] = 0
    expected = search(model, batch, config)
    for one, other in zip(found, expected, strict=True):
        assert [h.ids for h in one] == [h.ids for h in other]
        assert [h.score for h in one] == pytest.approx([h.score for h in other], abs=1e-4)
