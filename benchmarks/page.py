"""From Enter to the drawn picture in a page with its model inside, beside Translator.translate with one thread.

python benchmarks/page.py [MODEL] [--json FILE]

Chromium and Python take turns on the same sentences, of about 12 tokens, with the model's own beam size. In the page
the time is from the key to the frame in which the translation and the open view are drawn: it includes the search, the
recorded pass with every value, what each layer would say, and the way between the page and its worker.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

SENTENCES = [
    "The cat is sleeping because it is very tired now.",
    "I don't know where she lives or what she does.",
    "My brother wants to buy a new car next year.",
    "We have been waiting for the bus for an hour.",
    "The weather is nice today, so we are going out.",
]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# Types a sentence, presses Enter, and tells how long it took until the page had drawn it.
TYPE_IT = """
sentence => new Promise(resolve => {
  const box = document.querySelector("input[name=text]");
  box.value = sentence;
  const start = performance.now();
  const look = () => {
    const shown = document.querySelector(".sentence-source")?.textContent;
    const isDrawn = shown === sentence && !document.documentElement.dataset.busy;
    if (isDrawn) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start), 0));
    else setTimeout(look, 1);
  };
  box.form.requestSubmit();
  look();
})
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="builtin")
    parser.add_argument("--to", default="fr")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the row to this file")
    options = parser.parse_args()
    rounds = measure(options.model, options.to, options.rounds)
    ratio = median(page / python for page, python in rounds)
    page, python = (median(times) for times in zip(*rounds, strict=True))
    print(f"the page {1000 * page:.0f} ms, Translator.translate {1000 * python:.0f} ms: {ratio:.2f} times as long")
    if options.json:
        row = {"benchmark": "page", "system": "chromium", "model": options.model, "page_seconds": page}
        row |= {"python_seconds": python, "ratio": ratio, "rounds": options.rounds}
        options.json.write_text(json.dumps([row], indent=1) + "\n")


def measure(model: str, to: str, rounds: int) -> list[tuple[float, float]]:
    """For each round, the median time of the page and of Python over the sentences, in seconds."""
    os.environ["OMP_NUM_THREADS"] = "1"
    from playwright.sync_api import sync_playwright

    from vitrail.translator import load

    translator = load(model, threads=1)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = translator.explain("Good morning.", to=to, live=True).save(Path(folder) / "page.html")
        chromium = os.environ.get("VITRAIL_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(f"{path.as_uri()}#view=black-box")
        page.locator("html[data-verified=ok]").wait_for(state="attached", timeout=120_000)
        for sentence in SENTENCES:  # both warm up
            in_page(page, sentence)
            translator.translate(sentence, to=to)
        found = []
        for _ in range(rounds):
            times = [(in_page(page, sentence), in_python(translator, sentence, to)) for sentence in SENTENCES]
            found.append((median(page for page, _ in times), median(python for _, python in times)))
        browser.close()
    return found


def in_page(page: Any, sentence: str) -> float:
    """Seconds from Enter to the drawn picture; afterwards the page may finish checking its numbers."""
    seconds = float(page.evaluate(TYPE_IT, sentence)) / 1000
    page.locator("html[data-verified=ok]").wait_for(state="attached", timeout=120_000)
    page.wait_for_timeout(100)
    return seconds


def in_python(translator: Any, sentence: str, to: str) -> float:
    """Seconds that one sentence takes."""
    began = time.perf_counter()
    translator.translate(sentence, to=to)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
