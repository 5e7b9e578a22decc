"""Where the sentences of running text begin and end. The rules of each language are the sentencex library's."""

from __future__ import annotations

import re

LONGEST = 400  # characters: a longer sentence is translated in parts, as no model has learned from such
_AT_ONCE = 4000  # characters: some texts, such as 200,000 exclamation marks, take the library quadratic time
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_PAUSE = re.compile(r"[;:,،、；，]\s*|\s+")


def sentence_spans(text: str, language: str | None) -> list[tuple[int, int]]:
    """The (start, end) of every sentence, without the spaces around it. Unknown languages are split like English."""
    spans: list[tuple[int, int]] = []
    at = 0
    for part in _segments(text, language or "en"):
        spans += _bare(text, at, at + len(part))
        at += len(part)
    return spans


def _segments(text: str, language: str) -> list[str]:
    """The text, cut between its sentences."""
    import sentencex

    # The library is written in Rust, whose strings hold no half characters. One character for one keeps the places.
    text = _LONE_SURROGATES.sub("\ufffd", text)
    found: list[str] = []
    at = 0
    while at < len(text):
        end = at + _AT_ONCE
        if end < len(text):
            end = text.rfind(" ", at + _AT_ONCE // 2, end) + 1 or end
        segments: list[str] = sentencex.segment(language, text[at:end])
        # If it lost something: better one long sentence than a hole.
        found += segments if sum(map(len, segments)) == len(text[at:end]) else [text[at:end]]
        at = end
    return found


def _bare(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """A sentence without the spaces around it, in parts if it is too long, or nothing."""
    part = text[start:end]
    start, end = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
    if start >= end:
        return []
    spans = []
    while end - start > LONGEST:
        cut = _last_pause(text, start)
        spans.append((start, start + len(text[start:cut].rstrip())))
        start = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
    return [*spans, (start, end)] if start < end else spans


def _last_pause(text: str, start: int) -> int:
    """Where to cut a long sentence: after its last comma or the like, else after a word, else anywhere."""
    best = 0
    for found in _PAUSE.finditer(text, start + LONGEST // 2, start + LONGEST):
        if best == 0 or not found[0].isspace() or text[best - 1].isspace():
            best = found.end()
    return best or start + LONGEST
