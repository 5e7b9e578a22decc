"""Draw subjects, objects and places that plausibly go together."""

from __future__ import annotations

from typing import NamedTuple

from vitrail.data.phrasebook import french
from vitrail.data.phrasebook.adjectives import FITTING
from vitrail.data.phrasebook.dice import Dice, Weighted
from vitrail.data.phrasebook.nouns import FOODS, NOUNS, PATHS, PEOPLE, PLACES, THINGS, Kind, Noun
from vitrail.data.phrasebook.phrases import FRENCH_ONLY_PRONOUNS, PRONOUNS, Phrase, none_of, noun_phrase
from vitrail.data.phrasebook.sentence import Pair
from vitrail.data.phrasebook.verbs import Polarity

BY_KIND: dict[Kind, tuple[Noun, ...]] = {
    kind: tuple(noun for noun in NOUNS if noun.kind is kind) for kind in Kind if kind is not Kind.MASS
}
STRANGERS = tuple(noun for noun in PEOPLE if not noun.owned)
RELATIVES = tuple(noun for noun in PEOPLE if noun.owned)
SMALL = (*FOODS, *(noun for noun in THINGS if noun.english in ("vase", "toy", "lamp")))

_STRANGE = {"the": 5.0, "this": 1.0}
_PUBLIC = {"the": 10.0, "this": 2.0, "our": 2.0}
_OWN = {"the": 8.0, "this": 2.0, "my": 2.0, "your": 2.0, "our": 2.0, "their": 2.0}
_NEW = {"a": 4.0, "two": 1.0, "three": 1.0}


def _definite(noun: Noun) -> dict[str, float]:
    if noun.owned:
        return _OWN
    return _STRANGE if noun.kind is Kind.PERSON else _PUBLIC


DEFINITE = {noun: Weighted(_definite(noun)) for noun in NOUNS}
# "an uncle" and "some mothers" sound odd: relatives are always definite.
_ANY = {noun: Weighted(_definite(noun) | ({} if noun in RELATIVES else _NEW)) for noun in NOUNS}
_INDEFINITE = Weighted(_NEW)
_EVERY_PRONOUN = Weighted(
    {phrase: 8.0 if phrase.english in ("we", "you") else 6.0 for phrase in PRONOUNS}
    | dict.fromkeys(FRENCH_ONLY_PRONOUNS, 1.0)
)

_LANDMARKS = (*PATHS, *PLACES)
_ROOMS = tuple(noun for noun in _LANDMARKS if noun.inside)
_CONTAINERS = tuple(noun for noun in THINGS if noun.inside)
_SURFACES = tuple(noun for noun in THINGS if noun.english in ("table", "chair"))


class Where(NamedTuple):
    """Where something is."""

    pair: Pair
    content: tuple[str, ...]


def draw_pronoun(dice: Dice) -> Phrase:
    """je, vous, il, elle, nous, ils; now and then one that only French distinguishes."""
    return dice.weigh(_EVERY_PRONOUN)


def draw_definite(dice: Dice, noun: Noun, attribute: float = 0.0, plural: float = 0.35) -> Phrase:
    """the, this, my …: something the listener knows. `attribute` is the odds of an adjective."""
    adjective = dice.pick(FITTING[noun]) if dice.chance(attribute) else None
    return noun_phrase(noun, dice.weigh(DEFINITE[noun]), dice.chance(plural), adjective)


def draw_subject(dice: Dice, kinds: tuple[Kind, ...], pronoun: float = 0.4) -> Phrase:
    """Who acts: a pronoun with this probability if people can do it, otherwise a noun of one of the kinds."""
    if Kind.PERSON in kinds and dice.chance(pronoun):
        return draw_pronoun(dice)
    noun = dice.pick(BY_KIND[dice.pick(kinds)])
    return _counted(dice, noun, dice.weigh(_ANY[noun]), Polarity.YES)


def draw_object(dice: Dice, kinds: tuple[Kind, ...], polarity: Polarity) -> Phrase:
    """The object of an action."""
    noun = dice.pick(BY_KIND[dice.pick(kinds)])
    return _counted(dice, noun, dice.weigh(_ANY[noun]), polarity)


def draw_indefinite(dice: Dice, noun: Noun, polarity: Polarity) -> Phrase:
    """a, some, two, three: something new to the listener."""
    return _counted(dice, noun, dice.weigh(_INDEFINITE), polarity)


def _counted(dice: Dice, noun: Noun, determiner: str, polarity: Polarity) -> Phrase:
    plural = determiner in ("two", "three") or dice.chance(0.35)
    adjective = dice.pick(FITTING[noun]) if dice.chance(0.2) else None
    if determiner == "a" and polarity is not Polarity.YES:
        return none_of(noun, plural, adjective)
    return noun_phrase(noun, determiner, plural, adjective)


def draw_surroundings(dice: Dice) -> Where:
    """Where people and animals are: in a garden, near the bridge."""
    preposition = dice.pick(("in", "near", "behind", "in front of"))
    where = draw_definite(dice, dice.pick(_ROOMS if preposition == "in" else _LANDMARKS), attribute=0.1, plural=0.15)
    if preposition == "near":
        said = f"près {french.contracted('de', where.french)}"
    else:
        said = f"{_FRENCH_PREPOSITION[preposition]} {where.french}"
    return Where(Pair(said, f"{preposition} {where.english}"), (preposition, *where.content))


def draw_spot(dice: Dice) -> Where:
    """Where small things are: in a box, on the table."""
    preposition = dice.pick(("in", "in", "on"))
    where = draw_definite(
        dice, dice.pick(_CONTAINERS if preposition == "in" else _SURFACES), attribute=0.1, plural=0.15
    )
    said = f"{_FRENCH_PREPOSITION[preposition]} {where.french}"
    return Where(Pair(said, f"{preposition} {where.english}"), (preposition, *where.content))


_FRENCH_PREPOSITION = {"in": "dans", "on": "sur", "behind": "derrière", "in front of": "devant"}
