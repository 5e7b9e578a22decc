"""What options ask of every translation: files and lists, warnings, and what a resumed job must have in common."""

from __future__ import annotations

import pytest

from vitrail.cli.asked import Asked
from vitrail.cli.warned import Warned
from vitrail.errors import DataError, TextError
from vitrail.glossary import Glossary
from vitrail.text.restriction import Restriction
from vitrail.translation import Translation


@pytest.fixture
def files(tmp_path):
    (tmp_path / "words").write_text("cat\n\nice cream\n", encoding="utf-8")
    (tmp_path / "terms").write_text("chat\tcat\n", encoding="utf-8")
    return tmp_path


def test_words_may_be_listed_or_in_files(files):
    asked = Asked.of_options(to="en", never=["dog", f"@{files / 'words'}", "@"], glossary=files / "terms")
    assert asked.restrict == Restriction(never=["dog", "cat", "ice cream", "@"])
    assert asked.glossary == Glossary.of({"chat": "cat"})
    assert Asked.of_options(only_tokens=["▁the"]).restrict == Restriction(only_tokens=["▁the"])
    assert Asked.of_options(to="en").restrict is None


def test_a_file_that_is_not_there_is_named(files):
    with pytest.raises(DataError, match=r"no such file|does not exist|cannot read"):
        Asked.of_options(never=[f"@{files / 'nothing'}"])
    with pytest.raises(TextError, match="cannot be combined"):
        Asked.of_options(only=["a"], only_tokens=["b"])


@pytest.mark.parametrize("option", ["never", "only", "never_tokens", "only_tokens"])
def test_an_option_without_any_word_is_refused(files, option):
    (files / "empty").write_text("\n \n", encoding="utf-8")
    for given in ([""], [f"@{files / 'empty'}"]):
        with pytest.raises(DataError, match="no word") as caught:
            Asked.of_options(**{option: given})
        assert caught.value.where == f"--{option.replace('_', '-').removesuffix('s')}"


def test_a_resumed_job_must_be_asked_for_the_same(files):
    def record(**options):
        return Asked.of_options(**options).to_record()

    plain = record()
    assert plain == {"prefix": "", "align": None, "glossary": None, "words": None}
    assert record(glossary=files / "terms") == record(glossary=files / "terms") != plain
    (files / "terms").write_text("chat\tdog\n", encoding="utf-8")
    different = [
        record(glossary=files / "terms"),
        record(never=["a"]),
        record(only=["a"]),
        record(never_tokens=["a"]),
        record(align=True),
        record(prefix="a"),
    ]
    assert len({tuple(one.items()) for one in [plain, *different]}) == len(different) + 1


def test_missing_terms_are_warned_about(capsys):
    translation = Translation("Le chat dort.", "It sleeps.", (), 0.0, (), missing=("chat",))
    with Warned() as warned:
        warned.of_translation(translation, "line 1")
        warned.of_translation(translation, "line 2")
    said = capsys.readouterr().err
    assert "line 1 is translated without the glossary's terms for 'chat'" in said
    assert "1 more line without a term of the glossary" in said
