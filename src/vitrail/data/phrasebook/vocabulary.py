"""The words of the phrasebook, language by language."""

from __future__ import annotations

from collections.abc import Iterator

from vitrail.data.phrasebook.adjectives import ADJECTIVES
from vitrail.data.phrasebook.constructions import FIXED
from vitrail.data.phrasebook.nouns import DISHES, DRINKS, LIVING, NOUNS, PROFESSIONS
from vitrail.data.phrasebook.verbs import BE, DRINK, GO, HAVE, INTRANSITIVE, TRANSITIVE, Person
from vitrail.text.words import split_words

_FRENCH_FUNCTION_WORDS = (
    "je j' vous il elle nous ils elles qui où pourquoi est-ce que qu' ne n' pas jamais y et mais parce oui non s'"
    " plaît monsieur madame le la l' les un une des de d' du au aux à ce cet cette ces mon ma mes votre vos notre"
    " nos leur leurs deux trois trop très si dans sur près derrière devant tous jours matin hier demain soir , ? !"
)
_ENGLISH_FUNCTION_WORDS = (
    "i you he she it we they who where why am is are was were isn't aren't wasn't weren't be do does did don't"
    " doesn't didn't not never going to there and but because yes no please sir madam the a an some any this these"
    " my your our their two three too very so in on near behind front of every day morning yesterday tomorrow"
    " tonight for , ? !"
)


def vocabulary() -> dict[str, frozenset[str]]:
    """Every word that a sentence of the phrasebook can have, by language: "fr" and "en"."""
    return {"fr": frozenset(_french()), "en": frozenset(_english())}


def _french() -> Iterator[str]:
    yield from _FRENCH_FUNCTION_WORDS.split()
    for fixed in FIXED:
        yield from split_words(fixed.french)
    for noun in (*NOUNS, *DISHES, *DRINKS):
        yield from (noun.french, noun.french_plural)
    for profession in PROFESSIONS:
        for form in (profession.masculine, profession.feminine):
            yield from (form, f"{form}s")
    for adjective in ADJECTIVES:
        yield from (adjective.french(feminine=f, plural=p) for f in (False, True) for p in (False, True))
        yield adjective.before_vowel
    for verb in (*TRANSITIVE, *INTRANSITIVE, DRINK, GO):
        # Only people say je, nous and vous.
        persons = tuple(Person) if set(verb.subjects) & set(LIVING) else (Person.HE, Person.THEY)
        yield from (verb.present[person] for person in persons)
        yield verb.infinitive
        endings = ("", "e", "s", "es") if verb.with_etre else ("",)
        yield from (verb.participle + ending for ending in endings)
    for verb in (BE, HAVE):
        yield from (verb.infinitive, *verb.present, *verb.imperfect)


def _english() -> Iterator[str]:
    yield from _ENGLISH_FUNCTION_WORDS.split()
    for fixed in FIXED:
        yield from split_words(fixed.english)
    for noun in (*NOUNS, *DISHES, *DRINKS):
        yield from (noun.english, noun.english_plural)
    for profession in PROFESSIONS:
        yield from (profession.english, f"{profession.english}s")
    yield from (adjective.english for adjective in ADJECTIVES)
    for verb in (*TRANSITIVE, *INTRANSITIVE, DRINK, GO, HAVE):
        yield from (verb.english, verb.third, verb.past)
        yield from verb.particle.split()
