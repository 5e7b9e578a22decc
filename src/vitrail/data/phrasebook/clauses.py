"""The simple constructions: one clause each, in the mood the caller chooses."""

from __future__ import annotations

from vitrail.data.phrasebook import english, french
from vitrail.data.phrasebook.adjectives import FITTING, OF_THE_LIVING
from vitrail.data.phrasebook.dice import Dice
from vitrail.data.phrasebook.drawing import (
    SMALL,
    STRANGERS,
    draw_definite,
    draw_indefinite,
    draw_object,
    draw_pronoun,
    draw_spot,
    draw_subject,
    draw_surroundings,
)
from vitrail.data.phrasebook.nouns import (
    ANIMALS,
    DISHES,
    DRINKS,
    FOODS,
    LIVING,
    NOUNS,
    PATHS,
    PLACES,
    PROFESSIONS,
    THINGS,
    Kind,
    Noun,
)
from vitrail.data.phrasebook.phrases import noun_phrase, profession, some
from vitrail.data.phrasebook.sentence import (
    DEGREES,
    NOTHING,
    Manner,
    Mood,
    Pair,
    Said,
    draw_manner,
    predicate,
    quality,
)
from vitrail.data.phrasebook.verbs import BE, DRINK, EAT, GO, HAVE, INTRANSITIVE, TRANSITIVE, Polarity, Tense, Verb

_DESTINATIONS: dict[Kind, tuple[Noun, ...]] = {
    Kind.PERSON: (*PLACES, *(noun for noun in PATHS if noun.english in ("park", "garden", "river"))),
    Kind.ANIMAL: tuple(noun for noun in (*PLACES, *PATHS) if noun.english in ("farm", "garden", "park", "river")),
}
_FED_TO_ANIMALS = ("bread", "meat", "water", "milk")
_TIMES = {
    Tense.PRESENT: (Pair("tous les jours", "every day"), Pair("le matin", "in the morning")),
    Tense.PAST: (Pair("hier", "yesterday"), Pair("ce matin", "this morning")),
    Tense.FUTURE: (Pair("demain", "tomorrow"), Pair("ce soir", "tonight")),
}


def identity(dice: Dice, mood: Mood) -> Said:
    """je suis étudiant: i am a student."""
    subject = draw_subject(dice, (Kind.PERSON,), pronoun=0.7)
    what = dice.pick(PROFESSIONS)
    said = profession(what, subject.agreement.feminine, subject.agreement.plural)
    pair = predicate(subject, BE, draw_manner(dice, mood, subject, habit=False), Pair(*said))
    return Said(pair, ((*subject.content, what.english),), subject.french_only)


def description(dice: Dice, mood: Mood) -> Said:
    """la rue n'est pas très large: the street isn't very wide."""
    if dice.chance(0.35):
        subject, adjective = draw_pronoun(dice), dice.pick(OF_THE_LIVING)
    else:
        noun = dice.pick(NOUNS)
        subject, adjective = draw_definite(dice, noun), dice.pick(FITTING[noun])
    degree = dice.weigh(DEGREES) if adjective.gradable else ""
    passing = adjective in OF_THE_LIVING and adjective.english != "young"  # size and colour do not change
    manner = draw_manner(dice, mood, subject, habit=passing)
    if manner.tense is Tense.FUTURE and not passing:
        manner = manner._replace(tense=Tense.PRESENT)
    pair = predicate(subject, BE, manner, quality(adjective, subject, degree))
    return Said(pair, ((*subject.content, adjective.english),), subject.french_only)


def action(dice: Dice, mood: Mood) -> Said:
    """le chien a traversé la grande rue: the dog crossed the big street."""
    verb = dice.pick(TRANSITIVE)
    subject = draw_subject(dice, verb.subjects)
    manner = draw_manner(dice, mood, subject, habit=True)
    other = draw_object(dice, verb.objects, manner.polarity)
    pair = predicate(subject, verb, manner, Pair(other.french, other.english))
    return Said(pair, ((*subject.content, verb.english, *other.content),), subject.french_only)


def movement(dice: Dice, mood: Mood) -> Said:
    """elles sont tombées hier: they fell yesterday."""
    verb = dice.pick(INTRANSITIVE)
    subject = draw_subject(dice, verb.subjects)
    manner = draw_manner(dice, mood, subject, habit=True)
    # Avoid "never … yesterday" and "doesn't … every day", which sound odd.
    timely = manner.polarity is Polarity.YES or (manner.polarity is Polarity.NOT and manner.tense is not Tense.PRESENT)
    when = dice.pick(_TIMES[manner.tense]) if timely and dice.chance(0.4) else NOTHING
    pair = predicate(subject, verb, manner, when)
    return Said(pair, ((*subject.content, verb.english),), subject.french_only)


def journey(dice: Dice, mood: Mood) -> Said:
    """je vais au musée: i go to the museum."""
    kind = Kind.ANIMAL if dice.chance(0.2) else Kind.PERSON
    subject = draw_subject(dice, (kind,), pronoun=0.5)
    where = draw_definite(dice, dice.pick(_DESTINATIONS[kind]), attribute=0.1, plural=0.15)
    rest = Pair(french.contracted("à", where.french), where.english)
    pair = predicate(subject, GO, draw_manner(dice, mood, subject, habit=True), rest)
    return Said(pair, ((*subject.content, GO.english, *where.content),), subject.french_only)


def possession(dice: Dice, mood: Mood) -> Said:
    """je n'ai pas de chien: i don't have a dog."""
    subject = draw_subject(dice, (Kind.PERSON,), pronoun=0.6)
    manner = draw_manner(dice, mood, subject, habit=False)
    thing = draw_indefinite(dice, dice.pick((*ANIMALS, *FOODS, *THINGS)), manner.polarity)
    pair = predicate(subject, HAVE, manner, Pair(thing.french, thing.english))
    return Said(pair, ((*subject.content, HAVE.english, *thing.content),), subject.french_only)


def meal(dice: Dice, mood: Mood) -> Said:
    """nous buvons de l'eau: we drink water."""
    verb, noun = _draw_dish(dice)
    subject = draw_subject(dice, LIVING if noun.english in _FED_TO_ANIMALS else (Kind.PERSON,), pronoun=0.5)
    manner = draw_manner(dice, mood, subject, habit=True)
    negated = manner.polarity is not Polarity.YES
    what = noun_phrase(noun, dice.pick(("the", "this")), False) if dice.chance(0.3) else some(noun, negated)
    pair = predicate(subject, verb, manner, Pair(what.french, what.english))
    return Said(pair, ((*subject.content, verb.english, *what.content),), subject.french_only)


def _draw_dish(dice: Dice) -> tuple[Verb, Noun]:
    return (EAT, dice.pick(DISHES)) if dice.chance(0.5) else (DRINK, dice.pick(DRINKS))


def location(dice: Dice, mood: Mood) -> Said:
    """le chat est près du pont: the cat is near the bridge."""
    if dice.chance(0.7):
        subject, where = draw_subject(dice, LIVING), draw_surroundings(dice)
    else:
        subject, where = draw_definite(dice, dice.pick(SMALL), attribute=0.15), draw_spot(dice)
    pair = predicate(subject, BE, draw_manner(dice, mood, subject, habit=False), where.pair)
    return Said(pair, ((*subject.content, *where.content),), subject.french_only)


def existence(dice: Dice, mood: Mood) -> Said:
    """il n'y a pas de chat dans le jardin: there isn't a cat in the garden."""
    past = dice.chance(0.5)
    negated = mood is Mood.STATEMENT and dice.chance(0.4)
    manner = Manner(Tense.PAST if past else Tense.PRESENT, Polarity.NOT if negated else Polarity.YES, mood)
    if dice.chance(0.6):
        noun, where = dice.pick((*STRANGERS, *ANIMALS)), draw_surroundings(dice)
    else:
        noun, where = dice.pick(SMALL), draw_spot(dice)
    what = draw_indefinite(dice, noun, manner.polarity)
    verb = "avait" if past else "a"
    there = f"il n'y {verb} pas" if negated else f"il y {verb}"
    said = f"{there} {what.french} {where.pair.french}"
    told = english.existence(manner.tense, what.agreement.person, negated=negated)
    content = (*what.content, *where.content)
    if mood is Mood.STATEMENT:
        return Said(Pair(said, f"there {told} {what.english} {where.pair.english}"), (content,))
    why = mood is Mood.WHY
    asked = f"{'why ' * why}{told} there {what.english} {where.pair.english}?"
    return Said(Pair(f"{'pourquoi ' * why}{french.question(said)}", asked), (content,))


def whereabouts(dice: Dice, mood: Mood) -> Said:
    """où est le chat?: where is the cat?"""
    subject = draw_definite(dice, dice.pick(NOUNS), attribute=0.15)
    past = dice.chance(0.5)
    person = subject.agreement.person
    said = (BE.imperfect if past else BE.present)[person]
    told = english.be(Tense.PAST if past else Tense.PRESENT, person)
    return Said(
        Pair(f"où {said} {subject.french}?", f"where {told} {subject.english}?"), (("where", *subject.content),)
    )
