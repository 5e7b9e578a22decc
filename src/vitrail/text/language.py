"""Which language a text is written in, by the py3langid library. Its table takes half a second to load, once."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Any

# The commonest words of a language that say little but give it away.
_COMMON = {
    "de": "der die das und ist nicht ein eine ich zu den mit sie auf für wir du hat war auch es dem im",
    "en": "the of and to is in that it was you are have with this for not my he she they we where what at",
    "es": "el los las que es una por con para del está muy como pero su al yo se mi no un",
    "fr": "le la les des est et que qui je vous ne pas une dans pour il elle nous mon où au du sur un",
    "it": "il che di è non una per sono con gli della mi si ho questo come ma del un",
    "nl": "het een en van niet is dat ik de zijn op te met voor je we hij wat er",
    "pt": "o os que não uma com para é do da em um se eu você mas como muito está",
}
_WORD = re.compile(r"[^\W\d_]+")
_LEAST = 2  # such words before the library is asked
_SURE = 0.95


def detect(text: str, languages: Collection[str]) -> list[tuple[str, float]]:
    """These languages with the probability that the text is written in it, best first. Those unknown to it get none."""
    identifier = _identifier()
    scores = dict(identifier.rank(text[:2000]))
    known = {language: scores[language] for language in languages if language in scores}
    total = sum(known.values())
    found = [(language, known[language] / total if total else 1 / len(known)) for language in known]
    found += [(language, 0.0) for language in languages if language not in known]
    return sorted(found, key=lambda one: -one[1])


def is_plainly(text: str, language: str, instead_of: str) -> bool:
    """Whether the text is clearly in the first of two languages. Costs next to nothing unless it looks so."""
    if language not in _COMMON or instead_of not in _COMMON:
        return False
    ours, theirs = set(_COMMON[language].split()), set(_COMMON[instead_of].split())
    words = {word.lower() for word in _WORD.findall(text[:2000])}
    if len(words & (ours - theirs)) < _LEAST or words & (theirs - ours):
        return False
    (best, share), *_ = detect(text, (language, instead_of))
    return best == language and share >= _SURE


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
