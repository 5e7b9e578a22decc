"""Texts taken apart: which sentences are found, and where tags, line breaks and numbers go."""

import json

import pytest
from typer.testing import CliRunner

from vitrail.cli import app
from vitrail.errors import DataError
from vitrail.layout import kind_of_file, read_document
from vitrail.translator import load


def shouted(text, kind="text"):
    """The text with its sentences in capitals."""
    document = read_document(text, kind, language="en")
    return document.sentences, document.filled([sentence.upper() for sentence in document.sentences])


def test_a_line_break_ends_a_sentence_unless_the_line_was_broken_to_fit():
    text = (
        "Dear Mr. Smith,\n\n  how are you?  I am fine.\r\n"
        "This is a very long line that was broken to fit\nthe width of a page. And on.\n\t- item\n12:30\nend"
    )
    sentences, filled = shouted(text)
    assert sentences == [
        "Dear Mr. Smith,",
        "how are you?",
        "I am fine.",
        "This is a very long line that was broken to fit the width of a page.",
        "And on.",
        "item",
        "end",
    ]
    assert filled == text.upper()


@pytest.mark.parametrize(
    ("html", "sentences", "filled"),
    [
        ("<p>My <b>old cat</b> sleeps.</p>", ["My old cat sleeps."], "<p>MY <b>OLD CAT</b> SLEEPS.</p>"),
        ("a &lt; b &amp; c", ["a < b & c"], "A &lt; B &amp; C"),
        ("<i>One. Two.</i> Three", ["One.", "Two.", "Three"], "<i>ONE. TWO.</i> THREE"),
        ("The <code>f()</code> one.", ["The one."], "THE <code>f()</code> ONE."),
        ("Use <code>f()</code>.", ["Use."], "USE <code>f()</code>."),
        ("<script>a < b</script><p>Hi", ["Hi"], "<script>a < b</script><p>HI"),
        ("<p translate=no>Kept <b>whole</b></p> not", ["not"], "<p translate=no>Kept <b>whole</b></p> NOT"),
        ("<div>\n  <p>\n    Hi\n  </p></div>", ["Hi"], "<div>\n  <p>\n    HI\n  </p></div>"),
        ("one<br>two", ["one", "two"], "ONE<br>TWO"),
        ("<img src=x> 12 &euro;", [], "<img src=x> 12 &euro;"),
        ("un<b>believ</b>able", ["unbelievable"], None),
        ('<a title="a>b">x</a', ["x"], None),
    ],
)
def test_html_is_translated_between_its_tags(html, sentences, filled):
    found, made = shouted(html, "html")
    assert found == sentences
    if filled is not None:
        assert made == filled


def test_tags_stay_around_names_and_numbers_wherever_these_go():
    document = read_document("In <b>Paris</b> it was <i>25</i> degrees.", "html", language="en")
    assert document.filled(["À Paris il faisait 25 degrés."]) == "À <b>Paris</b> il faisait <i>25</i> degrés."
    document = read_document("Meet <b>Anna</b> today.", "html", language="en")
    assert document.filled(["Heute triff Anna."]) == "Heute triff <b>Anna</b>."


def test_markdown_keeps_its_signs_code_and_addresses():
    text = (
        "# A title\n\nSome *emphasis* and `code here` text. A [link](http://x.y) to\ngo. snake_case_word\n\n"
        "> a quote\n> goes on\n\n- **c** d\n\n```\nint main\n```\n\n| a b | c |\n|--|--|\n| x y | z. W |\n"
    )
    sentences, filled = shouted(text, "markdown")
    assert sentences[:5] == [
        "A title",
        "Some emphasis and text.",
        "A link to go.",
        "snake_case_word",
        "a quote goes on",
    ]
    kept = ("code here", "http://x.y", "int main")
    wanted = text.upper()
    for one in kept:
        wanted = wanted.replace(one.upper(), one)
    assert filled == wanted


def test_subtitles_keep_their_times_and_their_number_of_lines():
    text = (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\nHello there, my old\r\nfriend & <i>foe</i>.\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\nBye.\r\n"
    )
    sentences, filled = shouted(text, "srt")
    assert sentences == ["Hello there, my old friend & foe.", "Bye."]
    lines = filled.split("\r\n")
    assert len(lines) == len(text.split("\r\n"))
    assert " ".join(lines[2:4]) == "HELLO THERE, MY OLD FRIEND & <i>FOE</i>."
    assert [line for line in lines if "-->" in line] == [line for line in text.split("\r\n") if "-->" in line]


def test_messages_without_a_translation_get_one_that_a_person_should_look_at():
    text = (
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open the file.\\nNow"\nmsgstr ""\n\n'
        'msgid "done"\nmsgstr "fait"\n\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    )
    sentences, filled = shouted(text, "po")
    assert sentences == ["Open the file.", "Now", "%d files"]
    assert '"OPEN THE FILE.\\n"\n"NOW"' in filled
    assert 'msgstr "fait"' in filled
    assert filled.count("#, fuzzy") == 2
    assert filled.count('] "%D FILES"') == 2


def test_a_kind_that_is_none():
    with pytest.raises(DataError, match="no kind of text"):
        read_document("x", "docx")
    with pytest.raises(DataError, match="not a message catalogue"):
        read_document("this is prose\nand more", "po")


def test_a_file_is_what_its_name_says(tmp_path):
    names = {
        "a.html": "html",
        "a.HTM": "html",
        "a.md": "markdown",
        "a.srt": "srt",
        "a.po": "po",
        "a.txt": "text",
        "a": "text",
    }
    assert {name: kind_of_file(tmp_path / name) for name in names} == names


LETTER = "Hello.  Where is the station?\r\n\r\n\tMy brother lives in Paris. Thank you!\r\n12:30\r\n"


def test_a_text_in_python_is_its_sentences_translated():
    translator = load("builtin", threads=1)
    found = translator.translate_text(LETTER, to="fr")
    sentences = ["Hello.", "Where is the station?", "My brother lives in Paris.", "Thank you!"]
    one, two, three, four = (translator.translate(sentence, to="fr").text for sentence in sentences)
    assert found.text == f"{one}  {two}\r\n\r\n\t{three} {four}\r\n12:30\r\n"
    assert [sentence.source for sentence in found.sentences] == sentences
    html = translator.translate_text("<p>Where is <b>the station</b>?</p>", kind="html", to="fr")
    assert html.text.startswith("<p>") and html.text.count("<b>") == html.text.count("</b>") == 1


def test_a_text_from_the_command_line(tmp_path):
    wanted = load("builtin", threads=1).translate_text(LETTER, to="fr")
    given, out = tmp_path / "letter.txt", tmp_path / "brief.txt"
    given.write_bytes(LETTER.encode())
    command = ["translate", "builtin", "--to", "fr", "--document", "--threads", "1"]
    assert CliRunner().invoke(app, [*command, "--input", str(given), "--output", str(out)]).exit_code == 0
    assert out.read_bytes() == wanted.text.encode()
    as_json = CliRunner().invoke(app, [*command, "--input", str(given), "--format", "json"]).stdout
    assert json.loads(as_json) == wanted.to_dict()
    piped = CliRunner().invoke(app, command, input=LETTER.encode())
    assert piped.stdout_bytes == wanted.text.encode()
    (tmp_path / "page.html").write_text("<p>Where is <b>the station</b>?</p>")
    page = CliRunner().invoke(app, [*command, "--input", str(tmp_path / "page.html")]).stdout
    assert "<b>" in page and page.endswith("</p>"), "a file's last line is not ended if it was not"
    assert CliRunner().invoke(app, [*command, "Where is the station?"]).stdout.endswith("?\n")


@pytest.mark.parametrize(
    "option", [("--field", "1"), ("--resume",), ("--ray",), ("--prefix", "x"), ("--warn-below", "0.5")]
)
def test_what_a_text_cannot_be_combined_with(tmp_path, option):
    (tmp_path / "a.txt").write_text("x")
    command = ["translate", "builtin", "--to", "fr", "--document", "--input", str(tmp_path / "a.txt")]
    result = CliRunner().invoke(app, [*command, "--output", str(tmp_path / "b"), *option])
    assert option[0] in str(result.exception)


def test_a_file_that_is_not_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ok\n\xff")
    result = CliRunner().invoke(app, ["translate", "builtin", "--document", "--input", str(tmp_path / "a.txt")])
    assert "not UTF-8" in str(result.exception) and "line 2" in str(result.exception.where)
