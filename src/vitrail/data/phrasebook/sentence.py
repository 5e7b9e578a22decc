"""A subject and its predicate as a statement or a question, in both languages at once."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from vitrail.data.phrasebook import english, french
from vitrail.data.phrasebook.adjectives import Adjective
from vitrail.data.phrasebook.dice import Dice, Weighted
from vitrail.data.phrasebook.phrases import Phrase
from vitrail.data.phrasebook.verbs import Person, Polarity, Tense, Verb


class Mood(IntEnum):
    """The kind of sentence."""

    STATEMENT = 0
    QUESTION = 1
    WHY = 2


class Manner(NamedTuple):
    """Everything that can vary while the content words stay the same."""

    tense: Tense
    polarity: Polarity
    mood: Mood


class Pair(NamedTuple):
    """The same thing in both languages."""

    french: str
    english: str


class Said(NamedTuple):
    """A whole sentence in both languages. `contents` decide on which side of the split it falls."""

    pair: Pair
    contents: tuple[tuple[str, ...], ...]  # the content words of each clause, by their English names
    french_only: bool = False  # the English lacks information that the French needs
    pronouns: Pair | None = None  # set if the reader must work out what a pronoun refers to


NOTHING = Pair("", "")

TENSES = Weighted({Tense.PRESENT: 4, Tense.PAST: 4, Tense.FUTURE: 3})
# In the present, nous and vous have verb forms of their own; drawn more often, so that these are not rare.
_MOSTLY_PRESENT = Weighted({Tense.PRESENT: 5, Tense.PAST: 2, Tense.FUTURE: 2})
_OF_HABITS = Weighted({Polarity.YES: 6, Polarity.NOT: 4, Polarity.NEVER: 1})
_OF_STATES = Weighted({Polarity.YES: 6, Polarity.NOT: 4})
DEGREES = Weighted({"": 5, "too": 2, "very": 2, "so": 1})
_FRENCH_DEGREE = {"too": "trop", "very": "très", "so": "si"}


def draw_manner(dice: Dice, mood: Mood, subject: Phrase, *, habit: bool) -> Manner:
    """A tense and a polarity. Only statements are negated, and only habits take "never"."""
    polarity = Polarity.YES
    if mood is Mood.STATEMENT:
        polarity = dice.weigh(_OF_HABITS if habit else _OF_STATES)
    present = subject.agreement.person in (Person.WE, Person.YOU)
    return Manner(dice.weigh(_MOSTLY_PRESENT if present else TENSES), polarity, mood)


def predicate(subject: Phrase, verb: Verb, manner: Manner, rest: Pair) -> Pair:
    """A statement that the subject does something, or a question whether or why."""
    tense, polarity, mood = manner
    person = subject.agreement.person
    group = french.verb_group(verb, tense, polarity, subject.agreement)
    said = french.clause(subject.french, group, rest.french)
    if mood is Mood.STATEMENT:
        told = english.clause(subject.english, english.verb_group(verb, tense, polarity, person), rest.english)
        return Pair(said, told)
    asked = english.question(subject.english, person, verb, tense, rest.english)
    if mood is Mood.WHY:
        return Pair(f"pourquoi {french.question(said)}", f"why {asked}")
    return Pair(french.question(said), asked)


def quality(adjective: Adjective, subject: Phrase, degree: str) -> Pair:
    """An adjective that agrees with the subject: trop fatiguée, too tired."""
    said = adjective.french(feminine=subject.agreement.feminine, plural=subject.agreement.plural)
    if not degree:
        return Pair(said, adjective.english)
    return Pair(f"{_FRENCH_DEGREE[degree]} {said}", f"{degree} {adjective.english}")
