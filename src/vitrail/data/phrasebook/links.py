"""Which words of a sentence of the phrasebook translate each other: its true alignment, derived from the grammar.

The grammar puts the same clauses in the same order in both languages, a clause has one verb group, and no word has two
meanings. So words of equal meaning belong together, in order, and the rest follows from their places in the clause: a
determiner belongs to its noun, an auxiliary to its verb.

As in hand-made alignments (Och and Ney 2003), links are sure, or merely possible: "a" in "a traversé" belongs to
"crossed", but nobody would miss the link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from vitrail.data.phrasebook.adjectives import ADJECTIVES, Adjective
from vitrail.data.phrasebook.constructions import FIXED
from vitrail.data.phrasebook.nouns import DISHES, DRINKS, NOUNS, PROFESSIONS
from vitrail.data.phrasebook.split import Example
from vitrail.data.phrasebook.verbs import BE, DRINK, GO, HAVE, INTRANSITIVE, TRANSITIVE
from vitrail.text.words import split_words

Link = tuple[int, int]  # the numbers, from 0, of a word of the source and one of the target

# Words of one meaning: French, English. Nouns and adjectives are added from their tables. A clause has one subject.
_MEANINGS = (
    ("je j' vous il elle nous ils elles qui", "i you he she it we they who"),
    ("pourquoi", "why"), ("où", "where"), ("trop", "too"), ("très", "very"), ("si", "so"), ("jamais", "never"),
    ("y", "there"), ("dans", "in"), ("sur", "on"), ("derrière", "behind"), ("devant", "front"), ("près", "near"),
    ("à au aux", "to"), ("tous", "every"), ("jours", "day"), ("matin", "morning"), ("hier", "yesterday"),
    ("demain", "tomorrow"), ("soir", "tonight"), ("oui", "yes"), ("non", "no"), ("monsieur", "sir"),
    ("madame", "madam"), ("plaît", "please"), ("?", "?"), ("!", "!"), ("et", "and"), ("mais", "but"),
    ("parce", "because"), (",", ","),
)  # fmt: skip
_JOINTS = frozenset(("et", "mais", "parce", ",", "and", "but", "because"))
_DETERMINERS = (
    "le la l' les un une des de d' du au aux ce cet cette ces mon ma mes votre vos notre nos leur leurs deux trois"
    " the a an some any this these my your our their two three"
)
_AUXILIARIES = "am is are was were isn't aren't wasn't weren't do does did don't doesn't didn't going"
# What belongs to the verb besides its forms: negation, the words of a question, "il y a", particles. French, English.
_ABOUT_VERBS = ("ne n' pas jamais est-ce que qu' y", f"{_AUXILIARIES} not never to for there")
# Words that may be linked to one that has another meaning: "in the morning" is "le matin".
_LOOSE = ("devant in", "devant of", "matin in", "de near", "d' near", "du near", "des near", "les every")


@dataclass(frozen=True)
class Alignment:
    """The links between the words of a source and a target, as they stand between spaces."""

    sure: frozenset[Link]
    possible: frozenset[Link]  # the sure ones among them


def alignment(example: Example) -> Alignment:
    """The true alignment of a sentence and its translation."""
    from_french = example.source_language == "fr"
    french, english = (example.source, example.target) if from_french else (example.target, example.source)
    sure, possible = _links(french, english)

    def as_asked(links: Iterable[Link]) -> frozenset[Link]:
        return frozenset((i, j) if from_french else (j, i) for i, j in links)

    return Alignment(as_asked(sure), as_asked(possible))


def _links(french: str, english: str) -> tuple[set[Link], set[Link]]:
    """The sure links and all links, between words as they stand between spaces."""
    places = [
        [place for place, chunk in enumerate(text.split()) for _ in split_words(chunk)] for text in (french, english)
    ]
    sure: set[Link] = set()
    possible: set[Link] = set()
    for part in zip(_parts(split_words(french)), _parts(split_words(english)), strict=True):
        for links, found in zip((sure, possible), _links_of_part(*part), strict=True):
            links |= {(places[0][i], places[1][j]) for i, j in found}
    return sure, possible


_Words = list[tuple[int, str]]  # each with its number in the sentence


def _parts(words: Sequence[str]) -> Iterator[_Words]:
    """The clauses of a sentence, and between them the words that join them."""
    held: _Words = []
    for number, word in enumerate(words):
        if word in _JOINTS or (held and held[0][1] in _JOINTS and not (held[0][1] == "parce" and len(held) == 1)):
            yield held
            held = [(number, word)]
        else:
            held.append((number, word))
    yield held


def _links_of_part(french: _Words, english: _Words) -> tuple[set[Link], set[Link]]:
    """The sure links of a clause or a joint, and all of its links."""
    everything = _pairs((i for i, _ in french), [j for j, _ in english])
    if len(everything) == 1:
        return everything, everything
    sure: set[Link] = set()
    possible: set[Link] = set()
    for (i, j), meaning in _alike(french, english):
        sure.add((i, j))
        if meaning in _nouns():
            mine, theirs = _determiners(french, i), _determiners(english, j)
            sure |= _pairs(mine, theirs)
            possible |= _pairs(mine, [j]) if not theirs else _pairs([i], theirs) if not mine else set()
    if french[0][1] in _JOINTS or " ".join(word for _, word in french if word not in "?!") in _WHOLE:
        return sure, everything
    verbs, groups = zip(*map(_verb_group, (0, 1), (french, english)), strict=True)
    possible |= _pairs(*groups)
    sure |= _pairs(verbs[0][-1:], verbs[1][-1:])  # without their auxiliaries
    sure |= {(i, j) for i, word in french if word == "pas" for j, other in english if other == "not" or "n't" in other}
    possible |= {(i, j) for i, word in french for j, other in english if f"{word} {other}" in _LOOSE}
    return sure, sure | possible


def _pairs(french: Iterable[int], english: Iterable[int]) -> set[Link]:
    return {(i, j) for i, j in product(french, english)}


def _verb_group(side: int, words: _Words) -> tuple[list[int], list[int]]:
    """The verbs of a clause, and all that belongs to them."""
    verbs = [number for number, word in words if word in _verbs(side)]
    about = _ABOUT_VERBS[side].split()
    exists = any(word == "y" for _, word in words)  # in "il y a", "il" is nobody
    return verbs, [*verbs, *(number for number, word in words if word in about or (exists and word == "il"))]


def _alike(french: _Words, english: _Words) -> Iterator[tuple[Link, str]]:
    """Words with the same meaning, in order, and what they mean."""
    waiting: dict[str, list[int]] = {}
    before = ""
    for j, word in english:
        if word in _meanings(1) and before != "going":  # not "to" in "going to"
            waiting.setdefault(_meanings(1)[word], []).append(j)
        before = word
    for i, word in french:
        if places := waiting.get(_meanings(0).get(word, "")):
            yield (i, places.pop(0)), _meanings(0)[word]


def _determiners(words: _Words, noun: int) -> list[int]:
    """The determiners of a noun: right before it, or before its adjective."""
    before = [(number, word) for number, word in words if number < noun]
    while before and before[-1][1] in _adjectives():
        before.pop()
    found: list[int] = []
    while before and before[-1][1] in _DETERMINERS.split():
        number, _ = before.pop()
        if found and before and before[-1][1] == "près":
            break  # the "de" of "près de la rue"
        found.append(number)
    return found


_WHOLE = frozenset([*(" ".join(split_words(pair.french)) for pair in FIXED), "s' il vous plaît"])


@cache
def _meanings(side: int) -> dict[str, str]:
    """What the words of a language mean: 0 is French, 1 English."""
    found = {word: pair[1] for pair in _MEANINGS for word in pair[side].split()}
    for noun in (*NOUNS, *DISHES, *DRINKS):
        names = (noun.french, noun.french_plural), (noun.english, noun.english_plural)
        found |= dict.fromkeys(names[side], noun.english)
    for kind in PROFESSIONS:
        names = (kind.masculine, kind.feminine), (kind.english, kind.english)
        found |= {word + plural: kind.english for word in names[side] for plural in ("", "s")}
    for adjective in ADJECTIVES:
        found |= dict.fromkeys(_forms(adjective) if side == 0 else (adjective.english,), adjective.english)
    return found


@cache
def _nouns() -> frozenset[str]:
    names = {noun.english for noun in (*NOUNS, *DISHES, *DRINKS)} | {kind.english for kind in PROFESSIONS}
    return frozenset(names | {"day", "morning", "tonight"})


@cache
def _adjectives() -> frozenset[str]:
    return frozenset(form for adjective in ADJECTIVES for form in (*_forms(adjective), adjective.english))


def _forms(adjective: Adjective) -> set[str]:
    forms = {adjective.french(feminine=f, plural=p) for f in (False, True) for p in (False, True)}
    return forms | {adjective.before_vowel}


@cache
def _verbs(side: int) -> frozenset[str]:
    """Every form of every verb."""
    found: set[str] = set()
    for verb in (*TRANSITIVE, *INTRANSITIVE, DRINK, GO, BE, HAVE):
        participles = {verb.participle + ending for ending in ("", "e", "s", "es")}
        french = {verb.infinitive, *verb.present, *verb.imperfect, *participles}
        found |= french if side == 0 else {verb.english, verb.third, verb.past}
    return frozenset(found.union(_AUXILIARIES.split() if side else ()))
