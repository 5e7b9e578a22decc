"""The record of a search: every candidate of every step, and its fate."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode import Hypothesis, length_penalty
from vitrail.decode.beam import Candidates, Decision, Live
from vitrail.decode.sampling import Draws
from vitrail.text import EOS, Tokenizers

ALTERNATIVES = 8  # most probable ids to record besides the drawn one

Fact = dict[str, Any]


class SearchRecord:
    """Listens to the search for the translation of one sentence."""

    def __init__(self, config: DecodeConfig) -> None:
        self.config = config
        self.steps: list[Fact] = []
        self.complete: list[Hypothesis] = []  # in the order of completion
        self._numbered = 0  # partial hypotheses numbered so far

    def searched(self, step: int, live: Live, candidates: Candidates, decision: Decision, done_B: Tensor) -> None:
        """Record a step of beam search."""
        assert len(live.sentence_B) == 1, "a search record covers one sentence"
        survivors = decision.survivors_BW[0][decision.filled_BW[0]].tolist()
        set_aside = decision.set_aside_BC[0].tolist()
        totals = candidates.totals_BC[0].tolist()
        is_done = bool(done_B[0])
        ids, parents = candidates.ids_BC[0].tolist(), candidates.parents_BC[0].tolist()
        log_probs = candidates.log_probs_BC[0].tolist()
        facts: list[Fact] = []
        for rank, total in enumerate(totals):
            if total == -inf:  # excluded: forbidden, or not what the prefix forces
                continue
            fact = self._fact(
                step, rank, parent=parents[rank], token_id=ids[rank], log_prob=log_probs[rank], total=total
            )
            if set_aside[rank]:
                fact["becomes"] = len(self.complete)
                past = live.ids_BWT[0, parents[rank], 1:].tolist(), live.log_probs_BWT[0, parents[rank], 1:].tolist()
                row, values = [*past[0], ids[rank]], [*past[1], log_probs[rank]]
                self.complete.append(Hypothesis.from_row(row, values, self.config))
            if ids[rank] == EOS:
                fact["fate"] = "finished" if set_aside[rank] else "dropped"
            elif rank not in survivors:
                fact |= {"fate": "pruned", "margin": totals[survivors[-1]] - total}
            elif is_done:
                fact["fate"] = "stopped"
            else:
                fact |= {"fate": "kept", "becomes": survivors.index(rank)}
            facts.append(fact)
        filled = [index for index, total in enumerate(live.totals_BW[0].tolist()) if total > -inf]
        assert filled == list(range(len(filled))), "unfilled beams come last"
        rows, sums = live.ids_BWT[0, :, 1:].tolist(), live.totals_BW[0].tolist()
        self._write(step, [(rows[index], sums[index]) for index in filled], facts)

    def drew(self, step: int, before: Draws, after: Draws, log_probs_BWV: Tensor, chances_BWV: Tensor) -> None:
        """Record a step of sampling: the drawn ids and the most probable others."""
        assert len(before.sentence_B) == 1, "a search record covers one sentence"
        drawn, sums = after.ids_BWT[0, :, -1].tolist(), before.log_probs_BWT[0].double().sum(-1).tolist()
        going = [draw for draw, ended in enumerate(before.ended_BW[0].tolist()) if not ended]
        still = [draw for draw in going if drawn[draw] != EOS]
        facts: list[Fact] = []
        for parent, draw in enumerate(going):
            log_probs, chances = log_probs_BWV[0, draw], chances_BWV[0, draw]
            order = chances.sort(descending=True, stable=True).indices.tolist()
            shown = [(rank, id_) for rank, id_ in enumerate(order) if rank < ALTERNATIVES or id_ == drawn[draw]]
            for rank, token_id in shown:
                if chances[token_id] == 0:
                    continue
                log_prob = float(log_probs[token_id])
                fact = self._fact(
                    step, rank, parent=parent, token_id=token_id, log_prob=log_prob, total=sums[draw] + log_prob
                )
                fact |= {"chance": float(chances[token_id]), "draw": draw}
                if token_id != drawn[draw]:
                    fact["fate"] = "dropped"
                elif token_id == EOS:
                    fact |= {"fate": "finished", "becomes": draw}
                else:
                    fact |= {"fate": "kept", "becomes": still.index(draw)}
                facts.append(fact)
        rows = before.ids_BWT[0, :, 1:].tolist()
        self._write(step, [(rows[draw], sums[draw]) for draw in going], facts)

    def _fact(self, step: int, rank: int, *, parent: int, token_id: int, log_prob: float, total: float) -> Fact:
        return {
            "parent": parent,
            "id": token_id,
            "log_prob": log_prob,
            "total": total,
            "score": total / length_penalty(step, self.config),
            "rank": rank,
            "fate": "",
            "margin": None,
            "becomes": None,
        }

    def _write(self, step: int, live: list[tuple[list[int], float]], facts: list[Fact]) -> None:
        live_facts = [
            {"hypothesis": self._numbered + index, "tokens_so_far": ids, "total": total}
            for index, (ids, total) in enumerate(live)
        ]
        self._numbered += len(live_facts)
        self.steps.append({"step": step, "live": live_facts, "candidates": facts})

    def to_dict(self, returned: list[Hypothesis], tokenizers: Tokenizers) -> Fact:
        """The whole search as plain values. `returned` is its result: best first, or the draws in order."""
        if self.config.sample:
            self._stop_draws()
            results, order = returned, list(range(len(returned)))
        else:
            # Best first; ties go to the one that completed first, as in the search itself.
            order = sorted(range(len(self.complete)), key=lambda index: -self.complete[index].score)
            results = [self.complete[index] for index in order]
            assert results[: len(returned)] == returned, "this record belongs to another search"
        place = {before: after for after, before in enumerate(order)}
        for fact in self._became_results():
            fact["becomes"] = place[fact["becomes"]]
        return {
            "kind": "sample" if self.config.sample else "beam",
            "beam_size": self.config.beam_size,
            "top_beams": self.config.top_beams,
            "alpha": self.config.alpha,
            "penalty": self.config.penalty,
            "steps": self.steps,
            "results": [
                {
                    "ids": list(result.row),
                    "tokens": tokenizers.tokens(result.row),
                    "text": tokenizers.decode(result.ids),
                    "log_probs": list(result.log_probs),
                    "score": result.score,
                    "finished": result.finished,
                    "returned": number < len(returned),
                }
                for number, result in enumerate(results)
            ],
        }

    def _stop_draws(self) -> None:
        """Draws that were still growing in the last step hit the length limit. They are results too."""
        for fact in self.steps[-1]["candidates"]:
            if fact["fate"] == "kept":
                fact |= {"fate": "stopped", "becomes": fact["draw"]}

    def _became_results(self) -> Iterator[Fact]:
        for step in self.steps:
            for fact in step["candidates"]:
                if fact["fate"] in ("finished", "stopped") and fact["becomes"] is not None:
                    yield fact
