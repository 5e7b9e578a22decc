"""Which language a text is in: what is plain is seen, and what is not plain is left alone."""

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vitrail.cli import app
from vitrail.text.language import detect, is_plainly

TATOEBA = Path(__file__).parents[2].parent / "shared" / "data" / "tatoeba-fr-en" / "val.tsv.gz"
ENGLISH = ["Where is the station?", "I do not know what you are doing.", "THE CAT IS ON THE TABLE", "This is it."]
FRENCH = ["Où est la gare ?", "Je ne sais pas ce que vous faites.", "Le chat est sur la table.", "Il est pour vous."]
NEITHER = ["Paris", "OK", "", "12:30", "Taxi!", "chat", "\ud800", "Ça va", "les the le is", "Der Zug ist nicht da."]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_seen_where_french_was_meant(text):
    assert is_plainly(text, "en", instead_of="fr")
    assert not is_plainly(text, "fr", instead_of="en")


@pytest.mark.parametrize("text", FRENCH)
def test_french_is_seen_where_english_was_meant(text):
    assert is_plainly(text, "fr", instead_of="en")
    assert not is_plainly(text, "en", instead_of="fr")


@pytest.mark.parametrize("text", NEITHER)
def test_what_could_be_either_is_left_alone(text):
    assert not is_plainly(text, "en", instead_of="fr")
    assert not is_plainly(text, "fr", instead_of="en")


def test_ordinary_text_does_not_even_load_the_library(monkeypatch):
    monkeypatch.setattr("vitrail.text.language._identifier", lambda: pytest.fail("it was loaded"))
    assert not is_plainly("Je ne sais pas ce que vous faites.", "en", instead_of="fr")
    assert not is_plainly("Anything is possible in the world.", "xx", instead_of="fr")


@pytest.mark.corpora
@pytest.mark.skipif(not TATOEBA.is_file(), reason="needs ../shared/data/tatoeba-fr-en")
def test_real_sentences_give_no_false_alarm():
    with gzip.open(TATOEBA, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t")[:2] for line, _ in zip(lines, range(1000), strict=False)]
    assert not [french for french, _ in rows if is_plainly(french, "en", instead_of="fr")]
    assert not [english for _, english in rows if is_plainly(english, "fr", instead_of="en")]
    assert sum(is_plainly(english, "en", instead_of="fr") for _, english in rows) > len(rows) / 3


def test_languages_are_ranked_with_shares_that_add_up():
    found = detect("Where is the station?", ["fr", "en", "xx"])
    assert [language for language, _ in found] == ["en", "fr", "xx"]
    assert sum(share for _, share in found) == pytest.approx(1)


def test_a_sentence_in_the_wrong_language_is_translated_with_a_warning(tmp_path):
    (tmp_path / "in").write_text("Where is the station?\nJe suis là.\nI am not in the house.\n", encoding="utf-8")
    command = ["translate", "builtin", "--to", "en", "--threads", "1"]
    result = CliRunner().invoke(app, [*command, "--input", str(tmp_path / "in")])
    assert len(result.stdout.splitlines()) == 3
    said = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert "line 1 is plainly in the language that it is translated into ('en'), not in 'fr'" in said[0]
    assert said[1:] == ["warning: … and 1 more line in the language that they are translated into"]
    assert "warning" not in CliRunner().invoke(app, [*command, "Où est la gare ?"]).stderr
