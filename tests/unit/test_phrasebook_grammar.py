"""The phrasebook's grammar, case by case, as in a French or English schoolbook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from vitrail.data.phrasebook import english, french
from vitrail.data.phrasebook.adjectives import ADJECTIVES, FITTING, TELLING, Adjective
from vitrail.data.phrasebook.nouns import DISHES, DRINKS, LIVING, NOUNS, PROFESSIONS, Noun
from vitrail.data.phrasebook.phrases import none_of, noun_phrase, pronoun_for, some
from vitrail.data.phrasebook.verbs import (
    BE,
    DRINK,
    GO,
    HAVE,
    INTRANSITIVE,
    TRANSITIVE,
    Agreement,
    Person,
    Polarity,
    Tense,
    Verb,
)

VERBS = {verb.english: verb for verb in (*TRANSITIVE, *INTRANSITIVE, DRINK, GO, BE, HAVE)}


def noun(name: str) -> Noun:
    return next(noun for noun in (*NOUNS, *DISHES, *DRINKS) if noun.english == name)


def adjective(name: str) -> Adjective:
    return next(adjective for adjective in ADJECTIVES if adjective.english == name)


@pytest.mark.parametrize(
    ("name", "determiner", "plural", "quality", "said", "told"),
    [
        ("animal", "the", False, None, "l'animal", "the animal"),
        ("man", "the", False, None, "l'homme", "the man"),
        ("man", "this", False, None, "cet homme", "this man"),
        ("man", "this", False, "old", "ce vieil homme", "this old man"),
        ("man", "this", True, "old", "ces vieux hommes", "these old men"),
        ("bird", "a", False, "beautiful", "un bel oiseau", "a beautiful bird"),
        ("horse", "a", True, "beautiful", "de beaux chevaux", "some beautiful horses"),
        ("horse", "a", True, "white", "des chevaux blancs", "some white horses"),
        ("hotel", "the", False, "new", "le nouvel hôtel", "the new hotel"),
        ("school", "my", False, None, "mon école", "my school"),
        ("school", "my", False, "old", "ma vieille école", "my old school"),
        ("avenue", "this", False, "narrow", "cette avenue étroite", "this narrow avenue"),
        ("apple", "a", False, None, "une pomme", "an apple"),
        ("pizza", "a", False, "burnt", "une pizza brûlée", "a burnt pizza"),
        ("bag", "a", False, "expensive", "un sac cher", "an expensive bag"),
        ("suitcase", "their", True, "expensive", "leurs valises chères", "their expensive suitcases"),
        ("turtle", "three", True, "lazy", "trois tortues paresseuses", "three lazy turtles"),
        ("path", "your", False, "long", "votre long chemin", "your long path"),
        ("road", "the", True, "long", "les longues routes", "the long roads"),
        ("castle", "the", True, "famous", "les châteaux célèbres", "the famous castles"),
    ],
)
def test_noun_phrases(name: str, determiner: str, plural: bool, quality: str | None, said: str, told: str) -> None:
    phrase = noun_phrase(noun(name), determiner, plural, adjective(quality) if quality else None)
    assert (phrase.french, phrase.english) == (said, told)


def test_after_a_negation_un_and_des_become_de() -> None:
    assert none_of(noun("dog"), False).french == "de chien"
    assert none_of(noun("animal"), True, adjective("sick")).french == "d'animaux malades"
    assert none_of(noun("animal"), True).english == "any animals"
    assert none_of(noun("apple"), False).english == "an apple"


def test_what_is_not_counted_has_a_partitive_article() -> None:
    said = {
        name: (some(noun(name), False).french, some(noun(name), True).french) for name in ("bread", "meat", "water")
    }
    assert said == {
        "bread": ("du pain", "de pain"),
        "meat": ("de la viande", "de viande"),
        "water": ("de l'eau", "d'eau"),
    }


@pytest.mark.parametrize(
    ("preposition", "phrase", "said"),
    [
        ("à", "le parc", "au parc"),
        ("à", "les fermes", "aux fermes"),
        ("à", "l'école", "à l'école"),
        ("à", "la gare", "à la gare"),
        ("à", "cette gare", "à cette gare"),
        ("de", "le pont", "du pont"),
        ("de", "les ponts", "des ponts"),
        ("de", "l'église", "de l'église"),
        ("de", "leur pont", "de leur pont"),
    ],
)
def test_prepositions_melt_into_the_article(preposition: str, phrase: str, said: str) -> None:
    assert french.contracted(preposition, phrase) == said


@pytest.mark.parametrize(
    ("verb", "tense", "polarity", "agreement", "said", "told"),
    [
        ("cross", Tense.PAST, Polarity.NOT, (Person.HE, False, False), "n'a pas traversé", "didn't cross"),
        ("cross", Tense.PAST, Polarity.YES, (Person.HE, True, False), "a traversé", "crossed"),
        ("eat", Tense.PRESENT, Polarity.YES, (Person.WE, False, True), "mangeons", "eat"),
        ("eat", Tense.PRESENT, Polarity.NEVER, (Person.HE, False, False), "ne mange jamais", "never eats"),
        ("eat", Tense.PAST, Polarity.NEVER, (Person.I, False, False), "n'ai jamais mangé", "never ate"),
        ("fall", Tense.PAST, Polarity.YES, (Person.THEY, True, True), "sont tombées", "fell"),
        ("fall", Tense.PAST, Polarity.NOT, (Person.YOU, False, False), "n'êtes pas tombé", "didn't fall"),
        ("go", Tense.PAST, Polarity.YES, (Person.I, True, False), "suis allée", "went to"),
        ("go", Tense.PRESENT, Polarity.NOT, (Person.THEY, False, True), "ne vont pas", "don't go to"),
        (
            "go",
            Tense.FUTURE,
            Polarity.NEVER,
            (Person.HE, False, False),
            "ne va jamais aller",
            "is never going to go to",
        ),
        ("be", Tense.PAST, Polarity.NOT, (Person.THEY, False, True), "n'étaient pas", "weren't"),
        ("be", Tense.PRESENT, Polarity.NOT, (Person.I, False, False), "ne suis pas", "am not"),
        ("be", Tense.FUTURE, Polarity.NOT, (Person.WE, False, True), "n'allons pas être", "aren't going to be"),
        ("have", Tense.PAST, Polarity.YES, (Person.HE, False, False), "avait", "had"),
        ("have", Tense.PRESENT, Polarity.NOT, (Person.HE, False, False), "n'a pas", "doesn't have"),
        ("look", Tense.PAST, Polarity.YES, (Person.HE, False, False), "a cherché", "looked for"),
        ("buy", Tense.PRESENT, Polarity.YES, (Person.HE, False, False), "achète", "buys"),
        ("carry", Tense.PRESENT, Polarity.YES, (Person.HE, False, False), "porte", "carries"),
    ],
)
def test_verbs(
    verb: str, tense: Tense, polarity: Polarity, agreement: tuple[Person, bool, bool], said: str, told: str
) -> None:
    subject = Agreement(*agreement)
    assert french.verb_group(VERBS[verb], tense, polarity, subject) == said
    assert english.verb_group(VERBS[verb], tense, polarity, subject.person) == told


def test_questions_move_the_english_verb_and_leave_the_french_one() -> None:
    assert french.question("elle dort") == "est-ce qu'elle dort?"
    assert french.question("le chien dort") == "est-ce que le chien dort?"
    asked = english.question("the dog", Person.HE, VERBS["look"], Tense.PAST, "the cat")
    assert asked == "did the dog look for the cat?"
    assert english.question("they", Person.THEY, BE, Tense.PAST, "tired") == "were they tired?"
    assert english.question("i", Person.I, BE, Tense.FUTURE, "tired") == "am i going to be tired?"


def test_pronouns_stand_for_what_they_refer_to() -> None:
    said = {
        (name, plural): (pronoun_for(noun(name), plural).french, pronoun_for(noun(name), plural).english)
        for name in ("man", "aunt", "dog", "street")
        for plural in (False, True)
    }
    assert said == {
        ("man", False): ("il", "he"),
        ("man", True): ("ils", "they"),
        ("aunt", False): ("elle", "she"),
        ("aunt", True): ("elles", "they"),
        ("dog", False): ("il", "it"),
        ("dog", True): ("ils", "they"),
        ("street", False): ("elle", "it"),
        ("street", True): ("elles", "they"),
    }


def test_every_noun_tells_one_from_many() -> None:
    for each in NOUNS:
        assert each.french != each.french_plural
        assert each.english != each.english_plural


def test_both_genders_are_as_many_in_every_class() -> None:
    for kind in {each.kind for each in NOUNS}:
        genders = Counter(each.feminine for each in NOUNS if each.kind is kind)
        assert genders[True] == genders[False], kind


def test_a_telling_adjective_never_fits_both_the_living_and_the_rest() -> None:
    living = {telling for each in NOUNS if each.kind in LIVING for telling in TELLING[each]}
    lifeless = {telling for each in NOUNS if each.kind not in LIVING for telling in TELLING[each]}
    assert living and lifeless
    assert not living & {fitting for each in NOUNS if each.kind not in LIVING for fitting in FITTING[each]}
    assert not lifeless & {fitting for each in NOUNS if each.kind in LIVING for fitting in FITTING[each]}


def french_forms(verb: Verb) -> set[str]:
    return {verb.infinitive, verb.participle, *verb.present, *verb.imperfect}


def test_no_word_has_two_meanings() -> None:
    """Each form belongs to a single noun, adjective, verb or profession, so that a word has one translation."""
    said: list[Iterable[str]] = [
        *({each.french, each.french_plural} for each in (*NOUNS, *DISHES, *DRINKS)),
        *({each.masculine, each.feminine, each.masculine_plural, each.feminine_plural} for each in ADJECTIVES),
        *({each.masculine, each.feminine} for each in PROFESSIONS),
        *(french_forms(verb) for verb in VERBS.values()),
    ]
    told: list[Iterable[str]] = [
        *({each.english, each.english_plural} for each in (*NOUNS, *DISHES, *DRINKS)),
        *({each.english} for each in ADJECTIVES),
        *({each.english} for each in PROFESSIONS),
        *({verb.english, verb.third, verb.past} for verb in VERBS.values()),
    ]
    for forms in (said, told):
        shared = [form for form, count in Counter(form for lexeme in forms for form in lexeme).items() if count > 1]
        assert shared == []
