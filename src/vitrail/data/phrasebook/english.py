"""English grammar: a and an, does and did, contractions, and the inversion in questions."""

from __future__ import annotations

from functools import cache

from vitrail.data.phrasebook.adjectives import Adjective
from vitrail.data.phrasebook.nouns import Noun
from vitrail.data.phrasebook.verbs import BE, Person, Polarity, Tense, Verb

_PLURAL_DETERMINERS = {"a": "some", "this": "these"}


def with_article(words: str) -> str:
    """a or an: no word of the phrasebook has a silent h or a spoken y."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def noun_phrase(noun: Noun, determiner: str, *, plural: bool, adjective: Adjective | None) -> str:
    """A noun with its determiner; the adjective always precedes the noun."""
    name = noun.english_plural if plural else noun.english
    group = name if adjective is None else f"{adjective.english} {name}"
    if plural:
        return f"{_PLURAL_DETERMINERS.get(determiner, determiner)} {group}"
    return with_article(group) if determiner == "a" else f"{determiner} {group}"


@cache
def verb_group(verb: Verb, tense: Tense, polarity: Polarity, person: Person) -> str:
    """The verb with its auxiliaries and negation: crosses, didn't cross, is never going to cross."""
    auxiliary, main = auxiliary_and_main(verb, tense, person)
    if polarity is Polarity.NOT:
        words = f"{_negated(auxiliary)} {main}"
    elif auxiliary in ("do", "does", "did"):
        finite = _finite(verb, tense, person)
        words = f"never {finite}" if polarity is Polarity.NEVER else finite
    else:
        words = f"{auxiliary} never {main}" if polarity is Polarity.NEVER else f"{auxiliary} {main}"
    return f"{words} {verb.particle}".strip()


@cache
def auxiliary_and_main(verb: Verb, tense: Tense, person: Person) -> tuple[str, str]:
    """What moves before the subject in a question, and what stays: (did, cross), (is, going to cross), (was, "")."""
    if tense is Tense.FUTURE:
        return be(Tense.PRESENT, person), f"going to {verb.english}"
    if verb is BE:
        return be(tense, person), ""
    if tense is Tense.PAST:
        return "did", verb.english
    return "does" if person is Person.HE else "do", verb.english


def be(tense: Tense, person: Person) -> str:
    """am, is, are, was, were."""
    if tense is Tense.PAST:
        return "was" if person in (Person.I, Person.HE) else "were"
    return {Person.I: "am", Person.HE: "is"}.get(person, "are")


def existence(tense: Tense, person: Person, *, negated: bool) -> str:
    """The verb in "there is", "there weren't"."""
    return _negated(be(tense, person)) if negated else be(tense, person)


def _negated(auxiliary: str) -> str:
    return "am not" if auxiliary == "am" else f"{auxiliary}n't"


def _finite(verb: Verb, tense: Tense, person: Person) -> str:
    if tense is Tense.PAST:
        return verb.past
    return verb.third if person is Person.HE else verb.english


def clause(subject: str, group: str, rest: str) -> str:
    """Subject, verb and what follows."""
    return f"{subject} {group} {rest}" if rest else f"{subject} {group}"


def question(subject: str, person: Person, verb: Verb, tense: Tense, rest: str) -> str:
    """The auxiliary before its subject: did the dog cross the street?"""
    auxiliary, main = auxiliary_and_main(verb, tense, person)
    return f"{' '.join(filter(None, (auxiliary, subject, main, verb.particle, rest)))}?"
