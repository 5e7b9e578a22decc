"""Pictures of the page for the docs, from a real model: every view, and where "it" looks in the post's two sentences.

    python docs/screenshots.py runs/phrasebook --out docs/pictures

Needs Playwright and Chromium (VITRAIL_CHROMIUM, or /usr/bin/chromium).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from vitrail.translator import Translator, load

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
STREET = "the animal didn't cross the street because it was too"
SIZE = {"width": 1280, "height": 900}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a phrasebook model: what `vitrail demo` wrote")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--it", default="layer=1", help='where "it" is looked at: layer=1, or layer=1&heads=0')
    options = parser.parse_args()
    for path in take(load(options.model), options.out, options.it):
        print(path)


def take(translator: Translator, out: Path, it: str) -> Iterator[Path]:
    """Take the pictures and give their names, one after the other."""
    out.mkdir(parents=True, exist_ok=True)
    for adjective in ("tired", "wide"):
        with opened(translator, f"{STREET} {adjective}") as page:
            if adjective == "tired":
                for view in views(page):
                    yield shoot(page, out / f"{view}.png", f"view={view}")
            token = translator.tokenizers.encode_source(STREET, "fr").index(
                translator.tokenizers.source.encode("it")[0]
            )
            yield shoot(page, out / f"it-was-too-{adjective}.png", f"view=attention&token={token}&{it}")


@contextmanager
def opened(translator: Translator, sentence: str) -> Iterator[Page]:
    """The stand-alone page of a sentence, once it has checked its numbers."""
    chromium = os.environ.get("VITRAIL_CHROMIUM", "/usr/bin/chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = translator.explain(sentence, to="fr").save(Path(folder) / "page.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-verified]")
        assert page.locator("html").get_attribute("data-verified") == "ok"
        yield page
        browser.close()


def views(page: Page) -> list[str]:
    """The views' names, in guided order."""
    keys = page.locator(".guide-entry").evaluate_all("entries => entries.map((entry) => entry.dataset.key)")
    return [key.removeprefix("guide-") for key in keys]


def shoot(page: Page, path: Path, place: str) -> Path:
    page.evaluate("place => { location.hash = place; }", place)
    page.wait_for_selector("main h1")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.screenshot(path=path, full_page=True)
    return path


if __name__ == "__main__":
    main()
