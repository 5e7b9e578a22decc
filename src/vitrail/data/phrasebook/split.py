"""Split sentences into training and held-out ones, and generate both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from zlib import crc32

from vitrail.data.phrasebook.constructions import draw, joined
from vitrail.data.phrasebook.dice import Dice
from vitrail.data.phrasebook.sentence import Said
from vitrail.errors import DataError
from vitrail.text.words import split_words

HELD_OUT_SHARE = 0.1
LONGEST = 18  # words in the longest training sentence, in either language
_STREET = {("animal", "cross", "street", "tired"), ("animal", "cross", "street", "wide")}
_PATIENCE = 10_000  # give up after this many draws in a row without a new sentence
_FRENCH_PRONOUNS = frozenset({"il", "elle", "ils", "elles"})
_ENGLISH_PRONOUNS = frozenset({"he", "she", "it", "they"})


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence and its translation; `kind` names the construction, `pronoun` the word that must be right."""

    source: str
    target: str
    source_language: str
    target_language: str
    kind: str
    pronoun: str | None


_ANIMAL = ("the animal didn't cross the street because it was too", "l'animal n'a pas traversé la rue parce qu'")
STREET_SENTENCES = (  # from the post
    Example(f"{_ANIMAL[0]} tired", f"{_ANIMAL[1]}il était trop fatigué", "en", "fr", "reference", "il"),
    Example(f"{_ANIMAL[0]} wide", f"{_ANIMAL[1]}elle était trop large", "en", "fr", "reference", "elle"),
)


def training_pairs(count: int, seed: int) -> Iterator[Example]:
    """Distinct pairs to learn from, in both directions."""
    return _stream(draw, _is_for_training, count, seed)


def held_out(count: int, seed: int) -> Iterator[Example]:
    """Distinct pairs with at least one clause whose content words never occur together in training."""
    return _stream(draw, _is_held_out, count, seed)


def longer(count: int, seed: int) -> Iterator[Example]:
    """Distinct pairs of three to five clauses, both sides longer than the longest training sentence."""

    def several(dice: Dice) -> tuple[str, Said]:
        return "longer", joined(dice, dice.pick((3, 4, 5)))

    return _stream(several, _is_longer, count, seed)


def pronoun_is_right(example: Example, translation: str) -> bool:
    """Whether the last pronoun of the translation, the one in question, is right."""
    assert example.pronoun is not None, "this example tests no pronoun"
    candidates = _FRENCH_PRONOUNS if example.target_language == "fr" else _ENGLISH_PRONOUNS
    found = [word for word in split_words(translation) if word in candidates]
    return bool(found) and found[-1] == example.pronoun


@cache
def content_is_held_out(content: tuple[str, ...]) -> bool:
    """Decide by the content words alone, whatever the tense, number, polarity, mood and direction."""
    if content in _STREET:
        return True
    # A single content word is always trained on, so that no word is unknown to the model.
    return len(content) > 1 and crc32(" ".join(content).encode()) % 1000 < 1000 * HELD_OUT_SHARE


def _is_for_training(said: Said) -> bool:
    return not any(map(content_is_held_out, said.contents)) and not _exceeds(said)


def _is_held_out(said: Said) -> bool:
    return any(map(content_is_held_out, said.contents)) and not _exceeds(said)


def _exceeds(said: Said) -> bool:
    # Cheap check first: a single clause is never that long, and few sentences have more than one.
    return len(said.contents) > 1 and max(_lengths(said)) > LONGEST


def _is_longer(said: Said) -> bool:
    return min(_lengths(said)) > LONGEST


def _lengths(said: Said) -> tuple[int, int]:
    return len(split_words(said.pair.french)), len(split_words(said.pair.english))


def _stream(
    source: Callable[[Dice], tuple[str, Said]], wanted: Callable[[Said], bool], count: int, seed: int
) -> Iterator[Example]:
    dice = Dice(seed)
    seen: set[tuple[bool, str]] = set()
    misses = 0
    while len(seen) < count:
        kind, said = source(dice)
        # French is the harder target, where the puzzle has to be solved: more sentences go that way.
        to_english = said.french_only or dice.chance(0.25 if kind == "reference" else 0.5)
        key = (to_english, said.pair.french if to_english else said.pair.english)
        if not wanted(said) or key in seen:
            misses += 1
            if misses > _PATIENCE:
                raise DataError(
                    f"the phrasebook ran out of new sentences after {len(seen)} of {count}",
                    where="the built-in phrasebook",
                    fix="ask for fewer",
                )
            continue
        misses = 0
        seen.add(key)
        yield _example(kind, said, to_english=to_english)


def _example(kind: str, said: Said, *, to_english: bool) -> Example:
    if to_english:
        pronoun = said.pronouns[1] if said.pronouns else None
        return Example(said.pair.french, said.pair.english, "fr", "en", kind, pronoun)
    # "he" and "she" show their gender; "it" and "they" have to be resolved.
    pronoun = said.pronouns[0] if said.pronouns and said.pronouns[1] in ("it", "they") else None
    return Example(said.pair.english, said.pair.french, "en", "fr", kind, pronoun)
