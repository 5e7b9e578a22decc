"""The studio end to end: the real command, a real port and a real browser."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from page_fixtures import number, point_at, turn_to, verified, watch

ADDRESS = re.compile(r"(http://127\.0\.0\.1:(\d+)/)\?token=([\w-]+)")


# The studio as it is, but for what it sends of a short sentence: as little as of a long one.
SPARING = """
from vitrail.cli import main
from vitrail.serve import pool
pool.PROGRAM = (pool.sys.executable, "-c", {worker!r})
main()
"""
SPARING_WORKER = """
from vitrail.serve import recent, worker
from vitrail.trace import Trace, inside

def lightest(trace, max_mb):
    left_out = {name for part in ("encoder.0", "decoder.0", "output") for name in inside(trace, part)}
    arrays = {name: array for name, array in trace.document["arrays"].items() if name not in left_out}
    return Trace({**trace.document, "arrays": arrays, "inside_of": []})

recent.lighter = lightest
worker.main()
"""


@contextmanager
def opened(model, program=("-m", "vitrail")):
    """`vitrail studio MODEL` on a free port; gives the process and its address, and ends it."""
    process = subprocess.Popen(
        [sys.executable, *program, "studio", str(model), "--port", "0", "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        line = process.stdout.readline()
        found = ADDRESS.search(line)
        assert found, line + (process.stderr.read() if not line else "")
        yield process, found
    finally:
        process.kill()
        process.communicate()


def ask(address, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    kind = {"Content-Type": "application/json"} if body is not None else {}
    request = urllib.request.Request(address[1] + path, data, {"X-Vitrail-Token": address[3], **kind, **headers})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_the_command_serves_its_model_and_ends_with_ctrl_c(phrases):
    with opened(phrases) as (process, address):
        status, found = ask(address, "api/models")
        assert (status, [entry["name"] for entry in found["models"]]) == (200, [phrases.name])
        asked = {"model": phrases.name, "text": "merci", "to": "en"}
        status, trace = ask(address, "api/trace", asked)
        assert (status, trace["source"]["text"]) == (200, "merci")
        assert trace["probes"] is None, "it was trained without validation data"
        assert ask(address, "api/trace", asked, Host="evil.example")[0] == 403
        assert ask(address, "api/trace", asked, **{"X-Vitrail-Token": "guessed"})[0] == 403
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        assert errors.splitlines()[-1] == "studio closed"
        assert "Traceback" not in errors
        assert out == ""


def test_two_studios_have_two_tokens(phrases):
    with opened(phrases) as (_, one), opened(phrases) as (_, other):
        assert one[3] != other[3]
        assert len(one[3]) >= 32


@pytest.fixture
def page(browser):
    """A browser's page in which nothing goes wrong."""
    troubles = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    watch(page, troubles)
    page.troubles = troubles
    yield page
    context.close()
    assert not troubles, troubles


def test_type_a_sentence_and_look_around(page, phrases):
    with opened(phrases) as (_, address):
        page.goto(f"{address[0]}#view=black-box")
        box = page.get_by_label("Sentence to translate")
        box.fill("merci")
        with page.expect_response(re.compile(r"/api/trace$")) as answered:
            box.press("Enter")
        trace = answered.value.json()
        assert trace["source"]["text"] == "merci"
        page.locator(".sentence-source").filter(has_text=re.compile("^merci$")).wait_for()
        assert trace["target"]["text"] in page.locator(".sentence").inner_text()
        assert verified(page)
        page.goto("about:blank")  # before the studio closes: a page that still asks would complain


def test_first_words_can_be_forced_and_words_drawn_instead_of_searched(page, phrases):
    with opened(phrases) as (_, address):
        page.goto(f"{address[0]}#view=search&text=merci&to=en")
        page.locator(".sentence-source").filter(has_text=re.compile("^merci$")).wait_for()

        def ask(button):
            with page.expect_response(re.compile(r"/api/trace$")) as answered:
                page.locator(f'[data-key="{button}"]').click()
            page.locator("html:not([data-busy])").wait_for(state="attached")
            return answered.value.json()

        page.get_by_label("first words of the translation").fill("i am")
        forced = ask("search-again")
        assert forced["target"]["tokens"][:2] == ["i", "am"] and forced["what_if"]["prefix"] == "i am"
        page.locator(".what-if").filter(has_text="must begin with “i am”").wait_for()
        assert "beginning with “i am”" in page.locator("main").inner_text()

        page.locator('[data-key="more"]').click()
        page.locator('[data-key="search-temperature"]').fill("2.5")
        page.locator('[data-key="search-seed"]').fill("7")
        drawn = ask("search-draw")
        assert drawn["search"]["kind"] == "sample"
        assert (drawn["settings"]["temperature"], drawn["settings"]["seed"]) == (2.5, 7)
        assert drawn["target"]["tokens"][:2] == ["i", "am"]
        page.locator(".what-if").filter(has_text="temperature = 2.5").wait_for()
        undone = ask("undo-what-if")
        assert undone["search"]["kind"] == "beam" and undone["what_if"]["prefix"] == ""
        page.goto("about:blank")


def test_a_new_sentence_leaves_the_old_reference_behind(page, phrases):
    with opened(phrases) as (_, address):
        page.goto(f"{address[0]}#view=black-box&text=merci&to=en&reference=thanks&prefix=thanks")
        page.locator(".sentence-source").filter(has_text=re.compile("^merci$")).wait_for()
        box = page.get_by_label("Sentence to translate")
        for sentence in ("merci", "je suis étudiant"):
            box.fill(sentence)
            page.get_by_role("button", name="Translate", exact=True).click()
        page.locator(".sentence-source").filter(has_text=re.compile("^je suis étudiant$")).wait_for()
        assert "reference" not in page.url and "prefix" not in page.url
        page.goto("about:blank")


def test_a_model_chosen_with_a_sentence_it_refuses_is_the_one_that_is_asked_next(page, phrases, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "runs" / "a")
    shutil.copytree(phrases, tmp_path / "runs" / "b")
    with opened(tmp_path / "runs") as (_, address):
        page.goto(f"{address[0]}#view=black-box&model=a&text=xyzzy")
        page.locator(".sentence-source").filter(has_text="xyzzy").wait_for()
        page.locator("select[name=model]").select_option("b")
        page.get_by_text("does not know").first.wait_for()
        page.get_by_label("Sentence to translate").fill("merci")
        with page.expect_request(re.compile(r"/api/trace$")) as asked:
            page.get_by_role("button", name="Translate", exact=True).click()
        assert asked.value.post_data_json["model"] == "b"
        page.goto("about:blank")
    page.troubles[:] = [trouble for trouble in page.troubles if "400" not in str(trouble)]  # the sentence it refused


def test_searching_again_names_only_what_was_changed(page, phrases):
    with opened(phrases) as (_, address):
        page.goto(f"{address[0]}#view=search&text=merci&to=en")
        page.get_by_role("button", name="Greedy", exact=True).click()
        assert "sample" not in page.locator(".what-if").inner_text()
        page.goto("about:blank")


def test_the_run_is_followed_while_it_goes_on(page, trained, screenshots):
    with opened(trained) as (_, address):
        log = trained / "log.jsonl"
        page.goto(f"{address[0]}#view=training")
        page.locator("path[data-curve=training]").wait_for()
        last = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        steps = [event for event in last if event["event"] == "step"]
        assert f"In {steps[-1]['step']} steps" in page.locator(".lead").inner_text()
        page.screenshot(path=str(screenshots / "22-training-light.png"), full_page=True)
        size = log.stat().st_size
        try:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**steps[-1], "step": 4321, "loss": 0.125}) + "\n")
            page.locator(".lead").filter(has_text="In 4,321 steps").wait_for()
        finally:
            os.truncate(log, size)  # the run belongs to other tests too
        page.goto("about:blank")  # before the studio closes: a page that still asks would complain


def test_what_a_trace_left_out_is_fetched_when_it_is_looked_at(page, phrases, screenshots):
    from vitrail.translator import load

    trace = load(phrases).trace("merci", to="en")
    with opened(phrases, ("-c", SPARING.format(worker=SPARING_WORKER))) as (_, address):
        asked = []
        page.on("request", lambda request: asked.append(request.url.partition("/api/")[2]))
        page.goto(f"{address[0]}#view=black-box&text=merci&to=en")
        assert verified(page)
        assert "inside" not in asked
        turn_to(page, "view=score&text=merci&to=en&head=1&token=1")
        page.locator('[data-key="scores"]').wait_for()
        scores = trace["encoder.0.self_attention.scores"][1, 1]
        assert number(point_at(page, "scores", 2, 0, (scores.size, 1))[1]) == pytest.approx(scores[2], rel=1e-4)
        assert verified(page), "what arrived was checked with the rest"
        turn_to(page, "view=output&text=merci&to=en")
        page.locator('[data-key="output-logits"]').wait_for()
        assert asked.count("inside") == 2
        # The studio keeps only the last traces; for an older one it says so, and the page can ask again.
        for other in ("bonjour", "au revoir"):
            assert ask(address, "api/trace", {"model": phrases.name, "text": other, "to": "en"})[0] == 200
        turn_to(page, "view=masked&text=merci&to=en")
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert "no longer keeps" in alert.inner_text()
        page.screenshot(path=str(screenshots / "16-masked-not-given.png"), full_page=True)
        page.get_by_role("button", name="Ask again").click()
        page.get_by_role("alert").wait_for()
        assert asked.count("inside") == 4
        page.goto("about:blank")
    assert all("404" in trouble for trouble in page.troubles), page.troubles
    page.troubles.clear()


def test_two_translations_are_shown_at_once_in_every_view(page, phrases):
    with opened(phrases) as (_, address):
        page.goto(f"{address[0]}#text=merci&to=en&view=two")
        assert verified(page)
        page.locator("[data-key='second-text']").fill("je suis étudiant")
        page.locator(".second-sentence button").click()
        page.locator("[data-key='moved-steps']").wait_for()
        assert "b.text=je" in page.url
        assert page.locator("[data-key^='moved-encoder'], [data-key^='moved-decoder']").count() == 3
        views = page.locator(".guide-entry").evaluate_all("entries => entries.map((entry) => entry.dataset.key)")
        shown = []
        for view in (key.removeprefix("guide-") for key in views):
            turn = "view => {const h = new URLSearchParams(location.hash.slice(1)); h.set('view', view);"
            turn += "history.replaceState(null, '', `#${h}`); window.dispatchEvent(new HashChangeEvent('hashchange'));}"
            page.evaluate(turn, view)
            assert page.locator(".stage .problem").count() == 0, view
            shown.append(page.locator(".two .two-caption").count())
        assert shown == [2] * (len(views) - 1) + [0], "both in every view but that which compares them"
        turn_to(page, page.url.split("#")[1].replace("view=two", "view=embeddings"))
        labels = page.locator(".two .figure").nth(1).locator(".label.differs").all_text_contents()
        marked = {text.partition(" · ")[0] for text in labels}  # without the token's number
        assert {"étudiant", "suis"} <= marked
        assert "<2en>" not in marked
        page.locator("[data-key='where-they-part']").click()
        page.select_option("[data-key='second-choice']", label="encoder layer 0, self-attention, head 0: off")
        page.locator(".two-at-once", has_text="head 0").wait_for()
        page.locator("[data-key='stop-comparing']").click()
        assert "b." not in page.url
        page.locator(".two-at-once").wait_for(state="detached")
        page.goto("about:blank")
