"""A page with its model inside, in the browser: it translates what is typed, as Python does, without a server."""

import re

import pytest
from page_fixtures import verified, watch

from vitrail.translator import load

SENTENCES = [
    ("merci", "en"),
    ("je suis étudiant", "en"),
    ("le chat noir dort", "en"),
    ("i am a student", "fr"),
    ("the dog sleeps", "fr"),
]


@pytest.fixture(scope="module")
def live_file(phrases, tmp_path_factory):
    """A live page of a small model, and a translator with the very weights that it holds."""
    from vitrail.explain.model_file import model_file

    translator = load(phrases)
    explanation = translator.explain("je suis étudiant", to="en")
    assert explanation.model is not None, "a small model goes into its page without being asked for"
    path = explanation.save(tmp_path_factory.mktemp("live") / "page.html")
    return path, model_file(translator).translator


@pytest.fixture
def page(browser):
    """A browser's page without a network, in which nothing goes wrong."""
    troubles = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", offline=True)
    page = context.new_page()
    watch(page, troubles)
    yield page
    context.close()
    assert not troubles, troubles


def type_in(page, sentence, to):
    """Type a sentence, choose a language, press Enter; gives the translation that the page then shows."""
    page.locator("select[name=to]").select_option(to)
    box = page.get_by_label("Sentence to translate")
    box.fill(sentence)
    box.press("Enter")
    page.locator(".sentence-source").filter(has_text=re.compile(f"^{re.escape(sentence)}$")).wait_for()
    return shown(page)


def shown(page):
    page.locator("html:not([data-busy])").wait_for(state="attached")
    return page.locator(".sentence-target").inner_text().split("before:")[0].removeprefix("→ ").strip()


def badge(page):
    page.locator("html[data-verified=ok], html[data-verified=failed]").wait_for(state="attached")
    page.wait_for_function("document.querySelector('.badge-word').textContent !== 'checking…'")
    return page.locator(".badge").evaluate("node => node.textContent")


def test_a_file_translates_what_is_typed_as_python_does(page, live_file):
    path, translator = live_file
    page.goto(f"{path.as_uri()}#view=black-box")
    assert verified(page)
    # Python recorded the first sentence. The page's own model recomputes all of it.
    assert "100% checked" in badge(page) and "from the model’s weights and the sentence alone" in badge(page)
    assert len(page.workers) == 1, "the page's own thread, which typing needs, does not compute"
    for sentence, to in SENTENCES:
        expected = translator.trace(sentence, to=to, layers=[])
        assert type_in(page, sentence, to) == (expected.text or "(nothing)")
        assert "100% checked" in badge(page)
    assert page.locator(".needs-studio").count() == 0


def test_heads_beams_first_words_and_references_need_no_studio(page, live_file):
    path, translator = live_file
    page.goto(path.as_uri())
    assert verified(page)
    page.evaluate("location.hash = 'view=heads'")  # an address without a sentence means the one that the file holds
    page.locator('[data-key="switch-0"]').click()
    page.locator(".what-if").filter(has_text="head 0 of encoder.0.self_attention off").wait_for()
    off = {"encoder.0.self_attention": [0]}
    assert shown(page) == (translator.trace("je suis étudiant", to="en", heads_off=off).text or "(nothing)")
    assert "100% checked" in badge(page)
    page.locator('[data-key="undo-what-if"]').click()
    page.locator(".what-if").wait_for(state="detached")

    page.goto(f"{page.url.split('#')[0]}#view=search&text=merci&to=en")
    page.locator(".sentence-source").filter(has_text=re.compile("^merci$")).wait_for()
    page.locator('[data-key="search-beam_size"]').fill("8")
    page.get_by_label("first words of the translation").fill("i am")
    page.locator('[data-key="search-again"]').click()
    page.locator(".what-if").filter(has_text="beam_size = 8").wait_for()
    assert shown(page).startswith("i am")
    assert "100% checked" in badge(page)
    page.locator('[data-key="search-draw"]').evaluate("button => button.click()")  # it is folded away
    page.locator(".what-if").filter(has_text="sample = true").wait_for()
    assert "100% checked" in badge(page)

    page.goto(f"{page.url.split('#')[0]}#view=loss&text=merci&to=en")
    page.locator("html:not([data-busy])").wait_for(state="attached")
    page.evaluate("document.querySelectorAll('main details').forEach(node => (node.open = true))")
    page.get_by_label("Reference translation").fill("thanks")
    page.get_by_label("Reference translation").press("Enter")
    page.wait_for_function("location.hash.includes('reference=thanks')")
    page.locator("html:not([data-busy])").wait_for(state="attached")
    assert "100% checked" in badge(page)
    for text in page.locator("main").all_inner_texts():
        assert "vitrail studio" not in text


def test_words_that_it_does_not_know_are_named(page, live_file):
    path, _ = live_file
    page.goto(f"{path.as_uri()}#view=black-box")
    assert verified(page)
    box = page.get_by_label("Sentence to translate")
    box.fill("xyzzy merci")
    box.press("Enter")
    page.locator(".problem").filter(has_text="this model does not know 'xyzzy'").wait_for()
    assert type_in(page, "merci", "en")


def test_a_notebooks_frame_without_an_origin_translates_too(page, live_file, tmp_path):
    _, translator = live_file
    cell = translator.explain("je suis étudiant", to="en")._repr_html_()
    (tmp_path / "cell.html").write_text(f"<!doctype html><meta charset=utf-8>{cell}", encoding="utf-8")
    page.goto((tmp_path / "cell.html").as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("html[data-verified=ok]").wait_for(state="attached")
    box = inside.get_by_label("Sentence to translate")
    box.fill("merci")
    box.press("Enter")
    inside.locator(".sentence-source").filter(has_text=re.compile("^merci$")).wait_for()
    assert translator.trace("merci", to="en").text in inside.locator(".sentence").inner_text()
