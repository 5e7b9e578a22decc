"""All constructions and how often each is drawn; greetings, requests, and clauses joined by "and"."""

from __future__ import annotations

from collections.abc import Callable

from vitrail.data.phrasebook.clauses import (
    action,
    description,
    existence,
    identity,
    journey,
    location,
    meal,
    movement,
    possession,
    whereabouts,
)
from vitrail.data.phrasebook.dice import Dice, Weighted
from vitrail.data.phrasebook.drawing import RELATIVES, SMALL, draw_indefinite, draw_object
from vitrail.data.phrasebook.nouns import DISHES, DRINKS
from vitrail.data.phrasebook.phrases import Phrase, noun_phrase, some
from vitrail.data.phrasebook.reference import reference
from vitrail.data.phrasebook.sentence import TENSES, Manner, Mood, Pair, Said, predicate
from vitrail.data.phrasebook.verbs import DONE_BY_THE_LIVING, Agreement, Person, Polarity

Construction = Callable[[Dice, Mood], Said]

FIXED = (
    Pair("merci", "thanks"),
    Pair("bonjour", "hello"),
    Pair("bonsoir", "good evening"),
    Pair("bonne nuit", "good night"),
    Pair("au revoir", "goodbye"),
    Pair("pardon", "sorry"),
    Pair("bonne chance", "good luck"),
    Pair("bienvenue", "welcome"),
    Pair("à demain", "see you tomorrow"),
    Pair("à bientôt", "see you soon"),
    Pair("bravo", "well done"),
    Pair("félicitations", "congratulations"),
    Pair("bon voyage", "have a good trip"),
    Pair("joyeux anniversaire", "happy birthday"),
)
_ANSWERS = (Pair("oui", "yes"), Pair("non", "no"))
_OPENINGS = (*_ANSWERS, Pair("pardon", "sorry"), Pair("bonjour", "hello"))
_ALONE = (*FIXED, *_ANSWERS)  # phrases that may be a whole sentence
_REFERRING = ("il ", "elle ", "ils ", "elles ")
_ONE = Agreement(Person.HE, False, False)
_ADDRESSED = (
    Phrase("monsieur", "sir", _ONE, ("sir",)),
    Phrase("madame", "madam", _ONE, ("madam",)),
    *(noun_phrase(person, "my", False) for person in RELATIVES),
    *(noun_phrase(person, "my", True) for person in RELATIVES if person.english in ("aunt", "uncle")),
)
_WHO = Phrase("qui", "who", _ONE)


def greeting(dice: Dice, mood: Mood) -> Said:
    """merci: thanks; addressed to somebody (merci, mon oncle); or two in a row (merci et au revoir)."""
    first = dice.pick(FIXED)
    mark = "!" if dice.chance(0.3) else ""
    if dice.chance(0.1):
        alone = dice.pick(_ALONE)
        return Said(Pair(alone.french + mark, alone.english + mark), ())
    last = dice.pick(FIXED)
    if last is not first and dice.chance(0.5):
        both = Pair(f"{first.french} et {last.french}{mark}", f"{first.english} and {last.english}{mark}")
        return Said(both, ((first.english, last.english),))
    whom = dice.pick(_ADDRESSED)
    pair = Pair(f"{first.french}, {whom.french}{mark}", f"{first.english}, {whom.english}{mark}")
    return Said(pair, ((first.english, *whom.content),))


def answer(dice: Dice, mood: Mood) -> Said:
    """oui, je suis étudiant: yes, i am a student."""
    opening = dice.pick(_OPENINGS)
    rest = dice.weigh(_CLAUSES)(dice, Mood.STATEMENT)
    pair = Pair(f"{opening.french}, {rest.pair.french}", f"{opening.english}, {rest.pair.english}")
    return rest._replace(pair=pair)


def request(dice: Dice, mood: Mood) -> Said:
    """deux pommes, s'il vous plaît: two apples, please."""
    if dice.chance(0.3):
        what = some(dice.pick((*DISHES, *DRINKS)), False)
    else:
        what = draw_indefinite(dice, dice.pick(SMALL), Polarity.YES)
    pair = Pair(f"{what.french}, s'il vous plaît", f"{what.english}, please")
    return Said(pair, (("please", *what.content),))


def who(dice: Dice, mood: Mood) -> Said:
    """qui a mangé la pomme?: who ate the apple?"""
    verb = dice.pick(DONE_BY_THE_LIVING)
    other = draw_object(dice, verb.objects, Polarity.YES)
    manner = Manner(dice.weigh(TENSES), Polarity.YES, Mood.STATEMENT)  # "who" keeps the word order of a statement
    pair = predicate(_WHO, verb, manner, Pair(other.french, other.english))
    return Said(Pair(f"{pair.french}?", f"{pair.english}?"), ((verb.english, *other.content),))


def joined(dice: Dice, clauses: int) -> Said:
    """Statements joined by "et" and "and"."""
    parts = [dice.weigh(_CLAUSES)(dice, Mood.STATEMENT)]
    while len(parts) < clauses:
        part = dice.weigh(_CLAUSES)(dice, Mood.STATEMENT)
        # After another clause, he, she and they would seem to refer to it; only `reference` does that.
        if not part.pair.french.startswith(_REFERRING):
            parts.append(part)
    return Said(
        Pair(" et ".join(part.pair.french for part in parts), " and ".join(part.pair.english for part in parts)),
        tuple(content for part in parts for content in part.contents),
        any(part.french_only for part in parts),
    )


def compound(dice: Dice, mood: Mood) -> Said:
    """je suis fatigué et le chien dort: i am tired and the dog sleeps."""
    return joined(dice, 2)


_CLAUSES: Weighted[Construction] = Weighted({
    identity: 2, description: 4, action: 5, movement: 3, journey: 2, possession: 2, meal: 2, location: 2
})  # fmt: skip
_CONSTRUCTIONS: Weighted[Construction] = Weighted(
    {
        reference: 65,
        action: 20,
        description: 9,
        compound: 8,
        movement: 7,
        identity: 5,
        possession: 4,
        meal: 4,
        journey: 4,
        location: 4,
        existence: 4,
        answer: 3,
        greeting: 4,
        request: 2,
        whereabouts: 2,
        who: 2,
    }
)
_MOODS = Weighted({Mood.STATEMENT: 8.0, Mood.QUESTION: 1.5, Mood.WHY: 0.8})


def draw(dice: Dice) -> tuple[str, Said]:
    """The name of a construction, and a sentence built with it."""
    construction = dice.weigh(_CONSTRUCTIONS)
    return construction.__name__, construction(dice, dice.weigh(_MOODS))
