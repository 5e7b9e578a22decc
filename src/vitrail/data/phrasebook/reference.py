"""The post's puzzle: what does "it" refer to?

"The animal didn't cross the street because it was too tired": the animal, so *il*. "… because it was too wide": the
street, so *elle*. One of the two nouns is alive and the other is not, and the adjective can be said of only one of
them. Each of them is the subject half of the time, so that position alone gives nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from vitrail.data.phrasebook import french
from vitrail.data.phrasebook.adjectives import TELLING
from vitrail.data.phrasebook.dice import Dice, Weighted
from vitrail.data.phrasebook.drawing import BY_KIND, DEFINITE, draw_pronoun
from vitrail.data.phrasebook.nouns import Kind, Noun
from vitrail.data.phrasebook.phrases import Phrase, noun_phrase, pronoun_for
from vitrail.data.phrasebook.sentence import TENSES, Manner, Mood, Pair, Said, predicate, quality
from vitrail.data.phrasebook.verbs import BE, DONE_BY_THE_LIVING, DONE_TO_THE_LIVING, Polarity, Tense, Verb

T = TypeVar("T")

_REASON_POLARITY = Weighted({Polarity.NOT: 5, Polarity.YES: 4, Polarity.NEVER: 1})


def _frames(verbs: tuple[Verb, ...]) -> Weighted[tuple[Verb, Kind, Kind]]:
    """Verbs with a class of subject and of object. Animals are favoured over people: both nouns can then be "it"."""
    return Weighted(
        {
            (verb, subject, other): (4.0 if Kind.ANIMAL in (subject, other) else 1.0)
            * (1.5 if Kind.PATH in (subject, other) else 1.0)
            for verb in verbs
            for subject in verb.subjects
            for other in verb.objects
        }
    )


def _by_rank(words: Iterable[T]) -> Weighted[T]:
    """Earlier words are drawn more often (Zipf), as in any language: a model learns on a few, then on all."""
    return Weighted({word: 1 / (rank + 2) for rank, word in enumerate(words)})


_NOUNS = {
    (kind, feminine): _by_rank(noun for noun in nouns if noun.feminine is feminine)
    for kind, nouns in BY_KIND.items()
    for feminine in (False, True)
}
_TELLING = {noun: _by_rank(adjectives) for noun, adjectives in TELLING.items()}
_ALIVE_ACTS = _frames(DONE_BY_THE_LIVING)
_LIFELESS_ACTS = _frames(DONE_TO_THE_LIVING)


def reference(dice: Dice, mood: Mood) -> Said:
    """l'animal n'a pas traversé la rue parce qu'elle était trop large: … because it was too wide."""
    verb, subject_kind, object_kind = dice.weigh(_ALIVE_ACTS if dice.chance(0.5) else _LIFELESS_ACTS)
    noun = dice.weigh(_NOUNS[subject_kind, dice.chance(0.5)])
    # Mostly of the other gender and the same number; otherwise grammar alone decides, and there is no puzzle.
    other_noun = dice.weigh(_NOUNS[object_kind, noun.feminine != dice.chance(0.9)])
    plural = dice.chance(0.4)
    other_plural = plural if dice.chance(0.9) else not plural
    subject = _draw_actor(dice, noun, plural)
    other = noun_phrase(other_noun, dice.weigh(DEFINITE[other_noun]), other_plural)
    if dice.chance(0.5):
        adjective = dice.weigh(_TELLING[noun])
        pronoun = subject if not subject.content else pronoun_for(noun, plural)
    else:
        adjective, pronoun = dice.weigh(_TELLING[other_noun]), pronoun_for(other_noun, other_plural)

    tense = dice.weigh(TENSES)
    because, polarity = _draw_reason(dice, verb)
    first = predicate(subject, verb, Manner(tense, polarity, Mood.STATEMENT), Pair(other.french, other.english))
    degree = "too" if (polarity is not Polarity.YES) != verb.hinders else dice.pick(("very", "so"))
    then = Manner(Tense.PAST if tense is Tense.PAST else Tense.PRESENT, Polarity.YES, Mood.STATEMENT)
    second = predicate(pronoun, BE, then, quality(adjective, pronoun, degree))
    contents = ((*subject.content, verb.english, *other.content, adjective.english),)
    asked = pronoun.french in ("il", "elle", "ils", "elles")
    return Said(
        _joined(first, second, because=because),
        contents,
        subject.french_only,
        Pair(pronoun.french, pronoun.english) if asked else None,
    )


def _draw_actor(dice: Dice, noun: Noun, plural: bool) -> Phrase:
    """The subject. A person is sometimes a pronoun: i didn't cross the street because it was too wide."""
    if noun.kind is Kind.PERSON and dice.chance(0.4):
        return draw_pronoun(dice)
    return noun_phrase(noun, dice.weigh(DEFINITE[noun]), plural)


def _draw_reason(dice: Dice, verb: Verb) -> tuple[bool, Polarity]:
    """Whether the second clause is a reason (because) or a surprise (but)."""
    if not verb.hinders and dice.chance(0.2):
        return False, Polarity.YES
    return True, dice.weigh(_REASON_POLARITY)


def _joined(first: Pair, second: Pair, *, because: bool) -> Pair:
    if because:
        return Pair(
            f"{first.french} parce {french.elide('que', second.french)}", f"{first.english} because {second.english}"
        )
    return Pair(f"{first.french} mais {second.french}", f"{first.english} but {second.english}")
