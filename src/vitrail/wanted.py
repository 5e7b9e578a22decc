"""What a caller wants of every translation besides the search settings, as a model and a search understand it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vitrail.config import DecodeConfig
from vitrail.decode.rule import Rule
from vitrail.errors import DecodeError
from vitrail.glossary import Compiled, Glossary
from vitrail.runtime import Job
from vitrail.sentences import Reader, Sentence
from vitrail.text.restriction import Restriction
from vitrail.text.spelling import Spelling

GlossaryLike = Glossary | Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Wanted:
    """The beginning of every translation, its terms, the words it may have, and whether to align it."""

    start: tuple[int, ...] = ()
    align: bool = False
    glossary: Compiled | None = None
    rule: Rule | None = None

    @classmethod
    def of(
        cls,
        reader: Reader,
        spelling: Spelling,
        *,
        prefix: str = "",
        align: bool = False,
        glossary: GlossaryLike | None = None,
        restrict: Restriction | None = None,
    ) -> Wanted:
        """The same for one model."""
        if glossary is not None and not isinstance(glossary, Glossary):
            glossary = Glossary.of(glossary)
        return cls(
            tuple(reader.start(prefix)),
            align,
            Compiled(glossary, reader.tokenizers, spelling) if glossary is not None and glossary.entries else None,
            None if restrict is None else restrict.rule(spelling),
        )

    def job(self, sentences: Sequence[Sentence], config: DecodeConfig, forbidden: tuple[int, ...]) -> Job:
        """The search for the translations of the sentences that have a row."""
        with_rows = [(one, one.row) for one in sentences if one.row]
        terms = None if self.glossary is None else [self.glossary.terms(one.text, row) for one, row in with_rows]
        job = Job(
            [row for _, row in with_rows],
            config,
            forbidden,
            [self.start] * len(with_rows) if self.start else None,
            self.rule,
            terms,
        )
        if config.sample and job.has_terms:
            raise DecodeError(
                "translations that are drawn at random cannot be made to contain terms",
                where="the glossary",
                fix="leave the glossary out, or search: remove --sample (in Python, sample=False)",
            )
        return job

    def terms_missing(self, source: str, text: str) -> tuple[str, ...]:
        """The terms of a source that its translation lacks: they did not fit into its length limit."""
        return () if self.glossary is None else self.glossary.missing(source, text)


NOTHING = Wanted()
