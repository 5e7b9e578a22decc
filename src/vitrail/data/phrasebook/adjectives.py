"""The adjectives: their French forms, whether they precede the noun, and which nouns they can describe."""

from __future__ import annotations

from dataclasses import dataclass

from vitrail.data.phrasebook.nouns import LIVING, NOUNS, Kind, Noun


@dataclass(frozen=True, eq=False, slots=True)
class Adjective:
    """One adjective. A `telling` one shows which of two nouns of different classes is meant."""

    english: str
    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    before_vowel: str  # the masculine singular before a vowel: bel, nouvel, vieil
    precedes: bool  # placed before its noun in French
    gradable: bool  # can be combined with too, very and so
    telling: bool
    kinds: frozenset[Kind]  # classes of nouns it fits; a noun may also list it itself

    def fits(self, noun: Noun) -> bool:
        """Whether it can sensibly describe the noun."""
        return noun.kind in self.kinds or self.english in noun.adjectives

    def french(self, *, feminine: bool, plural: bool) -> str:
        """The form with this gender and number."""
        if plural:
            return self.feminine_plural if feminine else self.masculine_plural
        return self.feminine if feminine else self.masculine


def _feminine(masculine: str) -> str:
    """The regular feminine: étroit-e, large, heureux → heureuse, cher → chère."""
    if masculine.endswith("e"):
        return masculine
    if masculine.endswith("eux"):
        return masculine[:-1] + "se"
    if masculine.endswith("er"):
        return masculine[:-2] + "ère"
    return masculine + "e"


def _adjective(
    french: str,
    english: str,
    kinds: tuple[Kind, ...] = (),
    *,
    feminine: str | None = None,
    before_vowel: str | None = None,
    precedes: bool = False,
    gradable: bool = True,
    telling: bool = False,
) -> Adjective:
    feminine = feminine or _feminine(french)
    plural = french if french.endswith(("s", "x")) else french + ("x" if french.endswith("eau") else "s")
    return Adjective(
        english,
        french,
        feminine,
        plural,
        feminine + "s",
        before_vowel or french,
        precedes,
        gradable,
        telling,
        frozenset(kinds),
    )


# These describe only living things, so next to a path, a place, food or a thing they are unambiguous.
OF_THE_LIVING = tuple(
    _adjective(french, english, LIVING, precedes=english == "young", telling=True)
    for french, english in (
        ("fatigué", "tired"),
        ("malade", "sick"),
        ("fâché", "angry"),
        ("heureux", "happy"),
        ("affamé", "hungry"),
        ("timide", "shy"),
        ("nerveux", "nervous"),
        ("paresseux", "lazy"),
        ("assoiffé", "thirsty"),
        ("courageux", "brave"),
        ("jeune", "young"),
    )
)

# These fit only the nouns that list them, and nothing alive.
OF_THINGS = (
    _adjective("large", "wide", telling=True),
    _adjective("étroit", "narrow", telling=True),
    _adjective("long", "long", feminine="longue", precedes=True, telling=True),
    _adjective("bondé", "crowded", telling=True),
    _adjective("raide", "steep", telling=True),
    _adjective("glissant", "slippery", telling=True),
    _adjective("sombre", "dark", telling=True),
    _adjective("profond", "deep", telling=True),
    _adjective("salé", "salty", telling=True),
    _adjective("brûlé", "burnt", telling=True),
    _adjective("amer", "bitter", telling=True),
    _adjective("épicé", "spicy", telling=True),
    _adjective("dur", "hard", telling=True),
    _adjective("fragile", "fragile", telling=True),
    _adjective("encombrant", "bulky", telling=True),
    _adjective("rouillé", "rusty", telling=True),
    _adjective("vide", "empty", telling=True),
)

# These fit, or might fit, nouns of several classes (a sweet cat, a heavy cow), so they never settle a pronoun.
OF_MANY = (
    _adjective("grand", "big", (Kind.ANIMAL, Kind.PATH, Kind.PLACE, Kind.THING), precedes=True),
    _adjective("petit", "small", (Kind.ANIMAL, Kind.PATH, Kind.PLACE, Kind.FOOD, Kind.THING), precedes=True),
    _adjective(
        "beau",
        "beautiful",
        (Kind.ANIMAL, Kind.PATH, Kind.PLACE, Kind.THING),
        feminine="belle",
        before_vowel="bel",
        precedes=True,
    ),
    _adjective(
        "vieux",
        "old",
        (Kind.ANIMAL, Kind.PATH, Kind.PLACE, Kind.THING),
        feminine="vieille",
        before_vowel="vieil",
        precedes=True,
    ),
    _adjective(
        "nouveau",
        "new",
        (Kind.PATH, Kind.PLACE, Kind.THING),
        feminine="nouvelle",
        before_vowel="nouvel",
        precedes=True,
        gradable=False,
    ),
    _adjective("lourd", "heavy", (Kind.THING,)),
    _adjective("cher", "expensive", (Kind.THING,)),
    _adjective("sucré", "sweet", (Kind.FOOD,)),
    _adjective("bon", "good", (Kind.FOOD,), feminine="bonne", precedes=True),
    _adjective("mauvais", "bad", (Kind.FOOD,), precedes=True),
    _adjective("étrange", "strange", (*LIVING, Kind.PATH, Kind.PLACE, Kind.FOOD, Kind.THING)),
    _adjective("célèbre", "famous", (Kind.PERSON, Kind.PATH, Kind.PLACE)),
    _adjective("riche", "rich", (Kind.PERSON,)),
    _adjective("rouge", "red", (Kind.THING,), gradable=False),
    _adjective("jaune", "yellow", (Kind.THING,), gradable=False),
    _adjective("vert", "green", (Kind.THING,), gradable=False),
    _adjective("blanc", "white", (Kind.ANIMAL, Kind.THING), feminine="blanche", gradable=False),
    _adjective("noir", "black", (Kind.ANIMAL, Kind.THING), gradable=False),
)
ADJECTIVES = (*OF_THE_LIVING, *OF_THINGS, *OF_MANY)

FITTING = {noun: tuple(adjective for adjective in ADJECTIVES if adjective.fits(noun)) for noun in NOUNS}
TELLING = {noun: tuple(adjective for adjective in fitting if adjective.telling) for noun, fitting in FITTING.items()}
