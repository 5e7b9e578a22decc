"""The README's moving picture: the studio in a real browser, from a sentence that is typed to the search behind it.

    python docs/moving_picture.py runs/phrasebook --out docs/pictures/studio.gif

The model is one that `vitrail demo` wrote. Needs Pillow, Playwright and Chromium (VITRAIL_CHROMIUM, or
/usr/bin/chromium). Fails if the file would be larger than 2 MB.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from screenshots import FLAGS, STREET, turn_to, turning_head

from vitrail.translator import load

SENTENCE = f"{STREET} tired"
ASKED = urlencode({"text": SENTENCE, "to": "fr"}, quote_via=quote)
SIZE = {"width": 1280, "height": 720}
SHOWN = (896, 504)  # about as wide as a README
MOST_MB = 2.0
TYPED, SHORT, LONG = 180, 1300, 2600  # milliseconds that a frame stays

Frame = tuple[Image.Image, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a phrasebook model: what `vitrail demo` wrote")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/studio.gif"))
    options = parser.parse_args()
    translator = load(options.model)
    layer, head = turning_head(translator)
    shape = translator.model.config
    heads = [*(one for one in range(shape.heads) if one != head), head]
    chromium = os.environ.get("VITRAIL_CHROMIUM", "/usr/bin/chromium")
    with studio(options.model) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce", device_scale_factor=1)
        page.goto(f"{address}#{urlencode({'text': f'{STREET} wide', 'to': 'fr'}, quote_via=quote)}")
        frames = list(scenes(page, shape.encoder_layers, layer, heads))
        browser.close()
    size = join(frames, options.out)
    print(f"{options.out}: {len(frames)} frames, {sum(stays for _, stays in frames) / 1000:.0f} s, {size:.2f} MB")
    if size > MOST_MB:
        sys.exit(f"more than {MOST_MB:g} MB: show fewer frames")


@contextmanager
def studio(model: Path) -> Iterator[str]:
    """The address of `vitrail studio MODEL` on a free port."""
    command = [sys.executable, "-m", "vitrail", "studio", str(model), "--port", "0", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\S+", process.stdout.readline())
        assert found is not None, "the studio did not start"
        yield found[0]
    finally:
        process.terminate()
        process.wait()


def scenes(page: Page, layers: int, layer: int, heads: list[int]) -> Iterator[Frame]:
    """What happens, frame by frame, and how long each frame stays: all layers, this one's heads, then the last head."""
    yield from asking(page)
    it = f"{ASKED}&stack=encoder&token={1 + SENTENCE.split().index('it')}"  # token 0 names the target language
    for one in range(layers):
        yield look(page, f"view=attention&layer={one}&{it}"), SHORT
    for one in heads:
        yield look(page, f"view=attention&layer={layer}&{it}&heads={one}"), SHORT
    for view in ("query-key-value", "score", "softmax", "weighted-values"):
        yield look(page, f"view={view}&layer={layer}&head={heads[-1]}&{it}"), LONG
    yield look(page, f"view=output&step=10&{ASKED}"), LONG
    yield look(page, f"view=search&{ASKED}"), LONG


def asking(page: Page) -> Iterator[Frame]:
    """The post's sentence with "wide"; then "tired" is typed instead, and the pronoun changes with it."""
    wait_for(page, f"{STREET} wide")
    yield shot(page), LONG
    box = page.locator("main .sentence-input")
    for end in ("wid", "", "ti", "tire", "tired"):
        box.fill(f"{STREET} {end}")
        yield shot(page), TYPED
    box.press("Enter")
    wait_for(page, SENTENCE)
    page.locator("main h1").click()  # away from the form, and from everything that a pointer would light up
    page.mouse.move(0, 0)
    yield shot(page), LONG


def wait_for(page: Page, sentence: str) -> None:
    """Until the page shows this sentence and has checked its numbers."""
    page.wait_for_function("text => document.querySelector('.sentence-source')?.innerText === text", arg=sentence)
    page.wait_for_selector("html[data-verified=ok]", state="attached")


def look(page: Page, place: str) -> Image.Image:
    """A view, scrolled to the end of its picture."""
    turn_to(page, place)
    page.evaluate("""() => {
      const picture = document.querySelector("main .picture-box").getBoundingClientRect();
      scrollTo(0, Math.max(0, picture.bottom + scrollY - innerHeight + 12));
    }""")
    return shot(page)


def shot(page: Page) -> Image.Image:
    image = Image.open(io.BytesIO(page.screenshot(caret="initial"))).convert("RGB")
    return image.resize(SHOWN, Image.Resampling.LANCZOS)


def join(frames: list[Frame], path: Path) -> float:
    """Write the frames as one GIF that repeats; gives its megabytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    first, *rest = [image for image, _ in frames]
    first.save(path, save_all=True, append_images=rest, duration=[stays for _, stays in frames], loop=0, optimize=True)
    return path.stat().st_size / 1e6


if __name__ == "__main__":
    main()
