"""Noun phrases and pronouns in both languages at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from vitrail.data.phrasebook import english, french
from vitrail.data.phrasebook.adjectives import Adjective
from vitrail.data.phrasebook.nouns import Kind, Noun, Profession
from vitrail.data.phrasebook.verbs import Agreement, Person


@dataclass(frozen=True, eq=False, slots=True)
class Phrase:
    """Who or what a sentence is about. `content` are its content words, by their English names."""

    french: str
    english: str
    agreement: Agreement
    content: tuple[str, ...] = ()
    french_only: bool = False  # ambiguous in English, so it is only translated from French


PRONOUNS = (
    Phrase("je", "i", Agreement(Person.I, False, False)),
    Phrase("vous", "you", Agreement(Person.YOU, False, False)),
    Phrase("il", "he", Agreement(Person.HE, False, False)),
    Phrase("elle", "she", Agreement(Person.HE, True, False)),
    Phrase("nous", "we", Agreement(Person.WE, False, True)),
    Phrase("ils", "they", Agreement(Person.THEY, False, True)),
)
# English "they" becomes ils and "i" a man, so these two are translated from French only.
FRENCH_ONLY_PRONOUNS = (
    Phrase("je", "i", Agreement(Person.I, True, False), french_only=True),
    Phrase("elles", "they", Agreement(Person.THEY, True, True), french_only=True),
)


@cache
def noun_phrase(noun: Noun, determiner: str, plural: bool, adjective: Adjective | None = None) -> Phrase:
    """A noun with its determiner and an optional adjective."""
    return Phrase(
        french.noun_phrase(noun, determiner, plural=plural, adjective=adjective),
        english.noun_phrase(noun, determiner, plural=plural, adjective=adjective),
        Agreement(Person.THEY if plural else Person.HE, noun.feminine, plural),
        _content(noun, adjective),
    )


@cache
def none_of(noun: Noun, plural: bool, adjective: Adjective | None = None) -> Phrase:
    """What "a dog" and "some dogs" become after a negation: pas de chien, not a dog, not any dogs."""
    said = english.noun_phrase(noun, "any" if plural else "a", plural=plural, adjective=adjective)
    return Phrase(
        french.elide("de", french.noun_group(noun, plural=plural, adjective=adjective)),
        said,
        Agreement(Person.THEY if plural else Person.HE, noun.feminine, plural),
        _content(noun, adjective),
    )


@cache
def some(noun: Noun, negated: bool) -> Phrase:
    """A mass noun: je mange du pain, je ne mange pas de pain; in English just bread."""
    said = french.elide("de", noun.french) if negated else french.partitive(noun)
    return Phrase(said, noun.english, Agreement(Person.HE, noun.feminine, False), (noun.english,))


@cache
def profession(kind: Profession, feminine: bool, plural: bool) -> tuple[str, str]:
    """A profession in French and English: étudiantes, students; médecin, a doctor."""
    said = kind.feminine if feminine else kind.masculine
    if plural:
        return f"{said}s", f"{kind.english}s"
    return said, english.with_article(kind.english)


@cache
def pronoun_for(noun: Noun, plural: bool) -> Phrase:
    """The pronoun for a noun: il or elle by gender; he or she for people, it for anything else."""
    if plural:
        return Phrase("elles" if noun.feminine else "ils", "they", Agreement(Person.THEY, noun.feminine, True))
    person = "she" if noun.feminine else "he"
    said = person if noun.kind is Kind.PERSON else "it"
    return Phrase("elle" if noun.feminine else "il", said, Agreement(Person.HE, noun.feminine, False))


def _content(noun: Noun, adjective: Adjective | None) -> tuple[str, ...]:
    return (noun.english,) if adjective is None else (adjective.english, noun.english)
