"""What else could stand here? The most probable tokens at one position, each with the translation that it leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

from vitrail.errors import DecodeError
from vitrail.runtime import Job, Runtime
from vitrail.text import EOS, Tokenizers

if TYPE_CHECKING:
    from vitrail.decode import Hypothesis

COUNT = 5  # alternatives at a position, if nobody asks for more


@dataclass(frozen=True)
class Option:
    """A token that could stand at a position, and the best translation that has it there."""

    token: str
    probability: float  # of the token, given the source and what stands before it
    text: str
    tokens: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class Alternatives:
    """A translation, and what could stand at one of its tokens: `tokens[at]`, or `<eos>` behind them."""

    source: str
    text: str
    tokens: tuple[str, ...]
    at: int
    options: tuple[Option, ...]  # the most probable first

    @classmethod
    def of_ids(
        cls, source: str, row: Sequence[int], at: int, found: Sequence[Possible], tokenizers: Tokenizers
    ) -> Alternatives:
        """What could stand at a position of a translation, which is a row of ids."""
        return cls(
            source,
            tokenizers.decode(row),
            tuple(tokenizers.tokens([number for number in row if number != EOS])),
            at,
            tuple(
                Option(
                    tokenizers.tokens([one.token_id])[0],
                    one.probability,
                    tokenizers.decode(one.best.ids),
                    tuple(tokenizers.tokens(one.best.ids)),
                    one.best.score,
                )
                for one in found
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of plain values, for JSON."""
        options = [{**vars(option), "tokens": list(option.tokens)} for option in self.options]
        return {
            "source": self.source,
            "text": self.text,
            "tokens": list(self.tokens),
            "at": self.at,
            "options": options,
        }


class Possible(NamedTuple):
    """An id that could stand at a position."""

    token_id: int
    probability: float
    best: Hypothesis  # the best translation that begins like the given one and goes on with it


def possible_at(
    runtime: Runtime, job: Job, given: Sequence[Sequence[int]], at: int, count: int
) -> list[list[Possible]]:
    """What could stand at a position of given translations of the job's rows: ids, with EOS at the end if they end.

    All searches are one job. `job.prefixes` has no effect: what stands before the position is kept as it is. There is
    no coverage penalty, so that an option that ends here compares with the others.
    """
    for number, row in enumerate(given, start=1):
        if not 0 <= at < len(row):
            raise DecodeError(
                f"the translation has {len(row)} tokens, its end included, but number {at + 1} was asked for",
                where=f"sentence {number}",
                fix=f"choose a token from 1 to {len(row)} (in Python, at= counts from 0)",
            )
    beginnings = [tuple(row[:at]) for row in given]
    likely = runtime.likely_next(job.rows, beginnings, count, forbidden=job.forbidden)
    ends, grows = [
        [(index, one.token_id) for index, ones in enumerate(likely) for one in ones if (one.token_id == EOS) is is_end]
        for is_end in (True, False)
    ]
    ended = runtime.score(
        [job.rows[index] for index, _ in ends], [(*beginnings[index], EOS) for index, _ in ends], job.config
    )
    config = job.config.model_copy(update={"sample": False, "top_beams": 1, "coverage": 0.0})
    grown = runtime.search(
        replace(
            job,
            rows=[job.rows[index] for index, _ in grows],
            prefixes=[(*beginnings[index], token_id) for index, token_id in grows],
            config=config,
        )
    )
    best = dict(zip(ends, ended, strict=True)) | dict(zip(grows, (found for (found,) in grown), strict=True))
    return [
        [Possible(one.token_id, exp(one.log_prob), best[index, one.token_id]) for one in ones]
        for index, ones in enumerate(likely)
    ]
