"""Translations that must contain terms: against every translation, whole words in any spelling, and one by one."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import vitrail
from vitrail.config import DecodeConfig, ModelConfig
from vitrail.decode import score, search
from vitrail.decode.constrained import worth
from vitrail.decode.terms import Form, Term, Terms
from vitrail.errors import DataError, DecodeError, TextError
from vitrail.glossary import Glossary
from vitrail.model import Transformer
from vitrail.runtime import Job, Runtime
from vitrail.text import Subwords, Tokenizers
from vitrail.text.special import BOS, EOS
from vitrail.translator import Translator

FORBIDDEN = (0, 1, 2)
IDS = (4, 5, 6)
CORPUS = ["the cat sleeps on the table, and the dog isn't there", "The catalogue is on a table in the theatre of cats"]


def model(seed: int, vocabulary: int) -> Transformer:
    torch.manual_seed(seed)
    config = ModelConfig(d_model=16, heads=2, d_ff=24, encoder_layers=1, decoder_layers=1, tie_embeddings="none")
    made = Transformer(config, vocabulary, vocabulary).eval().double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


@cache
def tiny(seed: int) -> Transformer:
    return model(seed, 7)


@cache
def translator(seed: int) -> Translator:
    subwords = Subwords.train(CORPUS * 5, "bpe", 330, [])
    runtime = Runtime.of_model(model(seed, subwords.size), threads=1)
    return Translator(runtime, Tokenizers(subwords, subwords), DecodeConfig(max_extra=8))


def holds(ids: tuple[int, ...], term: Term, continuing: tuple[int, ...], closing: tuple[int, ...]) -> bool:
    """The definition: a form is there, as a whole word."""
    for form in term.forms:
        for begin in range(len(ids)):
            end = begin + len(form.ids)
            is_begun = not form.follows or (begin and ids[begin - 1] in closing)
            if ids[begin:end] == form.ids and is_begun and not (ids[end : end + 1] and ids[end] in continuing):
                return True
    return False


forms = st.builds(
    Form, st.lists(st.sampled_from(IDS), min_size=1, max_size=3).map(tuple), st.sampled_from([False, False, True])
)
terms = st.builds(
    Terms,
    st.lists(
        st.builds(Term, st.lists(forms, min_size=1, max_size=2).map(tuple), st.sampled_from([frozenset(), {0}])),
        min_size=1,
        max_size=2,
    ).map(tuple),
    st.sampled_from([(), (6,)]),
    st.sampled_from([(), (5,)]),
    st.just((0,)),
)


@settings(deadline=None)
@given(asked=terms, ids=st.lists(st.sampled_from(IDS), max_size=7).map(tuple))
def test_progress_is_complete_if_every_term_is_there_as_a_whole_word(asked, ids):
    found = asked.progress(ids)
    assert found.is_complete == all(holds(ids, term, asked.continuing, asked.closing) for term in asked.terms)
    assert found.is_complete == (found.met == asked.weight)


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 5), asked=terms, penalty=st.sampled_from(["length", "gnmt"]))
def test_a_grid_as_wide_as_the_space_finds_the_best_translation_that_has_the_terms(seed, asked, penalty):
    source, limit = [5, EOS], 4
    config = DecodeConfig(beam_size=200, top_beams=200, max_extra=2, penalty=penalty)
    rows = [(*ids, EOS) for length in range(limit) for ids in product(IDS, repeat=length)]
    rows += product(IDS, repeat=limit)
    rows = [
        row
        for row in rows
        if all(
            holds(row[: -1 if row[-1] == EOS else None], term, asked.continuing, asked.closing) for term in asked.terms
        )
    ]
    rows = [row for row in rows if not goes_on_in_vain(tiny(seed), source, row, asked)]
    found = search(tiny(seed), [source], config, forbidden=FORBIDDEN, terms=[asked])[0]
    if not rows:  # there is no room: the ordinary search, whatever it finds
        ordinary = search(tiny(seed), [source], config, forbidden=FORBIDDEN)[0]
        assert [one.row for one in found] == [one.row for one in ordinary]
        return
    scored = score(tiny(seed), [source] * len(rows), rows, config)
    scored.sort(key=lambda one: -worth(sum(one.log_probs), len(one.row)))
    assert [one.row for one in found] == [one.row for one in scored]
    assert [one.score for one in found] == pytest.approx([one.score for one in scored])


def test_a_term_must_be_a_whole_word():
    spaced = Terms((Term((Form((4,)),)),), continuing=(6,), closing=(5,))
    assert [spaced.progress(ids).is_complete for ids in [(4,), (4, 6), (4, 5), (4, 6, 4)]] == [True, False, True, True]
    bare = Terms((Term((Form((4,), follows=True),)),), continuing=(6,), closing=(5,))
    assert [bare.progress(ids).is_complete for ids in [(4,), (6, 4), (5, 4), (5, 4, 6)]] == [False, False, True, False]
    assert [bare.progress(ids).wanted(None) for ids in [(), (6,), (5,)]] == [set(), set(), {4}]


def test_terms_may_overlap():
    asked = Terms((Term((Form((4, 4)),)), Term((Form((4, 4, 4)),))), (), (), (0,))
    found = search(tiny(0), [[5, EOS]], DecodeConfig(max_extra=1), forbidden=FORBIDDEN, terms=[asked])[0]
    assert [one.ids for one in found] == [(4, 4, 4)]


def goes_on_in_vain(made: Transformer, source: list[int], row: tuple[int, ...], asked: Terms) -> bool:
    """Whether the model would rather have ended somewhere, and yet no term follows there."""
    log_probs = made.log_probs(torch.tensor([source]), torch.tensor([[BOS, *row[:-1]]]))[0]
    for step, token_id in enumerate(row):
        progress = asked.progress(row[:step])
        best = max((EOS, *IDS), key=lambda number: log_probs[step, number].item())
        if not progress.is_complete and best == EOS and token_id not in progress.wanted(None):
            return True
    return False


batches = st.lists(st.lists(st.sampled_from(IDS), max_size=4).map(lambda ids: [*ids, EOS]), min_size=1, max_size=4)


@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 5), batch=batches, asked=st.lists(terms | st.none(), min_size=4, max_size=4))
def test_sentences_with_and_without_terms_do_not_influence_each_other(seed, batch, asked):
    config, runtime = DecodeConfig(beam_size=2, top_beams=2, max_extra=4), Runtime.of_model(tiny(seed), threads=1)
    asked = asked[: len(batch)]
    together = runtime.search(Job(batch, config, FORBIDDEN, terms=asked))
    for source, one, found in zip(batch, asked, together, strict=True):
        (alone,) = runtime.search(Job([source], config, FORBIDDEN, terms=None if one is None else [one]))
        assert [best.row for best in found] == [best.row for best in alone]


GLOSSARIES = [
    {"cat": "dog"},
    {"cat": "the theatre", "table": ["catalogue", "cats"]},
    {"sleeps": "is on a table", "cat": "cat"},
    {"the cat": "table", "cat": "dog", "table": "isn't"},
]


@settings(deadline=None, max_examples=12)
@given(
    seed=st.integers(0, 3),
    glossary=st.sampled_from(GLOSSARIES),
    text=st.sampled_from(["the cat sleeps on the table", "Cat", "a table, the cat's", "The cat sleeps"]),
    beam_size=st.integers(1, 3),
)
def test_every_translation_has_its_terms_as_words(seed, glossary, text, beam_size):
    found = translator(seed).translate(text, glossary=glossary, beam_size=beam_size, top_beams=beam_size)
    wanted = [one.targets for one in Glossary.of(glossary).found(text)]
    assert wanted or glossary.keys() == {"sleeps", "cat"}
    for one in found.alternatives:
        for targets in wanted:
            assert any(re.search(rf"(?<!\w)(?i:{re.escape(target)})(?!\w)", one.text) for target in targets), one.text
    assert found.missing == ()


def test_a_term_without_room_is_reported_and_the_translation_is_the_ordinary_one():
    one = translator(0)
    short = one.config.model_copy(update={"max_extra": 0})
    glossary = {"cat": "the theatre of cats on a table in the theatre"}
    found = one.translate("cat", decode=short, glossary=glossary)
    plain = one.translate("cat", decode=short)
    assert (found.text, found.missing, found.to_dict()["missing"]) == (plain.text, ("cat",), ["cat"])


def test_a_glossary_without_effect_changes_nothing():
    one, text = translator(1), "the cat sleeps"
    assert one.translate(text, glossary={"dog": "table"}) == one.translate(text) == one.translate(text, glossary={})
    assert list(one.stream([text], glossary={"dog": "table"})) == [one.translate(text)]


def test_only_sentences_with_terms_leave_the_fastest_engine():
    runtime = vitrail.load("builtin", threads=1).runtime
    asked = Terms((Term((Form((500,)),)),), (), ())
    assert runtime.engine_for(Job([[5, EOS]], DecodeConfig(), terms=[None])).name == "ctranslate2"
    assert runtime.engine_for(Job([[5, EOS]], DecodeConfig(), terms=[asked])).name == "torch"
    with pytest.raises(DecodeError, match="does not search for terms"):
        runtime.engine_for(Job([[5, EOS]], DecodeConfig(engine="ctranslate2"), terms=[asked]))


def test_drawing_and_terms_exclude_each_other():
    config = DecodeConfig(sample=True)
    assert translator(0).translate("dog", decode=config, glossary={"cat": "dog"}).text is not None
    with pytest.raises(DecodeError, match="drawn at random"):
        translator(0).translate("cat", decode=config, glossary={"cat": "dog"})


def test_the_longest_of_overlapping_terms_counts_and_case_matters_where_it_is_written():
    glossary = Glossary.of({"ice cream": "glace", "cream": "crème", "Polish": "polonais", "l'eau": "water"})

    def found(text: str) -> list[str]:
        return [one.source for one in glossary.found(text)]

    assert found("Ice cream and CREAM.") == ["ice cream", "cream"]
    assert found("ice  cream") == ["ice cream"]
    assert found("creamy ice, polish, Polish!") == ["Polish"]
    assert found("De l'eau, de L'eau") == ["l'eau"]
    assert [sorted(one.words) for one in glossary.found("a cream, or cream")] == [[1, 3]]


@pytest.mark.parametrize(
    ("content", "message", "where"),
    [
        ("cat\tdog\nno tab\n", "no tab", "line 2"),
        ("a\tb\tc\n", "more than one tab", "line 1"),
        ("\n\tdog\n", "the term is empty", "line 2"),
        ("cat\t \n", "the translation is empty", "line 1"),
    ],
)
def test_malformed_files_name_the_line(tmp_path, content, message, where):
    (tmp_path / "terms.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message) as raised:
        Glossary.read(tmp_path / "terms.tsv")
    assert where in str(raised.value)


def test_a_file_may_have_several_translations_of_a_term(tmp_path):
    (tmp_path / "terms.tsv").write_text("cat\tdog\n\ntable\tdesk\r\ncat\thound\n", encoding="utf-8")
    assert Glossary.read(tmp_path / "terms.tsv") == Glossary.of({"cat": ["dog", "hound"], "table": "desk"})


def test_words_that_the_model_cannot_write_are_refused(small_translator):
    with pytest.raises(TextError, match="does not know 'tomcat'") as raised:
        small_translator().translate("w1 w2", to="en", glossary={"w1": "tomcat"})
    assert raised.value.where == "the glossary"
    assert "w7" in small_translator().translate("w1 w2", to="en", glossary={"w1": "w7"}).tokens


def test_terms_are_searched_for_in_float32_if_the_settings_ask_for_less():
    builtin = vitrail.load("builtin", threads=1)
    config = builtin.config.model_copy(update={"precision": "int8", "beam_size": 2})
    texts = ["Merci.", "Le chat dort."]
    found = builtin.translate(texts, to="en", decode=config, glossary={"chat": "tomcat"})
    assert "tomcat" in found[1].text
    assert found[0].text == builtin.translate(texts[:1], to="en", decode=config)[0].text
    in_text = builtin.translate_text("Le chat dort. Merci.", to="en", glossary={"chat": "tomcat"}).text
    assert "tomcat" in in_text
