"""The built-in phrasebook: a small French and English grammar, written for Vitrail, that generates sentence pairs.

**Contents.** About 610 French and 380 English words (inflected forms counted) and millions of sentences, in lower case
and without a full stop. A meaning is drawn first (who does what, when, whether or why) and then expressed in both
languages:

    identity     je suis étudiant                          i am a student
    description  la rue n'est pas très large               the street isn't very wide
    action       le chien a traversé un vieux pont         the dog crossed an old bridge
    movement     elles ne sont pas tombées hier            they didn't fall yesterday
    journey      est-ce que vous allez au musée?           do you go to the museum?
    possession   je n'ai pas de chat                       i don't have a cat
    meal         pourquoi est-ce qu'il boit de l'eau?      why does he drink water?
    location     nous étions près de l'école               we were near the school
    existence    il n'y a pas de pomme dans la boîte       there isn't an apple in the box
    whereabouts  où est ma valise?                         where is my suitcase?
    who          qui va manger le gâteau?                  who is going to eat the cake?
    request      deux pommes, s'il vous plaît              two apples, please
    greeting     merci; bonsoir, mon oncle!                thanks; good evening, my uncle!
    answer       oui, la reine est malade                  yes, the queen is sick
    compound     je danse et le roi chante                 i dance and the king sings
    reference    l'animal n'a pas traversé la rue          the animal didn't cross the street
                 parce qu'il était trop fatigué            because it was too tired

These cover adjectives before and after the noun (un vieux pont, une rue étroite), agreement in gender and number, bel,
vieil and nouvel, elision and contraction (l', d', qu', du, des, au, aux), ne … pas and ne … jamais, un and des that
become de after a negation, and three tenses. `reference` is the post's puzzle (see reference.py). It makes up nearly
half of the sentences; three quarters of those go into French, where it has to be solved.

**One sentence, one translation**, in each direction. If a language leaves something open, the phrasebook decides:

- "you" is vous, said to one man: vous êtes fatigué.
- "i" and "you" are men; "we", and "they" without an antecedent, are men or mixed: je suis fatigué, ils dorment.
  "Je suis fatiguée" and "elles dorment" are trained from French to English only.
- Without an antecedent, "il" is he and "elle" is she; with one, animals and things are it, people are he or she.
- The past is the passé composé, except for être and avoir, which use the imparfait: était is was, avait is had.
- "is going to" is aller with the infinitive; there is no "will" and no futur simple.
- "a" and "some" are un, une and des; ce and ces are this and these, never that and those.
- Every yes-or-no question has est-ce que. No space precedes a question mark, not even in French (as in Québec).
- No word has two meanings: there is no noun "porte" beside "il porte", and no "je suis" from suivre.

**What is held out.** The content words of a clause (animal, cross, street, tired) decide. A tenth of all combinations,
chosen by checksum, is never trained on, whatever the tense, number, polarity, mood, determiner or direction. A sentence
with several clauses is held out if any of them is. Clauses with a single content word (je suis fatigué, merci) are
always used for training, so every word is seen. The post's two street sentences are always held out. Only `longer`
makes sentences of three clauses or more.
"""

from vitrail.data.phrasebook.split import (
    LONGEST,
    STREET_SENTENCES,
    Example,
    held_out,
    longer,
    pronoun_is_right,
    training_pairs,
)
from vitrail.data.phrasebook.vocabulary import vocabulary

__all__ = [
    "LONGEST",
    "STREET_SENTENCES",
    "Example",
    "held_out",
    "longer",
    "pronoun_is_right",
    "training_pairs",
    "vocabulary",
]
