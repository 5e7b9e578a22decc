"""The true alignment of phrasebook sentences: cases by hand, and no word without a link."""

from __future__ import annotations

import pytest

from vitrail.data.phrasebook import Example, longer, training_pairs
from vitrail.data.phrasebook.links import alignment

# French, English, the sure links, and links that are possible besides.
CASES = [
    ("je suis étudiant", "i am a student", "je-i suis-am étudiant-student", "étudiant-a"),
    ("le chien noir dort", "the black dog sleeps", "le-the chien-dog noir-black dort-sleeps", ""),
    (
        "l'animal n'a pas traversé la rue",
        "the animal didn't cross the street",
        "l'animal-the l'animal-animal pas-didn't traversé-cross la-the:1 rue-street",
        "n'a-didn't n'a-cross pas-cross traversé-didn't",
    ),
    (
        "est-ce que vous allez au musée?",
        "do you go to the museum?",
        "vous-you allez-go au-to au-the musée?-museum?",
        "est-ce-do que-do allez-do est-ce-go que-go allez-to est-ce-to que-to",
    ),
    ("il n'y a pas de chat", "there isn't a cat", "n'y-there a-isn't pas-isn't de-a chat-cat", "*"),
    ("nous buvons de l'eau", "we drink water", "nous-we buvons-drink l'eau-water", "de-water"),
    ("merci et à demain!", "thanks and see you tomorrow!", "merci-thanks et-and demain!-tomorrow!", "*"),
    (
        "il va tomber parce qu'elle est fatiguée",
        "he is going to fall because she is tired",
        "il-he tomber-fall parce-because qu'elle-she est-is:1 fatiguée-tired",
        "va-is va-going va-to va-fall tomber-is tomber-going tomber-to qu'elle-because",
    ),
    ("deux pommes, s'il vous plaît", "two apples, please", "deux-two pommes,-apples, plaît-please", "*"),
    (
        "ils sont devant la gare",
        "they are in front of the station",
        "ils-they sont-are devant-front la-the gare-station",
        "devant-in devant-of",
    ),
]


def links(text: str, french: list[str], english: list[str]) -> set[tuple[int, int]]:
    """Links written as words; "the:1" is the second "the"."""
    found = set()
    for pair in text.split():
        for word in french:
            if pair.startswith(f"{word}-"):
                other, _, which = pair[len(word) + 1 :].partition(":")
                places = [place for place, one in enumerate(english) if one == other]
                if places:
                    found.add((french.index(word), places[int(which or 0)]))
    return found


@pytest.mark.parametrize(("french", "english", "sure", "loose"), CASES)
def test_links_by_hand(french, english, sure, loose):
    words = french.split(), english.split()
    there = alignment(Example(french, english, "fr", "en", "", None))
    assert there.sure == links(sure, *words)
    if loose != "*":
        assert there.possible == links(f"{sure} {loose}", *words)
    back = alignment(Example(english, french, "en", "fr", "", None))
    assert {(i, j) for j, i in back.sure} == there.sure
    assert {(i, j) for j, i in back.possible} == there.possible


def test_no_word_is_without_a_link():
    for example in [*training_pairs(3000, 5), *longer(50, 1)]:
        found = alignment(example)
        assert found.sure <= found.possible
        sides = len(example.source.split()), len(example.target.split())
        for side, words in enumerate(sides):
            assert {link[side] for link in found.possible} == set(range(words)), example
