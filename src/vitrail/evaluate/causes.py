"""Why a translation is not the reference: did the search lose it, or does the model prefer something else?

A *search error*: the reference has a better score than what was found, so a wider search could have found it. A *model
error*: the model itself scores its own translation higher (Stahlberg and Byrne, "On NMT Search Errors and Model
Errors", EMNLP 2019). Either way there is a step at which the beginning of the reference left the beam.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch

from vitrail.config import DecodeConfig
from vitrail.decode import Hypothesis
from vitrail.errors import TextError
from vitrail.text.special import BOS
from vitrail.trace.search import SearchRecord
from vitrail.translator import Translator

Kind = Literal["right", "search", "model", "unknown"]
TIE = 1e-4  # scores closer than this are equal, as between engines


@dataclass(frozen=True)
class Step:
    """One token of the reference, after the reference's own beginning."""

    token: str
    log_prob: float
    rank: int  # among all tokens, from 0
    best: str  # the model's most probable token here
    best_log_prob: float
    is_live: bool  # whether the reference up to and including this token was still in the beam


@dataclass(frozen=True)
class Cause:
    """Why a translation is not the reference."""

    kind: Kind
    unknown: tuple[str, ...] = ()  # words of the reference that the model cannot write
    found: str = ""  # what the search found
    score: float | None = None  # of what was found, by the rule of the search
    reference_score: float | None = None
    left: int | None = None  # the step, from 1, at which the reference left the beam; None: it stayed to the end
    fate: str | None = None  # at that step: pruned, dropped, stopped, or unseen (not even among the candidates)
    margin: float | None = None  # how far its total was below the worst that was kept
    steps: tuple[Step, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The cause as plain values, for JSON."""
        return asdict(self)


def cause_of(
    translator: Translator, source: str, reference: str, *, to: str | None = None, decode: DecodeConfig | None = None
) -> Cause:
    """Search for the translation of a sentence, and follow the reference through the search."""
    config = (decode or translator.config).model_copy(update={"shortlist": False, "sample": False})
    try:
        wanted = translator.target_row(reference)
    except TextError:
        return Cause("unknown", unknown=tuple(translator.tokenizers.target.unknown(reference)))
    if strange := [number for number in wanted if number in translator.tokenizers.forbidden]:
        return Cause("unknown", unknown=tuple(translator.tokenizers.tokens(strange)))
    record = SearchRecord(config)
    row, (best, *_) = translator.search(source, to=to, decode=config, listener=record)
    log_probs_TV = _predictions(translator, row, wanted)
    chosen = [log_probs_TV[place, token_id].item() for place, token_id in enumerate(wanted)]
    judged = Hypothesis.from_row(wanted, chosen, config)
    left, fact = leaving(record.steps, wanted)
    names = translator.tokenizers.tokens(wanted)
    best_T = log_probs_TV.argmax(-1).tolist()
    steps = tuple(
        Step(
            token=names[place],
            log_prob=chosen[place],
            rank=int((log_probs_TV[place] > log_probs_TV[place, token_id]).sum()),
            best=translator.tokenizers.tokens([best_T[place]])[0],
            best_log_prob=float(log_probs_TV[place, best_T[place]]),
            is_live=left is None or place + 1 < left,
        )
        for place, token_id in enumerate(wanted)
    )
    return Cause(
        kind=_kind(best, judged),
        found=translator.tokenizers.decode(best.ids),
        score=best.score,
        reference_score=judged.score,
        left=left,
        fate=None if left is None else str(fact["fate"]) if fact is not None else "unseen",
        margin=fact["margin"] if fact is not None else None,
        steps=steps,
    )


def leaving(steps: Sequence[Mapping[str, Any]], wanted: Sequence[int]) -> tuple[int | None, Mapping[str, Any] | None]:
    """The step at which a row of ids left the beam, and the candidate that it was there, if it was one."""
    for place, token_id in enumerate(wanted):
        if place >= len(steps):
            return place + 1, None  # the search was over before
        step, before = steps[place], list(wanted[:place])
        fact = next(
            (
                each
                for each in step["candidates"]
                if each["id"] == token_id and step["live"][each["parent"]]["tokens_so_far"] == before
            ),
            None,
        )
        if fact is None or fact["fate"] not in ("kept", "finished"):
            return place + 1, fact
    return None, None


def _kind(found: Hypothesis, wanted: Hypothesis) -> Kind:
    if found.row == wanted.row:
        return "right"
    return "search" if wanted.score > found.score + TIE else "model"


def _predictions(translator: Translator, source: Sequence[int], target: Sequence[int]) -> torch.Tensor:
    """The log-probabilities of every token after each beginning of a given translation."""
    model = translator.model
    device = next(model.parameters()).device
    with torch.inference_mode():
        source_BS = torch.tensor([list(source)], device=device)
        input_BT = torch.tensor([[BOS, *target[:-1]]], device=device)
        log_probs_TV: torch.Tensor = model.log_probs(source_BS, input_BT)[0].double().cpu()
    return log_probs_TV
