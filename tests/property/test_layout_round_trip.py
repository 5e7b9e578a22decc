"""Whatever a text looks like: what is not translated stays as it was, and every sentence goes back to its place."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vitrail.layout import KINDS, read_document
from vitrail.layout.html import _tokens
from vitrail.layout.marks import Mark, place
from vitrail.layout.sentences import LONGEST, sentence_spans

WORDS = st.sampled_from(
    ["The cat", "sleeps.", "Mr. Smith", "is 3.5 m", "tall!", "Why?", "«Oui»", "No", "snow ❄", "私は。"]
)
GAPS = st.sampled_from(
    [" ", "  ", "\n", "\r\n", "\n\n", "\t", " \n ", "\u2028", "\x0b", "- ", "1. ", " x " * 30 + "\n"]
)
TEXTS = st.lists(st.one_of(WORDS, GAPS, st.text(max_size=6)), max_size=25).map("".join)
TAGS = [
    "<b>",
    "</b>",
    '<a href="x>y">',
    "</a>",
    "<p>",
    "</p>",
    "<br/>",
    "<!-- c -->",
    "<code>x y</code>",
    "&amp;",
    "&nbsp;",
]
HTML = st.lists(st.one_of(WORDS, GAPS, st.sampled_from(TAGS), st.text("<>&\"'/ab ", max_size=6)), max_size=25).map(
    "".join
)


def same(text, kind):
    document = read_document(text, kind, language="en")
    return document.filled(document.sentences)


@given(TEXTS)
@example("A first line that is long enough to be broken, as this one\nwas. Then\n\tmore.\r\n")
@example("\ud800 half. Another!\0")
def test_a_plain_text_keeps_every_character_around_its_sentences(text):
    assert same(text, "text") == text


@given(TEXTS)
def test_sentences_hold_no_line_break_and_no_space_around(text):
    for sentence in read_document(text).sentences:
        assert sentence == sentence.strip()
        assert not re.search(r"[\n\r]", sentence)
        assert len(sentence) <= LONGEST


@given(st.text(min_size=1, max_size=2000).map(lambda text: text * 3), st.sampled_from(["en", "fr", "ja", "xx", None]))
def test_sentences_are_found_in_order_and_nothing_but_spaces_is_left_out(text, language):
    spans, at = sentence_spans(text, language), 0
    for start, end in spans:
        assert at <= start < end
        assert not text[at:start].strip()
        at = end
    assert not text[at:].strip()


@given(HTML)
@example('<a "' * 5)
@example("<p>One <b>two.</b> Three</p>")
def test_html_keeps_all_of_its_tags_in_order(text):
    document = read_document(text, "html", language="en")
    for said in (document.sentences, ["X" for _ in document.sentences], ["<b>&" for _ in document.sentences]):
        filled = document.filled(said)
        assert [raw for is_tag, raw, _ in _tokens(filled) if is_tag] == [
            raw for is_tag, raw, _ in _tokens(text) if is_tag
        ]


@settings(max_examples=50)
@given(st.sampled_from(list(KINDS)), st.one_of(TEXTS, HTML))
def test_every_kind_takes_any_text(kind, text):
    if kind == "po":
        text = f'msgid "{re.sub(r"[^ -~]", "", text).replace(chr(92), "").replace(chr(34), "")}"\nmsgstr ""\n'
    document = read_document(text, kind, language="en")
    assert isinstance(document.filled(["été"] * len(document.sentences)), str)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["un", "deux", "trois", ",", "Paris"]), max_size=8).map(" ".join),
    st.lists(st.sampled_from(["one", "two", "three", ".", "Paris"]), max_size=8).map(" ".join),
    st.data(),
)
def test_marks_stand_between_words_in_their_order(source, translation, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(source)), max_size=4)))
    marks = [Mark(at, f"<{number}>", opens=data.draw(st.booleans())) for number, at in enumerate(places)]
    placed = place(source, marks, translation, str)
    assert re.findall(r"<\d>", placed) == [mark.markup for mark in marks]
    assert re.sub(r"<\d>", "", placed) == translation
    assert not re.search(r"\w<\d>\w", placed)


@pytest.mark.parametrize("kind", ["text", "html", "markdown", "srt"])
@pytest.mark.parametrize(
    "hostile", ["<!--", "a. ", "!", "<a '", "x", "\n", "**", "`", "[](", "<code>", "&#", " ", "_a", "| "]
)
def test_a_long_text_of_one_thing_is_read(kind, hostile):
    text = hostile * (6_000 // len(hostile))
    assert isinstance(same(text, kind), str)
