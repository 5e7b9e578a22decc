"""The nouns: both languages, the French gender, and the class that decides which verbs and adjectives fit.

Every countable noun has a distinct plural in both languages, and none has two translations.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a noun stands for. People are he or she; everything else is it."""

    PERSON = "person"
    ANIMAL = "animal"
    PATH = "path"  # can be crossed
    PLACE = "place"  # can be visited
    FOOD = "food"  # countable food
    THING = "thing"  # can be carried
    MASS = "mass"  # uncountable food and drink


LIVING = (Kind.PERSON, Kind.ANIMAL)


@dataclass(frozen=True, eq=False, slots=True)
class Noun:
    """One noun; `adjectives` are the English names of those that fit it and similar nouns only."""

    kind: Kind
    feminine: bool
    french: str
    french_plural: str
    english: str
    english_plural: str
    adjectives: frozenset[str]
    inside: bool  # "in" can precede it
    owned: bool  # "my" can precede it


@dataclass(frozen=True, eq=False, slots=True)
class Profession:
    """A profession; French uses no article, and separate forms for women and men."""

    english: str
    masculine: str
    feminine: str


_PLURALS = {"man": "men", "woman": "women", "box": "boxes", "church": "churches", "sandwich": "sandwiches"}


def _noun(kind: Kind, gender: str, french: str, english: str, adjectives: str = "", *, inside: bool = False) -> Noun:
    return Noun(
        kind,
        gender == "f",
        french,
        french if kind is Kind.MASS else french_plural(french),
        english,
        english if kind is Kind.MASS else _PLURALS.get(english, english + "s"),
        frozenset(adjectives.split()),
        inside,
        # "ma femme" is my wife and "ma fille" my daughter, so these four never take a possessive.
        kind not in (Kind.PATH, Kind.PLACE) and english not in ("man", "woman", "boy", "girl"),
    )


def french_plural(word: str) -> str:
    """The regular plural of a masculine or feminine word: chien-s, cheval → chevaux, oiseau-x."""
    if word.endswith(("s", "x")):
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith("eau") else "s")


PEOPLE = tuple(
    _noun(Kind.PERSON, gender, french, english, adjectives)
    for gender, french, english, adjectives in (
        # "le beau père", "la petite fille", "la vieille fille" mean something else, so adjectives are chosen by hand.
        ("m", "homme", "man", "old"),
        ("m", "garçon", "boy", "small"),
        ("m", "roi", "king", "old small"),
        ("m", "oncle", "uncle", "old"),
        ("m", "père", "father", ""),
        ("f", "femme", "woman", "old beautiful"),
        ("f", "fille", "girl", "small"),
        ("f", "reine", "queen", "old beautiful small"),
        ("f", "tante", "aunt", "old"),
        ("f", "mère", "mother", ""),
    )
)
ANIMALS = tuple(
    _noun(Kind.ANIMAL, gender, french, english)
    for gender, french, english in (
        ("m", "animal", "animal"),
        ("m", "chien", "dog"),
        ("m", "chat", "cat"),
        ("m", "cheval", "horse"),
        ("m", "oiseau", "bird"),
        ("m", "âne", "donkey"),
        ("f", "vache", "cow"),
        ("f", "chèvre", "goat"),
        ("f", "tortue", "turtle"),
        ("f", "poule", "hen"),
        ("f", "grenouille", "frog"),
        ("f", "girafe", "giraffe"),
    )
)
PATHS = (
    _noun(Kind.PATH, "m", "pont", "bridge", "wide narrow long crowded slippery"),
    _noun(Kind.PATH, "m", "chemin", "path", "wide narrow long steep slippery dark"),
    _noun(Kind.PATH, "m", "champ", "field", "wide narrow long", inside=True),
    _noun(Kind.PATH, "m", "jardin", "garden", "wide narrow long crowded dark", inside=True),
    _noun(Kind.PATH, "m", "parc", "park", "wide crowded dark", inside=True),
    _noun(Kind.PATH, "m", "tunnel", "tunnel", "wide narrow long crowded dark deep", inside=True),
    _noun(Kind.PATH, "f", "rue", "street", "wide narrow long steep crowded slippery dark", inside=True),
    _noun(Kind.PATH, "f", "route", "road", "wide narrow long steep crowded slippery dark"),
    _noun(Kind.PATH, "f", "rivière", "river", "wide narrow long deep", inside=True),
    _noun(Kind.PATH, "f", "forêt", "forest", "wide dark deep", inside=True),
    _noun(Kind.PATH, "f", "place", "square", "wide narrow crowded slippery dark"),
    _noun(Kind.PATH, "f", "avenue", "avenue", "wide narrow long steep crowded dark"),
)
PLACES = (
    _noun(Kind.PLACE, "m", "hôtel", "hotel", "crowded dark", inside=True),
    _noun(Kind.PLACE, "m", "hôpital", "hospital", "crowded dark", inside=True),
    _noun(Kind.PLACE, "m", "musée", "museum", "crowded dark", inside=True),
    _noun(Kind.PLACE, "m", "château", "castle", "crowded dark", inside=True),
    _noun(Kind.PLACE, "f", "école", "school", "crowded dark", inside=True),
    _noun(Kind.PLACE, "f", "gare", "station", "crowded dark", inside=True),
    _noun(Kind.PLACE, "f", "église", "church", "crowded dark", inside=True),
    _noun(Kind.PLACE, "f", "ferme", "farm", "dark"),
)
FOODS = (
    _noun(Kind.FOOD, "m", "gâteau", "cake", "hard burnt"),
    _noun(Kind.FOOD, "m", "fromage", "cheese", "salty bitter spicy hard"),
    _noun(Kind.FOOD, "m", "melon", "melon", "bitter hard"),
    _noun(Kind.FOOD, "m", "sandwich", "sandwich", "salty spicy burnt"),
    _noun(Kind.FOOD, "m", "biscuit", "biscuit", "salty hard burnt"),
    _noun(Kind.FOOD, "f", "pomme", "apple", "bitter hard"),
    _noun(Kind.FOOD, "f", "soupe", "soup", "salty bitter spicy"),
    _noun(Kind.FOOD, "f", "salade", "salad", "salty bitter spicy"),
    _noun(Kind.FOOD, "f", "carotte", "carrot", "bitter hard burnt"),
    _noun(Kind.FOOD, "f", "pizza", "pizza", "salty spicy hard burnt"),
)
THINGS = (
    _noun(Kind.THING, "m", "sac", "bag", "bulky empty", inside=True),
    _noun(Kind.THING, "m", "panier", "basket", "bulky fragile empty", inside=True),
    _noun(Kind.THING, "m", "vase", "vase", "bulky fragile empty"),
    _noun(Kind.THING, "m", "jouet", "toy", "bulky fragile rusty"),
    _noun(Kind.THING, "m", "miroir", "mirror", "bulky fragile"),
    _noun(Kind.THING, "f", "table", "table", "bulky fragile rusty"),
    _noun(Kind.THING, "f", "boîte", "box", "bulky fragile rusty empty", inside=True),
    _noun(Kind.THING, "f", "chaise", "chair", "bulky fragile rusty"),
    _noun(Kind.THING, "f", "lampe", "lamp", "bulky fragile rusty"),
    _noun(Kind.THING, "f", "valise", "suitcase", "bulky empty", inside=True),
)
DISHES = (
    _noun(Kind.MASS, "m", "pain", "bread"),
    _noun(Kind.MASS, "f", "viande", "meat"),
    _noun(Kind.MASS, "m", "riz", "rice"),
    _noun(Kind.MASS, "f", "confiture", "jam"),
)
DRINKS = (
    _noun(Kind.MASS, "f", "eau", "water"),
    _noun(Kind.MASS, "m", "lait", "milk"),
    _noun(Kind.MASS, "m", "café", "coffee"),
    _noun(Kind.MASS, "f", "limonade", "lemonade"),
)
NOUNS = (*PEOPLE, *ANIMALS, *PATHS, *PLACES, *FOODS, *THINGS)  # countable

PROFESSIONS = tuple(
    Profession(english, masculine, feminine)
    for english, masculine, feminine in (
        ("student", "étudiant", "étudiante"),
        ("doctor", "médecin", "médecin"),
        ("artist", "artiste", "artiste"),
        ("pilot", "pilote", "pilote"),
        ("journalist", "journaliste", "journaliste"),
        ("nurse", "infirmier", "infirmière"),
        ("singer", "chanteur", "chanteuse"),
        ("baker", "boulanger", "boulangère"),
    )
)
