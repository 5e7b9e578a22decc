"""The verbs: their forms in both languages, and which classes of nouns they take as subject and object."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from vitrail.data.phrasebook.nouns import LIVING, Kind


class Person(IntEnum):
    """Who a verb agrees with. "you" is always vous; plural nouns are THEY, singular ones HE."""

    I = 0  # noqa: E741 (the pronoun, not a number)
    HE = 1
    WE = 2
    YOU = 3
    THEY = 4


class Tense(IntEnum):
    """Present; past (passé composé; imparfait for être and avoir); future with aller, "is going to"."""

    PRESENT = 0
    PAST = 1
    FUTURE = 2


class Polarity(IntEnum):
    """Affirmed, negated (ne … pas), or "never" (ne … jamais)."""

    YES = 0
    NOT = 1
    NEVER = 2


class Agreement(NamedTuple):
    """What a French verb needs to know about its subject."""

    person: Person
    feminine: bool
    plural: bool


@dataclass(frozen=True, eq=False, slots=True)
class Verb:
    """One verb. French forms are listed by Person; `imperfect` only for verbs that use it as their past."""

    infinitive: str
    participle: str
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    with_etre: bool  # je suis tombé, not j'ai tombé: the participle agrees with the subject
    english: str
    third: str
    past: str
    particle: str  # looks *for*
    subjects: tuple[Kind, ...]
    objects: tuple[Kind, ...]
    hinders: bool = False  # "too …" is a reason to do it (avoid, leave), not a reason against


_PAST = {
    "buy": "bought", "drink": "drank", "eat": "ate", "fall": "fell", "find": "found", "go": "went", "leave": "left",
    "run": "ran", "sell": "sold", "sing": "sang", "sleep": "slept", "stop": "stopped", "swim": "swam",
}  # fmt: skip


def _er_present(infinitive: str) -> tuple[str, ...]:
    """The present of the first group; mangeons and nageons keep their e."""
    stem = infinitive.removesuffix("er")
    soft = "e" if stem.endswith("g") else ""
    return (f"{stem}e", f"{stem}e", f"{stem}{soft}ons", f"{stem}ez", f"{stem}ent")


def _third(base: str) -> str:
    if base.endswith("ry"):
        return f"{base[:-1]}ies"
    return base + ("es" if base.endswith(("sh", "ch", "ss", "go")) else "s")


def _regular_past(base: str) -> str:
    if base.endswith("ry"):
        return f"{base[:-1]}ied"
    return base + ("d" if base.endswith("e") else "ed")


def _verb(
    infinitive: str,
    english: str,
    subjects: tuple[Kind, ...] = LIVING,
    objects: tuple[Kind, ...] = (),
    *,
    present: str | None = None,
    participle: str | None = None,
    with_etre: bool = False,
    hinders: bool = False,
) -> Verb:
    base, _, particle = english.partition(" ")
    return Verb(
        infinitive,
        participle or infinitive.removesuffix("er") + "é",
        tuple(present.split()) if present else _er_present(infinitive),
        (),
        with_etre,
        base,
        _third(base),
        _PAST.get(base) or _regular_past(base),
        particle,
        subjects,
        objects,
        hinders,
    )


_WALKABLE = (Kind.PATH, Kind.PLACE)
_LIFELESS = (Kind.PATH, Kind.PLACE, Kind.FOOD, Kind.THING)

# What living beings do to the rest of the world …
DONE_BY_THE_LIVING = (
    _verb("traverser", "cross", objects=(Kind.PATH,)),
    _verb("éviter", "avoid", objects=_WALKABLE, hinders=True),
    _verb("quitter", "leave", objects=_WALKABLE, hinders=True),
    _verb("visiter", "visit", (Kind.PERSON,), (Kind.PLACE,)),
    _verb("manger", "eat", objects=(Kind.FOOD,)),
    _verb("refuser", "refuse", objects=(Kind.FOOD,), hinders=True),
    _verb("porter", "carry", objects=(Kind.THING,)),
    _verb("pousser", "push", objects=(Kind.THING,)),
)
# … and what the rest of the world does to them: the puzzle with swapped roles.
DONE_TO_THE_LIVING = (
    _verb("arrêter", "stop", (Kind.PATH, Kind.THING), LIVING, hinders=True),
    _verb("attirer", "attract", _LIFELESS, LIVING),
    _verb("étonner", "surprise", _LIFELESS, LIVING),
    _verb("gêner", "bother", (Kind.PATH, Kind.PLACE, Kind.THING), LIVING, hinders=True),
    _verb("aider", "help", (Kind.PATH, Kind.THING), LIVING),
    _verb("tenter", "tempt", (Kind.PLACE, Kind.FOOD), LIVING),
)
# Not part of the puzzle: both nouns may be alive, or the reason would sound odd.
OTHER_TRANSITIVE = (
    _verb("aimer", "like", objects=(*LIVING, *_LIFELESS)),
    _verb("chercher", "look for", objects=(*LIVING, *_LIFELESS)),
    _verb("trouver", "find", objects=(*LIVING, *_LIFELESS)),
    _verb("regarder", "watch", objects=LIVING),
    _verb("écouter", "listen to", (Kind.PERSON,), LIVING),
    _verb("acheter", "buy", (Kind.PERSON,), (Kind.FOOD, Kind.THING), present="achète achète achetons achetez achètent"),
    _verb(
        "vendre",
        "sell",
        (Kind.PERSON,),
        (Kind.FOOD, Kind.THING),
        present="vends vend vendons vendez vendent",
        participle="vendu",
    ),
)
INTRANSITIVE = (
    _verb("dormir", "sleep", present="dors dort dormons dormez dorment", participle="dormi"),
    _verb("courir", "run", present="cours court courons courez courent", participle="couru"),
    _verb("chanter", "sing", (Kind.PERSON,)),
    _verb("danser", "dance", (Kind.PERSON,)),
    _verb("jouer", "play"),
    _verb("nager", "swim"),
    _verb("arriver", "arrive", with_etre=True),
    _verb("tomber", "fall", with_etre=True),
)
TRANSITIVE = (*DONE_BY_THE_LIVING, *DONE_TO_THE_LIVING, *OTHER_TRANSITIVE)

EAT = next(verb for verb in TRANSITIVE if verb.english == "eat")
DRINK = _verb("boire", "drink", objects=(Kind.MASS,), present="bois boit buvons buvez boivent", participle="bu")
GO = _verb("aller", "go to", present="vais va allons allez vont", with_etre=True)
BE = Verb(
    "être",
    "été",
    ("suis", "est", "sommes", "êtes", "sont"),
    ("étais", "était", "étions", "étiez", "étaient"),
    False,
    "be",
    "is",
    "was",
    "",
    (),
    (),
)
HAVE = Verb(
    "avoir",
    "eu",
    ("ai", "a", "avons", "avez", "ont"),
    ("avais", "avait", "avions", "aviez", "avaient"),
    False,
    "have",
    "has",
    "had",
    "",
    LIVING,
    (),
)
