"""A published site: written whole, served by anything, and needing nothing but its own files."""

import functools
import http.server
import json
import re
import shutil
import threading

import pytest
from door import command, vitrail
from page_fixtures import watch

from vitrail.translator import load

SENTENCES = [("merci", "en"), ("je suis étudiant", "en"), ("le chat noir dort", "en"), ("i am a student", "fr")]


@pytest.fixture(scope="module")
def site(phrases, tmp_path_factory):
    """A site with a model of ours."""
    out = tmp_path_factory.mktemp("published") / "site"
    vitrail("publish", phrases, "--out", out)
    return out


@pytest.fixture
def served(site):
    """The site's address on this computer, in a folder of the host, and the paths that were asked for."""
    asked = []

    class Files(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *_):
            pass

    handler = functools.partial(Files, directory=str(site.parent))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/site/", asked
        server.shutdown()


@pytest.fixture
def page(browser, served):
    """A page that reaches its own site and nothing else, and in which nothing goes wrong."""
    troubles = []
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.route(re.compile(r"^(?!blob:|data:)"), lambda route: choose(route, served[0], troubles))
    page = context.new_page()
    watch(page, troubles)
    yield page
    context.close()
    assert not troubles, troubles


def choose(route, address, troubles):
    if route.request.url.startswith(address):
        route.continue_()
    else:
        troubles.append(f"it asked for {route.request.url}")
        route.abort()


def shown(page, sentence):
    page.locator(".sentence-source").filter(has_text=re.compile(f"^{re.escape(sentence)}$")).wait_for()
    page.locator("html:not([data-busy])").wait_for(state="attached")
    return page.locator(".sentence-target").inner_text().split("before:")[0].removeprefix("→ ").strip()


def test_a_site_translates_in_the_browser_and_keeps_its_model(page, served, phrases):
    from vitrail.explain.model_file import model_file

    address, asked = served
    exact = model_file(load(phrases)).translator
    page.goto(address)
    example = page.locator(".examples button").first
    first = example.inner_text()
    example.click()
    assert shown(page, first)
    for sentence, to in SENTENCES:
        page.locator("select[name=to]").select_option(to)
        box = page.get_by_label("Sentence to translate")
        box.fill(sentence)
        box.press("Enter")
        assert shown(page, sentence) == (exact.trace(sentence, to=to, layers=[]).text or "(nothing)")
    page.goto(f"{address}#view=heads&text=merci&to=en")
    page.locator('[data-key="switch-0"]').click()
    page.locator(".what-if").filter(has_text="head 0 of encoder.0.self_attention off").wait_for()
    page.goto(f"{address}#view=search&text=merci&to=en&beam_size=6")
    page.locator(".what-if").filter(has_text="beam_size = 6").wait_for()
    page.locator("html[data-verified=ok]").wait_for(state="attached")
    page.reload()
    assert shown(page, "merci")
    assert len([path for path in asked if ".model" in path]) == 1, "the browser keeps the model"
    assert not page.locator(".loading").is_visible()


def test_all_addresses_are_relative_and_the_policy_is_strict(site, phrases):
    page = (site / "index.html").read_text(encoding="utf-8")
    listed = json.loads(re.search(r'id="vitrail-site">(.*?)</script>', page)[1])
    (model,) = listed["models"]
    assert model["name"] == phrases.name and (site / model["file"]).stat().st_size == model["size"]
    assert re.fullmatch(r"models/[\w-]+-[0-9a-f]{16}\.model", model["file"])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.replace("&#x27;", "'").split(";")}
    assert rules["default-src"] == ["'none'"] and rules["connect-src"] == ["'self'"]
    assert rules["worker-src"] == ["blob:"]
    assert not any("unsafe-inline" in part or part == "'unsafe-eval'" for part in rules["script-src"])
    assert sorted(path.name for path in site.iterdir()) == ["index.html", "models"]


def test_an_earlier_site_is_replaced_and_no_other_folder(site, phrases, tmp_path):
    again = tmp_path / "site"
    shutil.copytree(site, again)
    (again / "models" / "old-0123.model").write_bytes(b"old")
    said = vitrail("publish", phrases, "--out", again, "--example", "merci", "--to", "en").stdout
    assert f"{again / 'index.html'}" in said
    assert len(list((again / "models").iterdir())) == 1
    assert '"examples": [{"text": "merci", "to": "en"}]' in (again / "index.html").read_text(encoding="utf-8")

    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    refused = command("publish", phrases, "--out", mine, check=False)
    assert refused.returncode == 2 and "not a site that `vitrail publish` wrote" in refused.stderr
    assert (mine / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--precision", "float64"], "cannot store weights in 'float64'"),
        (["--to", "en"], "--to has no effect without --example"),
        (["--example", "xyzzy", "--to", "en"], "does not know 'xyzzy'"),
    ],
)
def test_what_cannot_be_published_is_refused_and_leaves_nothing(phrases, tmp_path, options, what):
    refused = command("publish", phrases, "--out", tmp_path / "site", *options, check=False)
    assert refused.returncode == 2 and what in refused.stderr and "Traceback" not in refused.stderr
    assert not list(tmp_path.iterdir())
