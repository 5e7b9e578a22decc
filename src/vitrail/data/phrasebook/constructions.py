"""The constructions: each draws one meaning and says it in both languages.

A construction is a function of the dice and the mood; the tables at the end say how often each is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from vitrail.data.phrasebook import english, french
from vitrail.data.phrasebook.adjectives import ADJECTIVES, FITTING, OF_THE_LIVING, TELLING, Adjective
from vitrail.data.phrasebook.dice import Dice, Weighted
from vitrail.data.phrasebook.nouns import (
    ANIMALS,
    DISHES,
    DRINKS,
    FOODS,
    LIVING,
    NOUNS,
    PATHS,
    PEOPLE,
    PLACES,
    PROFESSIONS,
    THINGS,
    Kind,
    Noun,
)
from vitrail.data.phrasebook.phrases import (
    FRENCH_ONLY_PRONOUNS,
    PRONOUNS,
    Phrase,
    none_of,
    noun_phrase,
    profession,
    pronoun_for,
    some,
)
from vitrail.data.phrasebook.verbs import (
    BE,
    DONE_BY_THE_LIVING,
    DONE_TO_THE_LIVING,
    DRINK,
    EAT,
    GO,
    HAVE,
    INTRANSITIVE,
    TRANSITIVE,
    Person,
    Polarity,
    Tense,
    Verb,
)


class Mood(Enum):
    """What kind of sentence it is to be."""

    STATEMENT = "statement"
    QUESTION = "question"
    WHY = "why"


class Said(NamedTuple):
    """One meaning in both languages. `content` decides on which side of the split it falls."""

    french: str
    english: str
    content: tuple[tuple[str, ...], ...]  # one tuple of content words for each clause
    french_only: bool = False
    pronouns: tuple[str, str] | None = None  # French and English, where the sentence is a test of them


BY_KIND = {kind: tuple(noun for noun in NOUNS if noun.kind is kind) for kind in Kind if kind is not Kind.MASS}
DESTINATIONS = (*PLACES, *(noun for noun in PATHS if noun.english in ("park", "garden", "river")))
ROOMY = tuple(noun for noun in NOUNS if noun.inside)
LANDMARKS = (*PATHS, *PLACES)
POSSESSIONS = (*PEOPLE, *ANIMALS, *FOODS, *THINGS)

_ANY = Weighted({"the": 9, "a": 3, "this": 2, "my": 2, "your": 2, "our": 2, "their": 2, "two": 1, "three": 1})
_DEFINITE = Weighted({"the": 10, "this": 2, "my": 2, "your": 2, "our": 2, "their": 2})
_TENSE = Weighted({Tense.PRESENT: 4, Tense.PAST: 4, Tense.FUTURE: 3})
_POLARITY = Weighted({Polarity.YES: 6, Polarity.NOT: 4, Polarity.NEVER: 1})
_MOOD = Weighted({Mood.STATEMENT: 8, Mood.QUESTION: 1.5, Mood.WHY: 0.8})
_DEGREE = Weighted({"": 5, "too": 2, "very": 2, "so": 1})
_REASON = Weighted({"too": 5, "very": 2, "so": 2})
_FRENCH_DEGREE = {"too": "trop", "very": "très", "so": "si"}
_PREPOSITIONS = {"near": "près de", "behind": "derrière", "in front of": "devant", "in": "dans"}
_TIMES = {
    Tense.PRESENT: (("aujourd'hui", "today"), ("maintenant", "now")),
    Tense.PAST: (("hier", "yesterday"),),
    Tense.FUTURE: (("demain", "tomorrow"),),
}


def _predicate(
    subject: Phrase, verb: Verb, tense: Tense, polarity: Polarity, mood: Mood, rest: tuple[str, str]
) -> tuple[str, str]:
    """Subject, verb and rest as a statement or a question, in French and English."""
    group = french.verb_group(verb, tense, polarity, subject.person, subject.feminine, subject.plural)
    said = french.clause(subject.french, group, rest[0])
    if mood is Mood.STATEMENT:
        return said, english.clause(subject.english, english.verb_group(verb, tense, polarity, subject.person), rest[1])
    asked = english.question(subject.english, subject.person, verb, tense, rest[1])
    if mood is Mood.WHY:
        return f"pourquoi {french.question(said)}", f"why {asked}"
    return french.question(said), asked


def _draw_polarity(dice: Dice, mood: Mood) -> Polarity:
    return dice.weigh(_POLARITY) if mood is Mood.STATEMENT else Polarity.YES


def _draw_phrase(dice: Dice, noun: Noun, determiners: Weighted[str] = _ANY, adjective: float = 0.2) -> Phrase:
    determiner = dice.weigh(determiners)
    plural = determiner in ("two", "three") or dice.chance(0.35)
    attribute = dice.pick(FITTING[noun]) if dice.chance(adjective) else None
    return noun_phrase(noun, determiner, plural, attribute)


def _draw_pronoun(dice: Dice) -> Phrase:
    return dice.pick(FRENCH_ONLY_PRONOUNS) if dice.chance(0.05) else dice.pick(PRONOUNS)


def _draw_subject(dice: Dice, kinds: tuple[Kind, ...], pronoun: float = 0.4) -> Phrase:
    if Kind.PERSON in kinds and dice.chance(pronoun):
        return _draw_pronoun(dice)
    return _draw_phrase(dice, dice.pick(BY_KIND[dice.pick(kinds)]), adjective=0.1)


def _draw_object(dice: Dice, noun: Noun, polarity: Polarity, determiners: Weighted[str] = _ANY) -> Phrase:
    """A direct object: "a" and "some" change after a negation."""
    determiner = dice.weigh(determiners)
    plural = determiner in ("two", "three") or dice.chance(0.35)
    adjective = dice.pick(FITTING[noun]) if dice.chance(0.2) else None
    if determiner == "a" and polarity is not Polarity.YES:
        return none_of(noun, plural, adjective)
    return noun_phrase(noun, determiner, plural, adjective)


def _quality(adjective: Adjective, subject: Phrase, degree: str) -> tuple[str, str]:
    said = adjective.french(feminine=subject.feminine, plural=subject.plural)
    if not degree:
        return said, adjective.english
    return f"{_FRENCH_DEGREE[degree]} {said}", f"{degree} {adjective.english}"


def identity(dice: Dice, mood: Mood) -> Said:
    """je suis étudiant: i am a student."""
    subject = _draw_subject(dice, (Kind.PERSON,), pronoun=0.7)
    what = dice.pick(PROFESSIONS)
    said = profession(what, subject.feminine, subject.plural)
    pair = _predicate(subject, BE, dice.weigh(_TENSE), _draw_polarity(dice, mood), mood, said)
    # "je suis médecin" is the same for everyone; only a form of a woman's own is for French alone.
    french_only = subject.french_only and (subject.person is not Person.I or what.feminine != what.masculine)
    return Said(*pair, ((*subject.content, what.english),), french_only)


def description(dice: Dice, mood: Mood) -> Said:
    """la rue n'est pas très large: the street isn't very wide."""
    if dice.chance(0.35):
        subject, adjective = _draw_pronoun(dice), dice.pick(OF_THE_LIVING)
    else:
        noun = dice.pick(NOUNS)
        subject, adjective = _draw_phrase(dice, noun, adjective=0), dice.pick(FITTING[noun])
    degree = dice.weigh(_DEGREE) if adjective.gradable else ""
    polarity = _draw_polarity(dice, mood)
    pair = _predicate(subject, BE, dice.weigh(_TENSE), polarity, mood, _quality(adjective, subject, degree))
    same = adjective.feminine == adjective.masculine and subject.person is Person.I
    return Said(*pair, ((*subject.content, adjective.english),), subject.french_only and not same)


def action(dice: Dice, mood: Mood) -> Said:
    """le chien a traversé la grande rue: the dog crossed the big street."""
    verb = dice.pick(TRANSITIVE)
    polarity = _draw_polarity(dice, mood)
    subject = _draw_subject(dice, verb.subjects)
    thing = _draw_object(dice, dice.pick(BY_KIND[dice.pick(verb.objects)]), polarity)
    tense = dice.weigh(_TENSE)
    pair = _predicate(subject, verb, tense, polarity, mood, (thing.french, thing.english))
    content = (*subject.content, verb.english, *thing.content)
    return Said(*pair, (content,), _only_french(subject, verb, tense))


def movement(dice: Dice, mood: Mood) -> Said:
    """elles sont tombées hier: they fell yesterday."""
    verb = dice.pick(INTRANSITIVE)
    tense = dice.weigh(_TENSE)
    subject = _draw_subject(dice, verb.subjects)
    when = dice.pick(_TIMES[tense]) if dice.chance(0.4) else ("", "")
    pair = _predicate(subject, verb, tense, _draw_polarity(dice, mood), mood, when)
    return Said(*pair, ((*subject.content, verb.english),), _only_french(subject, verb, tense))


def journey(dice: Dice, mood: Mood) -> Said:
    """je vais au marché: i go to the market."""
    tense = dice.weigh(_TENSE)
    subject = _draw_subject(dice, LIVING, pronoun=0.5)
    where = _draw_phrase(dice, dice.pick(DESTINATIONS), _DEFINITE, adjective=0.1)
    rest = (french.contracted("à", where.french), where.english)
    pair = _predicate(subject, GO, tense, _draw_polarity(dice, mood), mood, rest)
    return Said(*pair, ((*subject.content, "go", *where.content),), _only_french(subject, GO, tense))


def possession(dice: Dice, mood: Mood) -> Said:
    """je n'ai pas de chien: i don't have a dog."""
    polarity = _draw_polarity(dice, mood)
    subject = _draw_subject(dice, (Kind.PERSON,), pronoun=0.6)
    thing = _draw_object(dice, dice.pick(POSSESSIONS), polarity, _OWNED)
    tense = dice.weigh(_TENSE)
    pair = _predicate(subject, HAVE, tense, polarity, mood, (thing.french, thing.english))
    return Said(*pair, ((*subject.content, "have", *thing.content),), _only_french(subject, HAVE, tense))


_OWNED = Weighted({"a": 6, "two": 1, "three": 1})


def meal(dice: Dice, mood: Mood) -> Said:
    """nous buvons de l'eau: we drink water."""
    verb, dishes = dice.pick(((EAT, DISHES), (DRINK, DRINKS)))
    noun = dice.pick(dishes)
    polarity = _draw_polarity(dice, mood)
    subject = _draw_subject(dice, LIVING, pronoun=0.6)
    what = (
        noun_phrase(noun, dice.weigh(_DEFINITE), False)
        if dice.chance(0.4)
        else some(noun, polarity is not Polarity.YES)
    )
    tense = dice.weigh(_TENSE)
    pair = _predicate(subject, verb, tense, polarity, mood, (what.french, what.english))
    return Said(*pair, ((*subject.content, verb.english, *what.content),), _only_french(subject, verb, tense))


def _only_french(subject: Phrase, verb: Verb, tense: Tense) -> bool:
    """Whether English has lost something: "je" hides its gender too, unless the participle shows it."""
    shows = verb.with_etre and tense is Tense.PAST
    return subject.french_only and (subject.person is not Person.I or shows)


def _draw_place(dice: Dice) -> tuple[str, str, tuple[str, ...]]:
    preposition = dice.pick(("in", "near", "behind", "in front of"))
    noun = dice.pick(ROOMY if preposition == "in" else LANDMARKS)
    where = _draw_phrase(dice, noun, _DEFINITE, adjective=0.1)
    said = _PREPOSITIONS[preposition]
    if preposition == "near":
        return f"près {french.contracted('de', where.french)}", f"near {where.english}", ("near", *where.content)
    return f"{said} {where.french}", f"{preposition} {where.english}", (preposition, *where.content)


def location(dice: Dice, mood: Mood) -> Said:
    """le chat est près du pont: the cat is near the bridge."""
    subject = _draw_subject(dice, LIVING)
    *rest, content = _draw_place(dice)
    pair = _predicate(subject, BE, dice.weigh(_TENSE), _draw_polarity(dice, mood), mood, (rest[0], rest[1]))
    french_only = subject.french_only and subject.person is not Person.I
    return Said(*pair, ((*subject.content, *content),), french_only)


def existence(dice: Dice, mood: Mood) -> Said:
    """il n'y a pas de chat dans le jardin: there isn't a cat in the garden."""
    polarity = Polarity.NOT if mood is Mood.STATEMENT and dice.chance(0.4) else Polarity.YES
    what = _draw_object(dice, dice.pick((*PEOPLE, *ANIMALS)), polarity, _OWNED)
    past = dice.chance(0.4)
    place_french, place_english, content = _draw_place(dice)
    there = "avait" if past else "a"
    verb = english.be(Tense.PAST if past else Tense.PRESENT, what.person)
    negation = polarity is Polarity.NOT
    said = f"il n'y {there} pas" if negation else f"il y {there}"
    said = f"{said} {what.french} {place_french}"
    if mood is Mood.STATEMENT:
        told = f"there {verb + 'n' + chr(39) + 't' if negation else verb} {what.english} {place_english}"
    else:
        said, told = french.question(said), f"{verb} there {what.english} {place_english}?"
        if mood is Mood.WHY:
            said, told = f"pourquoi {said}", f"why {told}"
    return Said(said, told, ((*what.content, *content),))


def who_or_where(dice: Dice, mood: Mood) -> Said:
    """où est le chat?: where is the cat? and qui a mangé la pomme?: who ate the apple?"""
    if dice.chance(0.5):
        subject = _draw_phrase(dice, dice.pick(NOUNS), _DEFINITE)
        tense = dice.pick((Tense.PRESENT, Tense.PAST))
        said = (BE.imperfect if tense is Tense.PAST else BE.present)[subject.person]
        told = english.be(tense, subject.person)
        return Said(f"où {said} {subject.french}?", f"where {told} {subject.english}?", (("where", *subject.content),))
    verb = dice.pick(DONE_BY_THE_LIVING)
    thing = _draw_phrase(dice, dice.pick(BY_KIND[dice.pick(verb.objects)]))
    who = Phrase("qui", "who", Person.HE, False, False, ())
    said, told = _predicate(who, verb, dice.weigh(_TENSE), Polarity.YES, Mood.STATEMENT, (thing.french, thing.english))
    return Said(f"{said}?", f"{told}?", ((verb.english, *thing.content),))


_PAIRINGS = tuple(
    (verb, subject, thing)
    for verb in (*DONE_BY_THE_LIVING, *DONE_TO_THE_LIVING)
    for subject in verb.subjects
    for thing in verb.objects
)
_FRAMES = Weighted(
    {pairing: (2 if Kind.ANIMAL in pairing else 1) * (2 if Kind.PATH in pairing else 1) for pairing in _PAIRINGS}
)


def reference(dice: Dice, mood: Mood) -> Said:
    """The post's puzzle: what "it" refers to is decided by what the adjective can be said of."""
    verb, subject_kind, object_kind = dice.weigh(_FRAMES)
    acting, other = dice.pick(BY_KIND[subject_kind]), dice.pick(BY_KIND[object_kind])
    plural = dice.chance(0.4)
    other_plural = plural if dice.chance(0.8) else not plural
    meant, meant_plural = (acting, plural) if dice.chance(0.5) else (other, other_plural)
    adjective = dice.pick(TELLING[meant])
    tense = dice.weigh(_TENSE)
    because = dice.chance(0.85)
    polarity = dice.weigh(_REASON_POLARITY) if because else Polarity.YES
    subject = noun_phrase(acting, dice.weigh(_DEFINITE), plural)
    thing = noun_phrase(other, dice.weigh(_DEFINITE), other_plural)
    pronoun = pronoun_for(meant, meant_plural)
    first = _predicate(subject, verb, tense, polarity, mood, (thing.french, thing.english))
    then = Tense.PAST if tense is Tense.PAST else Tense.PRESENT
    second = _predicate(
        pronoun, BE, then, Polarity.YES, Mood.STATEMENT, _quality(adjective, pronoun, dice.weigh(_REASON))
    )
    said = f"{first[0]} parce {french.elide('que', second[0])}" if because else f"{first[0]} mais {second[0]}"
    told = f"{first[1]} {'because' if because else 'but'} {second[1]}"
    content = (acting.english, verb.english, other.english, adjective.english)
    return Said(said, told, (content,), False, (pronoun.french, pronoun.english))


_REASON_POLARITY = Weighted({Polarity.NOT: 5, Polarity.YES: 4, Polarity.NEVER: 1})

FIXED = (
    ("merci", "thanks"),
    ("bonjour", "hello"),
    ("bonsoir", "good evening"),
    ("bonne nuit", "good night"),
    ("au revoir", "goodbye"),
    ("pardon", "sorry"),
    ("bonne chance", "good luck"),
    ("bienvenue", "welcome"),
    ("à demain", "see you tomorrow"),
)
_ANSWERS = (("oui", "yes"), ("non", "no"), ("pardon", "sorry"), ("bonjour", "hello"), ("merci", "thanks"))


def greeting(dice: Dice, mood: Mood) -> Said:
    """merci: thanks; also to somebody (merci, mon oncle) and before a sentence (oui, je suis étudiant)."""
    if dice.chance(0.5):
        said, told = dice.pick(_ANSWERS)
        rest = dice.weigh(_CLAUSES)(dice, Mood.STATEMENT)
        return rest._replace(french=f"{said}, {rest.french}", english=f"{told}, {rest.english}")
    said, told = dice.pick(FIXED)
    mark = "!" if dice.chance(0.3) else ""
    if dice.chance(0.25):
        return Said(said + mark, told + mark, ())
    whom = noun_phrase(dice.pick(PEOPLE), dice.pick(("my", "our")), dice.chance(0.3))
    return Said(f"{said}, {whom.french}{mark}", f"{told}, {whom.english}{mark}", ((told, *whom.content),))


def together(dice: Dice, clauses: int) -> Said:
    """Clauses joined by et, and."""
    parts = [dice.weigh(_CLAUSES)(dice, Mood.STATEMENT) for _ in range(clauses)]
    return Said(
        " et ".join(part.french for part in parts),
        " and ".join(part.english for part in parts),
        tuple(content for part in parts for content in part.content),
        any(part.french_only for part in parts),
    )


def compound(dice: Dice, mood: Mood) -> Said:
    """je suis fatigué et le chien dort: i am tired and the dog sleeps."""
    return together(dice, 2)


Construction = Callable[[Dice, Mood], Said]
_CLAUSES: Weighted[Construction] = Weighted({
    identity: 2, description: 4, action: 5, movement: 3, journey: 2, possession: 2, meal: 2, location: 2
})  # fmt: skip
CONSTRUCTIONS: Weighted[Construction] = Weighted(
    {
        greeting: 4,
        identity: 5,
        description: 10,
        action: 22,
        movement: 6,
        journey: 4,
        possession: 5,
        meal: 5,
        location: 4,
        existence: 4,
        who_or_where: 4,
        compound: 8,
        reference: 30,
    }
)


def draw(dice: Dice) -> tuple[str, Said]:
    """A construction's name and a sentence of it."""
    construction = dice.weigh(CONSTRUCTIONS)
    mood = Mood.STATEMENT if construction is reference else dice.weigh(_MOOD)
    return construction.__name__, construction(dice, mood)
