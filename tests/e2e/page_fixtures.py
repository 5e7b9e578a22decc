"""What tests of the page share: a browser, traces small enough to make at once, and a folder for screenshots.

conftest.py makes the fixtures known to every test here; functions such as `make_trace` are imported from this module.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from vitrail.config import DecodeConfig, ModelConfig

SENTENCE = "the animal didn't cross the street because it was too tired"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZES = {"light": (1280, 800), "dark": (1280, 800), "phone": (390, 844)}


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium, without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="the page is tested with Playwright for Python")
    chromium = os.environ.get("VITRAIL_CHROMIUM", "/usr/bin/chromium")
    if not Path(chromium).exists():
        pytest.skip(f"there is no browser at {chromium}")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory) -> Path:
    """Where pictures of the page are left for people to look at: VITRAIL_SCREENSHOTS, or a temporary folder."""
    named = os.environ.get("VITRAIL_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def make_trace(sentence=SENTENCE, *, heads_off=None, reference=None, decode=None, **settings):
    """The trace of a small model that was never trained, with every option open."""
    import torch

    from vitrail.data.phrasebook import training_pairs
    from vitrail.model import Transformer
    from vitrail.text import Tokenizers
    from vitrail.translator import Translator

    pairs = list(training_pairs(300, seed=1))
    # The sentence itself among the texts: whatever is drawn, its words are known.
    tokenizers = Tokenizers.train(
        [*(pair.source for pair in pairs), sentence],
        [*(pair.target for pair in pairs), sentence],
        kind="word",
        size=2000,
        joint=True,
        languages=["en", "fr"],
    )
    small = {"d_model": 32, "heads": 4, "d_ff": 48, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    torch.manual_seed(1)
    model = Transformer(ModelConfig(**(small | settings)), tokenizers.source.size, tokenizers.target.size)
    with torch.no_grad():
        for parameter in model.parameters():  # biases begin at zero: a test should see them
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    search = decode or DecodeConfig(beam_size=3, top_beams=2, max_extra=2)
    translator = Translator(model.eval(), tokenizers, search)
    return translator.trace(sentence, to="fr", heads_off=heads_off, reference=reference)


@pytest.fixture(scope="session")
def street():
    """The post's sentence, through a small model."""
    return make_trace()


class Pages:
    """Stand-alone files in the browser, without a network; `troubles` is what went wrong in them."""

    def __init__(self, browser, folder: Path) -> None:
        self.browser, self.folder = browser, folder
        self.contexts: list = []
        self.troubles: list[str] = []

    def open(self, trace, place: str, look: str):
        """A trace's page, or an explanation's, at a place, once it has checked its numbers."""
        from vitrail.explain import Explanation, page_of

        width, height = SIZES[look]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if look == "dark" else "light",
            reduced_motion="reduce",
            offline=True,
        )
        self.contexts.append(context)
        page = context.new_page()
        watch(page, self.troubles)
        path = self.folder / f"page-{len(self.contexts)}.html"
        html = trace.html() if isinstance(trace, Explanation) else page_of(trace)
        path.write_text(html, encoding="utf-8")
        page.goto(f"{path.as_uri()}#{place}")
        assert verified(page)
        return page

    def close(self) -> None:
        """Close all of them; nothing must have gone wrong."""
        for context in self.contexts:
            context.close()
        assert not self.troubles, self.troubles


@pytest.fixture
def open_page(browser, tmp_path) -> Iterator[object]:
    """Open a trace as a stand-alone file: `open_page(trace, "view=score&token=8", "dark")` gives Playwright's page.

    The network is off, and a test fails in whose page something went wrong.
    """
    pages = Pages(browser, tmp_path)

    def open_one(trace, place="", look="light"):
        return pages.open(trace, place, look)

    yield open_one
    pages.close()


@pytest.fixture(scope="module")
def album(browser, tmp_path_factory) -> Iterator[object]:
    """A page for each trace and look, which stays open and turns from view to view."""
    pages, opened = Pages(browser, tmp_path_factory.mktemp("album")), {}

    def page_of(trace, look):
        if (id(trace), look) not in opened:
            opened[id(trace), look] = pages.open(trace, "", look), trace  # the trace too: its id must stay its own
        return opened[id(trace), look][0]

    page_of.troubles = pages.troubles
    yield page_of
    pages.close()


@pytest.fixture
def leave_pictures(album, screenshots):
    """A picture in light, in dark and on a phone; nothing went wrong, and the page never scrolls sideways.

    `leave_pictures(trace, "view=score", "09-score")`.
    """

    def leave(trace, place, name):
        for look in SIZES:
            page = album(trace, look)
            turn_to(page, place)
            assert page.locator(".problem").count() == 0
            wide, seen = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            assert wide <= seen
            page.screenshot(path=screenshots / f"{name}-{look}.png", full_page=True)
            assert not album.troubles, album.troubles

    return leave


def watch(page, troubles):
    """Keep what goes wrong in a page."""
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)


def verified(page):
    """Whether the numbers add up, once the page has said so."""
    page.locator("html[data-verified=ok], html[data-verified=failed]").wait_for(state="attached")
    return page.locator("html").get_attribute("data-verified") == "ok"


def turn_to(page, place):
    """Go to a place as its address does; it is drawn when this returns."""
    page.evaluate(
        """place => {
          history.replaceState(null, "", `#${place}`);
          window.dispatchEvent(new HashChangeEvent("hashchange"));
        }""",
        place,
    )


def point_at(page, key, row, column, shape):
    """Put the pointer on one cell of a grid, and give the lines of the tooltip."""
    area = page.locator(f'[data-key="{key}"] .reading-area')
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(
        box["x"] + box["width"] * (column + 0.5) / shape[1], box["y"] + box["height"] * (row + 0.5) / shape[0]
    )
    return page.locator(".tooltip").inner_text().split("\n")


def rows_of(page, key):
    """How many cells a grid of one column has."""
    return int(page.locator(f'[data-key="{key}"]').get_attribute("aria-valuemax"))


def number(text):
    """A number as the page writes it."""
    return float(text.replace("−", "-").replace("-∞", "-inf").replace(",", ""))


def numbers_in(text):
    """All numbers of a text."""
    return [number(found) for found in re.findall(r"[−-]?(?:\d[\d,]*(?:\.\d+)?(?:e-?\d+)?|∞)", text)]
