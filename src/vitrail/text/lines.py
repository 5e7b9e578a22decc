"""What a line of input looks like before any vocabulary reads it: a sentence, several, or nothing to translate."""

from __future__ import annotations

import re

# Titles and other words that are followed by a full stop inside a sentence, in some European languages.
_BEFORE_A_STOP = """
    abs adm al anm apr approx art aug aufl ave bd bde bldg blvd blz bros bsp bzw ca capt cf ch chap cie co col corp dec
    dept dgl dhr dipl dir dr dra drs ebd ed eds einschl entspr enz erg esq est etc ev evtl ex exkl feb fig figs fn fr
    frl ft geb gegr gen gest ggf gov hl hon hr hrsg inc ing inkl jan jh jr jul jun kap lfd lic lt ltd maj mar max me
    mevr mg mgr min mind mio mlle mlles mm mme mmes mr mrd mrs ms msgr mt mtn mw nl no nos nov nr num núm oct okt op
    pag par pág págs pf pp prof profa rd ref rep resp rev sec sen sep sept sgt sig sog sr sra sras sres srs srta st sta
    ste sto str tab tel tsd uds univ urspr usw vgl vol vols vs wg zzt
"""
_ABBREVIATIONS = frozenset(_BEFORE_A_STOP.split())
_LONGEST_WORD = 40  # as much as is looked at before a mark
_QUOTES = "\"'‘’“”„«»()[]¿¡–—"
_END = re.compile(rf"(?<![.!?।؟])([.!?।؟]+)[{re.escape(_QUOTES)}]*\s+[-{re.escape(_QUOTES)}]*\s?(\w)")
_WIDE_END = re.compile(r"[。！？][」』”’）]*\s*\w")  # Chinese and Japanese put no space between sentences


def is_translatable(text: str) -> bool:
    """Whether there is something to translate: at least one letter, and no NUL, which text never contains."""
    return "\0" not in text and any(map(str.isalpha, text))


def holds_several_sentences(line: str) -> bool:
    """Whether the line clearly holds more than one sentence. If in doubt, as after an abbreviation, it does not."""
    if _WIDE_END.search(line):
        return True
    return any(_is_boundary(line, found.start(), found[1], found[2]) for found in _END.finditer(line))


def _is_boundary(line: str, at: int, mark: str, first: str) -> bool:
    """Whether a sentence ends with this mark. The next begins with a capital, or with a letter that has no case."""
    before = line[max(0, at - _LONGEST_WORD) : at].split()
    if not before or not first.isalpha() or first.islower():
        return False
    if set(mark) != {"."}:
        return True
    word = re.split(r"[-'’]", before[-1].strip(_QUOTES))[-1].lower()
    # Neither an ellipsis nor a single letter ("M.", "z. B.") nor a number ("am 3. Mai") nor "U.S." ends a sentence.
    return mark == "." and len(word) > 1 and word.isalpha() and word not in _ABBREVIATIONS
