"""Take pictures of the page for the docs, from a real model: every view, and where "it" looks in the post's sentences.

Each is what a reader sees on a screen of 1280 × 720 before scrolling; `projector.png` and `phone.png` show one view on
a projector and on a phone.

    python docs/screenshots.py runs/phrasebook --out docs/pictures

Each view's picture is named after it (`score.png`). `it-was-too-tired.png` and `it-was-too-wide.png` show what "it"
looks at, and `it.png` shows both side by side.

Needs Playwright and Chromium (VITRAIL_CHROMIUM, or /usr/bin/chromium).
"""

from __future__ import annotations

import argparse
import base64
import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from vitrail.translator import Translator, load

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-lcd-text"]
STREET = "the animal didn't cross the street because it was too"
SIZE = {"width": 1280, "height": 720}
# Where a view has the most to show. The others are taken as they open.
PLACES = {
    "paths": "layer=1",
    "decoding": "step=10",
    "masked": "stack=decoder&step=9",
    "untrained": "record=9",
    "all-heads": "stack=decoder&layer=1&sublayer=cross_attention&head=2",
    "layers-say": "step=8",
    "what-mattered": "step=8",
}


Screen = tuple[ViewportSize, str]
SCREENS: dict[str, Screen] = {
    "projector": ({"width": 1280, "height": 720}, "view=attention&layer=1&projector=on"),
    "phone": ({"width": 390, "height": 844}, "view=attention&layer=1"),
    "desk": ({"width": 1920, "height": 1080}, "view=score&token=8&layer=1"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a phrasebook model: what `vitrail demo` wrote")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    options = parser.parse_args()
    for path in take(load(options.model), options.out):
        print(path)


def turning_head(translator: Translator) -> tuple[int, int]:
    """The encoder layer and head whose attention for "it" turns most to the animal in one, to the street in the other.

    This is about these two sentences only; benchmarks/heads.py measures all of them.
    """

    def leaning(adjective: str) -> dict[tuple[int, int], float]:
        """How much more each head looks at the animal than at the street."""
        trace = translator.trace(f"{STREET} {adjective}", to="fr")
        tokens = trace.document["source"]["tokens"]
        it, animal, street = (tokens.index(word) for word in ("it", "animal", "street"))
        layers = translator.model.config.encoder_layers
        weights = {layer: trace[f"encoder.{layer}.self_attention.weights"] for layer in range(layers)}
        return {
            (layer, head): float(weights[layer][head, it, animal] - weights[layer][head, it, street])
            for layer in weights
            for head in range(len(weights[layer]))
        }

    tired, wide = leaning("tired"), leaning("wide")
    return max(tired, key=lambda place: tired[place] - wide[place])


def take(translator: Translator, out: Path) -> Iterator[Path]:
    """Take the pictures and yield their names, one by one."""
    layer, head = turning_head(translator)
    out.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("VITRAIL_CHROMIUM", "/usr/bin/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        sides = []
        for adjective in ("tired", "wide"):
            with opened(browser, translator, f"{STREET} {adjective}") as page:
                if adjective == "tired":
                    for view in views(page):
                        yield shoot(page, out / f"{view}.png", f"view={view}&{PLACES.get(view, '')}")
                    for name, screen in SCREENS.items():
                        yield screenful(page, out / f"{name}.png", screen)
                looking = f"view=attention&layer={layer}&heads={head}"
                yield shoot(page, out / f"it-was-too-{adjective}.png", looking, whole=True)
                sides.append(side(page, looking))
        yield beside(browser, sides, out / "it.png")
        browser.close()


@contextmanager
def opened(browser: Browser, translator: Translator, sentence: str) -> Iterator[Page]:
    """The stand-alone page of a sentence, once it has checked its numbers."""
    with tempfile.TemporaryDirectory() as folder:
        file = translator.explain(sentence, to="fr").save(Path(folder) / "page.html")
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce", device_scale_factor=1)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-verified=ok], html[data-verified=failed]", state="attached")
        assert page.locator("html").get_attribute("data-verified") == "ok"
        yield page
        page.close()


def views(page: Page) -> list[str]:
    """The views' names, in guided order."""
    keys = page.locator(".guide-entry").evaluate_all("entries => entries.map((entry) => entry.dataset.key)")
    return [key.removeprefix("guide-") for key in keys]


def turn_to(page: Page, place: str) -> None:
    page.evaluate(
        """place => {
          history.replaceState(null, "", `#${place}`);
          window.dispatchEvent(new HashChangeEvent("hashchange"));
          return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }""",
        place,
    )


def shoot(page: Page, path: Path, place: str, *, whole: bool = False) -> Path:
    """A view from its title to the end of its picture; with `whole`, the page around it too."""
    turn_to(page, place)
    left, top, right, bottom = page.evaluate(
        """() => {
          const main = document.querySelector("main");
          for (const bar of main.querySelectorAll(".save-bar")) bar.style.visibility = "hidden";
          const box = (found) => main.querySelector(found)?.getBoundingClientRect();
          const last = box(".picture-box") ?? box(".prose");
          const {left} = main.getBoundingClientRect();
          return [left, box("h1").top + scrollY - 40, innerWidth, last.bottom + scrollY + 20];
        }"""
    )
    if whole:
        left, top = 0, 0
    clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return save(page, page.screenshot(full_page=True, clip=clip), path)


def screenful(page: Page, path: Path, screen: Screen) -> Path:
    """What a screen of this size shows of a view."""
    size, place = screen
    page.set_viewport_size(size)
    turn_to(page, place)
    page.wait_for_timeout(300)  # it draws itself again for the new size
    saved = save(page, page.screenshot(), path)
    page.set_viewport_size(SIZE)
    return saved


def side(page: Page, place: str) -> tuple[str, str, str]:
    """A picture narrow enough for half a page, with its sentence and its translation."""
    page.set_viewport_size({"width": 900, "height": SIZE["height"]})  # narrow: without its guide the page has room
    turn_to(page, place)
    # The page redraws itself for the smaller width a moment later.
    page.wait_for_function("() => document.querySelector('main .picture').getBoundingClientRect().width < 760")
    picture = base64.b64encode(page.locator("main .picture").screenshot()).decode()
    source, target = (page.locator(f".sentence-{name}").inner_text() for name in ("source", "target"))
    return source, target, picture


def beside(browser: Browser, sides: list[tuple[str, str, str]], path: Path) -> Path:
    """Several pictures side by side, as one."""
    page = browser.new_page(viewport={"width": 1600, "height": 800}, device_scale_factor=1)
    figures = "".join(
        f"<figure><figcaption>{escape(source)}<b>{escape(target)}</b></figcaption>"
        f'<img src="data:image/png;base64,{picture}"></figure>'
        for source, target, picture in sides
    )
    page.set_content(f"<style>{BESIDE}</style><main>{figures}</main>")
    save(page, page.locator("main").screenshot(), path)
    page.close()
    return path


def save(page: Page, screenshot: bytes, path: Path) -> Path:
    """Write a PNG with 256 colours: a third of the size, with no visible difference. The browser picks the colours."""
    found = page.evaluate(FEWER_COLOURS, base64.b64encode(screenshot).decode())
    width, height, places = found["width"], found["height"], base64.b64decode(found["places"])
    rows = b"".join(b"\0" + places[row * width : (row + 1) * width] for row in range(height))
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),  # eight bits, by palette
        b"PLTE": bytes(found["palette"]),
        b"IDAT": zlib.compress(rows, 9),
        b"IEND": b"",
    }
    parts = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


# The colours of large areas are kept. The others are grouped by similarity, and the largest groups are kept, each with
# its most frequent colour.
FEWER_COLOURS = """async (encoded) => {
  const image = new Image();
  image.src = `data:image/png;base64,${encoded}`;
  await image.decode();
  const {width, height} = image;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
  const drawers = new Map();
  const drawerOf = (pixel) => (pixel >> 4 & 15) << 8 | (pixel >> 12 & 15) << 4 | (pixel >> 20 & 15);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colours = [...counts].sort((a, b) => b[1] - a[1]);
  const large = colours.slice(0, 96).map(([pixel]) => pixel);
  for (const [pixel, count] of colours.slice(96)) {
    const drawer = drawers.get(drawerOf(pixel)) ?? {pixel, count: 0};
    drawers.set(drawerOf(pixel), {...drawer, count: drawer.count + count});
  }
  const full = [...drawers.values()].sort((a, b) => b.count - a.count).map(({pixel}) => pixel);
  const palette = [...large, ...full].slice(0, 256).map((pixel) => [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255]);
  const nearest = new Map();
  const placeOf = (pixel) => {
    if (!nearest.has(pixel)) {
      const far = palette.map(([r, g, b]) =>
        ((pixel & 255) - r) ** 2 + ((pixel >> 8 & 255) - g) ** 2 + ((pixel >> 16 & 255) - b) ** 2);
      nearest.set(pixel, far.indexOf(Math.min(...far)));
    }
    return nearest.get(pixel);
  };
  let places = "";
  for (const pixel of pixels) places += String.fromCharCode(placeOf(pixel));
  return {width, height, palette: palette.flat(), places: btoa(places)};
}"""

BESIDE = """
body { margin: 0; background: #fcfbf8; color: #1c2330; font: 16px/1.4 system-ui, "Liberation Sans", sans-serif; }
main { display: grid; grid-template-columns: 1fr 1fr; gap: 20px; padding: 20px; width: max-content; }
figure { margin: 0; padding: 16px 18px; background: #fff; border: 1px solid #e0ddd5; border-radius: 14px; }
figcaption { color: #5d6675; margin-bottom: 12px; }
figcaption b { display: block; color: #1c2330; }
img { display: block; margin: 0 auto; }
"""


if __name__ == "__main__":
    main()
