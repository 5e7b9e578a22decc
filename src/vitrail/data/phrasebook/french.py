"""French grammar: elision, contraction, agreement, two-part negation, and questions with est-ce que."""

from __future__ import annotations

from functools import cache

from vitrail.data.phrasebook.adjectives import Adjective
from vitrail.data.phrasebook.nouns import Noun
from vitrail.data.phrasebook.verbs import BE, GO, HAVE, Agreement, Polarity, Tense, Verb

_VOWELS = frozenset("aeiouyàâéèêëîïôûù")
_ELIDED = {"je": "j'", "ne": "n'", "que": "qu'", "de": "d'", "le": "l'", "la": "l'"}
_SECOND_PART = {Polarity.NOT: "pas", Polarity.NEVER: "jamais"}
_NUMBERS = {"two": "deux", "three": "trois"}
# masculine, feminine, plural
_DETERMINERS = {
    "the": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "this": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "your": ("votre", "votre", "vos"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
_BEFORE_VOWEL = {"ce": "cet", "ma": "mon"}


def elide(word: str, rest: str) -> str:
    """Join two words, eliding the first before a vowel: je + ai is j'ai. Every h in the phrasebook is mute."""
    if starts_with_vowel(rest) and word in _ELIDED:
        return _ELIDED[word] + rest
    return f"{word} {rest}"


def starts_with_vowel(word: str) -> bool:
    """Whether words before it are elided: it starts with a vowel or a mute h."""
    return word[0] in _VOWELS or word[0] == "h"


def noun_group(noun: Noun, *, plural: bool, adjective: Adjective | None) -> str:
    """A noun with its adjective before or after it: grande rue, rue étroite."""
    name = noun.french_plural if plural else noun.french
    if adjective is None:
        return name
    form = adjective.french(feminine=noun.feminine, plural=plural)
    if not adjective.precedes:
        return f"{name} {form}"
    if not plural and not noun.feminine and starts_with_vowel(name):
        form = adjective.before_vowel
    return f"{form} {name}"


def noun_phrase(noun: Noun, determiner: str, *, plural: bool, adjective: Adjective | None) -> str:
    """A noun with its determiner: l'animal, cette rue étroite, mon école, de grands chiens."""
    group = noun_group(noun, plural=plural, adjective=adjective)
    if determiner in _NUMBERS:
        return f"{_NUMBERS[determiner]} {group}"
    if plural:
        many = _DETERMINERS[determiner][2]
        if many == "des" and adjective is not None and adjective.precedes:
            return elide("de", group)  # des becomes de before an adjective
        return f"{many} {group}"
    one = _DETERMINERS[determiner][noun.feminine]
    if one in _BEFORE_VOWEL and starts_with_vowel(group):
        one = _BEFORE_VOWEL[one]
    return elide(one, group)


def contracted(preposition: str, phrase: str) -> str:
    """à or de contracted with what follows: au parc, aux chiens, du pont, à l'école; d'une rue."""
    short = {"à": ("au", "aux"), "de": ("du", "des")}[preposition]
    first, _, rest = phrase.partition(" ")
    if first in ("le", "les"):
        return f"{short[first == 'les']} {rest}"
    return elide(preposition, phrase)


def partitive(noun: Noun) -> str:
    """The partitive of a mass noun: du pain, de la viande, de l'eau."""
    return contracted("de", noun_phrase(noun, "the", plural=False, adjective=None))


@cache
def verb_group(verb: Verb, tense: Tense, polarity: Polarity, subject: Agreement) -> str:
    """The verb, its auxiliary and negation: traverse, n'a pas traversé, ne va jamais traverser, sont tombées."""
    finite, after = _parts(verb, tense, subject)
    if polarity is not Polarity.YES:
        finite = f"{elide('ne', finite)} {_SECOND_PART[polarity]}"
    return f"{finite} {after}" if after else finite


def _parts(verb: Verb, tense: Tense, subject: Agreement) -> tuple[str, str]:
    """The finite verb, and the participle or infinitive that follows the negation."""
    if tense is Tense.PRESENT:
        return verb.present[subject.person], ""
    if tense is Tense.FUTURE:
        return GO.present[subject.person], verb.infinitive
    if verb.imperfect:
        return verb.imperfect[subject.person], ""
    if verb.with_etre:
        return BE.present[subject.person], verb.participle + "e" * subject.feminine + "s" * subject.plural
    return HAVE.present[subject.person], verb.participle


def clause(subject: str, group: str, rest: str) -> str:
    """Subject, verb and what follows, in the only word order the phrasebook needs."""
    words = elide(subject, group)
    return f"{words} {rest}" if rest else words


def question(statement: str) -> str:
    """The statement as a question: est-ce que … ?"""
    return f"est-ce {elide('que', statement)}?"
