"""What is wrong with the text: shifted lines, other languages, copies, duplicates, validation data in the training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vitrail.doctor.alignment import shifted_stretches
from vitrail.doctor.case import Case, Finding, Text
from vitrail.text import tidy
from vitrail.text.language import detect

MUCH = 0.02  # the share of a corpus from which something is worth a word
ASKED = 400  # lines of a side whose language is detected
LONG_ENOUGH = 25  # characters: shorter lines could be many languages


def misaligned_stretches(case: Case) -> Iterator[Finding]:
    """Targets that belong to another line's source."""
    for text in case.training:
        stretches = shifted_stretches(
            [one.source or "" for one in text.pairs], [one.target or "" for one in text.pairs]
        )
        if not stretches:
            continue
        lines = sum(one.last - one.first + 1 for one in stretches)
        places = ", ".join(_place(text, one.first, one.last, one.shift) for one in stretches[:3])
        more = ", …" if len(stretches) > 3 else ""
        yield Finding(
            f"in {text.name} about {lines:,} of {len(text.pairs):,} lines are not translations of each other: "
            f"{places}{more}",
            "align the two files again from the first of these lines on, or cut them out of both",
        )


def _place(text: Text, first: int, last: int, shift: int) -> str:
    lines = "1 line" if abs(shift) == 1 else f"{abs(shift)} lines"
    where = "later" if shift > 0 else "earlier"
    return f"lines {text.pairs[first].line:,} to {text.pairs[last].line:,} have their target {lines} {where}"


def wrong_language(case: Case) -> Iterator[Finding]:
    """Lines in another language than their side's."""
    named = {name for pair in case.config.data.directions() for name in pair}
    for text in case.training:
        config = text.corpus.config
        for side, language in (("source", config.source_language), ("target", config.target_language)):
            lines = [line for one in text.pairs if len(line := getattr(one, side) or "") >= LONG_ENOUGH]
            lines = lines[:: max(1, len(lines) // ASKED)][:ASKED]
            if len(lines) < 50:
                continue
            yield from _of_side(text, side, language, lines, named)


def _of_side(text: Text, side: str, language: str | None, lines: list[str], named: set[str]) -> Iterator[Finding]:
    others = named | {"en", "de", "fr", "es", "it", "pt", "nl", "ru", "zh", "ja", "ar", "cs", "pl"}
    found = Counter(detect(line, others | ({language} if language else set()))[0][0] for line in lines)
    expected = language or found.most_common(1)[0][0]
    if expected not in others and not found[expected]:
        return  # a name of the user's own, or a language that the detector does not know
    wrong = Counter({name: count for name, count in found.items() if name != expected})
    share = sum(wrong.values()) / len(lines)
    if share < 2 * MUCH:  # the detector itself is wrong about so many
        return
    most, count = wrong.most_common(1)[0]
    name = f"'{language}'" if language else f"'{expected}', like most of them"
    yield Finding(
        f"in {text.name} {share:.0%} of the {side} lines do not look like {name}; {count / len(lines):.0%} look like "
        f"'{most}' ({len(lines)} lines looked at)",
        "remove those pairs, or check that the sides are not exchanged (source and target, or their fields)",
    )


def copies(case: Case) -> Iterator[Finding]:
    """Pairs whose two sides are the same but for case and space."""
    for text in case.training:
        same = [one for one in text.pairs if tidy(one.source or "").casefold() == tidy(one.target or "").casefold()]
        share = len(same) / max(1, len(text.pairs))
        exact = sum(one.source == one.target for one in same)
        kept = len(same) - (exact if case.config.data.drop_identical else 0)
        if kept / max(1, len(text.pairs)) > MUCH / 2:
            yield Finding(
                f"in {text.name} {share:.1%} of the pairs are copies, from line {same[0].line:,} on, and {kept:,} of "
                "them are trained on",
                "set data.drop_identical = true, and remove those that differ only in case: the model learns to copy",
                "Khayrallah and Koehn 2018: copies of the source are the most harmful noise for neural translation",
            )


def duplicates(case: Case) -> Iterator[Finding]:
    """Pairs that occur more than once."""
    for text in case.training:
        seen = Counter((tidy(one.source or ""), tidy(one.target or "")) for one in text.pairs)
        again = sum(seen.values()) - len(seen)
        if again / max(1, len(text.pairs)) > 5 * MUCH and not case.config.data.drop_duplicates:
            yield Finding(
                f"in {text.name} {again / len(text.pairs):.0%} of the pairs occurred before, and are trained on again",
                "set data.drop_duplicates = true",
            )


def shared_with_validation(case: Case) -> Iterator[Finding]:
    """Validation sentences that are in the training data, which makes the scores too good."""
    trained = {tidy(one.source or "").casefold() for text in case.training for one in text.pairs}
    for text in case.validation:
        shared = [one for one in text.pairs if tidy(one.source or "").casefold() in trained]
        if len(shared) / max(1, len(text.pairs)) > MUCH:
            yield Finding(
                f"{len(shared) / len(text.pairs):.0%} of the sources in {text.name} are also trained on, for example "
                f"line {shared[0].line:,}: validation scores are too good",
                "remove these sentences from the training data, or leave the validation data out and set data.hold_out",
            )
