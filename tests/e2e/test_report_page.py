"""The report of a test set in the browser: from a bad sentence to its cause and into the window, without a network."""

import pytest
from page_fixtures import verified, watch

from vitrail.evaluate import compare
from vitrail.evaluate.diagnosis import Translated, diagnose, scores_of
from vitrail.explain.report import write_report

SOURCES = ["w1 w2", "w3", "w4 w5 w6", "w7 zebra", "w8 w9"]
REFERENCES = ["w1 w2", "w3 </script> w1", "w4 w5 w6 w7", "w7 w8", "w9 w8 w9"]


@pytest.fixture
def report(small_translator, tmp_path):
    translator = small_translator()
    done = translator.translate(SOURCES, to="fr", on_unknown="skip")
    own = Translated("ours", [one.text for one in done], [one.unknown for one in done])
    systems = [own, Translated("<b>theirs</b>", REFERENCES, [()] * 5)]
    measured = compare({each.name: each.texts for each in systems}, REFERENCES, resamples=20)
    files = write_report(
        tmp_path / "report.html",
        diagnose(systems, SOURCES, REFERENCES),
        translator=translator,
        systems=[each.name for each in systems],
        metrics=scores_of(measured),
        to="fr",
        decode=translator.config,
        pages=2,
    )
    assert [file.exists() for file in files] == [True] * 3, "the report, and two pages"
    return files[0]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_bad_sentence_leads_to_its_cause(report, browser, width):
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    page, troubles = context.new_page(), []
    watch(page, troubles)
    page.goto(report.as_uri())
    assert page.locator("article").count() == 5
    assert page.locator("h1").inner_text() == "ours and <b>theirs</b>"
    assert page.locator(".scores tbody tr").count() == 2
    assert "p = " in page.locator(".scores tbody tr").nth(1).inner_text()
    scores = [float(text) for text in page.locator(".score").all_inner_texts()]
    assert scores == sorted(scores)
    untranslated = page.locator("article[data-line='4']")
    assert "not translated: zebra" in untranslated.inner_text()
    assert untranslated.locator(".cause").count() == 0
    caused = page.locator("article[data-line='1'] .cause")
    assert caused.inner_text().startswith(("Model error", "Search error"))
    assert page.locator("article[data-line='1'] .step").count() == 3  # w1 w2 <eos>
    assert "no tokens for" in page.locator("article[data-line='2'] .cause").inner_text()

    page.select_option("#order", "file")
    assert page.locator("article .aside .quiet").all_inner_texts() == [f"line {n}" for n in range(1, 6)]
    page.locator(".chip", has_text="not translated").click()
    assert page.locator("article").count() == 1
    page.locator(".chip", has_text="all").click()

    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    sentence = page.locator("article:has(a):has(.step)").first
    said = sentence.locator(".cause").inner_text()
    sentence.locator("a").click()
    assert verified(page)
    assert page.url.endswith("#view=search")
    assert said in page.locator(".explanation").inner_text(), "the page finds the same as Python"
    assert page.locator(".explanation .step").count() > 1
    assert not troubles, troubles
    context.close()
