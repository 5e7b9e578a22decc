"""What a reader sees before scrolling: the boxes of every view, at three sizes and on a projector."""

from itertools import pairwise

import pytest
from page_fixtures import SENTENCE, make_trace, turn_to

SCREENS = {"laptop": (1280, 720), "desk": (1920, 1080), "phone": (390, 844)}
SMALLEST = {"laptop": 0.75, "desk": 0.75, "phone": 0.55}  # how far a picture may be scaled down to fit
BOXES = """() => {
  const box = (found) => {
    const {left, top, right, bottom} = document.querySelector(found).getBoundingClientRect();
    return {left, top, right, bottom};
  };
  const beyond = (found) => {
    const node = document.querySelector(found);
    return node ? node.scrollWidth - node.clientWidth : 0;
  };
  return {
    heading: box("h1"),
    lead: box(".lead"),
    controls: box(".control-row"),
    picture: box("main .picture-box"),
    explanation: box(".explanation"),
    cutLead: beyond(".lead"),
    cutControls: beyond(".control-row"),
    squeezed: [...document.querySelectorAll(".control-row .long > .picker")].some(
      (chips) => chips.clientWidth < Math.min(chips.scrollWidth, 120),
    ),
    cutPicture: beyond(".picture-scroller"),
    scale: Number(document.querySelector("main .picture").dataset.scale),
  };
}"""


def views(page):
    """The ids of all views, in guided order."""
    keys = page.locator(".guide-entry").evaluate_all("entries => entries.map((entry) => entry.dataset.key)")
    return [key.removeprefix("guide-") for key in keys]


def measured(page, screen):
    """Each view's name and boxes on a screen."""
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    for view in views(page):
        turn_to(page, f"view={view}")
        page.evaluate("scrollTo(0, 0)")
        if page.locator("main .picture").count():  # the training run of a model without a log has none
            yield view, page.evaluate(BOXES)


def check_boxes(page, screen):
    """At this size, every view keeps what the frame promises."""
    width, height = SCREENS[screen]
    for view, boxes in measured(page, screen):
        where = (screen, view, boxes)
        parts = [boxes[name] for name in ("heading", "lead", "controls", "picture")]
        assert all(above["bottom"] <= below["top"] + 1 for above, below in pairwise(parts)), where
        picture, explanation = boxes["picture"], boxes["explanation"]
        assert explanation["top"] >= picture["bottom"] or explanation["left"] >= picture["right"], where
        assert picture["left"] >= 0 and picture["right"] <= width, where
        assert boxes["cutPicture"] <= 2 and boxes["scale"] >= SMALLEST[screen], where
        if screen == "phone":
            assert picture["top"] <= height / 2, where
        else:
            assert picture["bottom"] <= height, where
            assert boxes["cutControls"] <= 0 and boxes["cutLead"] <= 0 and not boxes["squeezed"], where


@pytest.mark.parametrize("screen", ["laptop", "phone"])
def test_the_whole_picture_is_on_the_first_screen(open_page, street, screen):
    check_boxes(open_page(street), screen)


def test_no_dotted_line_crosses_a_text(open_page):
    page = open_page(make_trace(norm="pre"), "view=layer")
    page.set_viewport_size({"width": 1280, "height": 720})
    crossed = """() => {
      const picture = document.querySelector("main .picture");
      const dotted = [...picture.querySelectorAll("path, polyline")].filter(
        (line) => getComputedStyle(line).strokeDasharray !== "none",
      );
      const texts = [...picture.querySelectorAll("text")].map((text) => [text.textContent, text.getBBox()]);
      const found = dotted.flatMap((line) =>
        Array.from({length: Math.floor(line.getTotalLength() / 3)}, (_, step) => line.getPointAtLength(3 * step)),
      );
      const isIn = ({x, y, width, height}) => (point) =>
        point.x > x && point.x < x + width && point.y > y + 3 && point.y < y + height - 3;
      return {lines: dotted.length, texts: texts.filter(([, box]) => found.some(isIn(box))).map(([text]) => text)};
    }"""
    seen = page.evaluate(crossed)
    assert seen["lines"] >= 5 and not seen["texts"], seen


def test_the_built_in_models_too(open_page):
    """With the model in the page, the rows of controls are at their fullest."""
    from vitrail.translator import load

    sentence = f"{SENTENCE.replace(chr(39), ' ')}.".capitalize()
    model = load("builtin")
    check_boxes(open_page(model.explain(sentence, to="fr", live=True)), "laptop")
    # A search of more steps than are shown at once has a menu of them.
    long = f"The student who read the old book in the garden did not see that {sentence.lower()}"
    page = open_page(model.explain(long, to="fr", live=True), "view=search")
    page.set_viewport_size({"width": 1280, "height": 720})
    turn_to(page, "view=search")
    assert page.evaluate(BOXES)["cutControls"] <= 0
    page.locator("[data-key='search-part']").select_option("1")
    page.get_by_text("step 19").wait_for()


@pytest.mark.parametrize("screen", ["laptop", "phone"])
def test_no_text_of_the_stacks_covers_another_or_leaves_the_picture(open_page, screen):
    words = f"{SENTENCE} and the student ate the bread because it was too wide"
    page = open_page(make_trace(words, encoder_layers=4, d_model=256), "view=stacks")
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    turn_to(page, "view=stacks")
    texts = page.locator("main .picture text").evaluate_all(
        "texts => texts.map((text) => { const {x, y, width, height} = text.getBBox();"
        " return [text.textContent, x, y, x + width, y + height]; })"
    )
    boxes = page.locator("main .picture .box rect").evaluate_all(
        "boxes => boxes.map((box) => { const {y, height} = box.getBBox(); return [y, y + height]; })"
    )
    for place, (text, left, top, right, bottom) in enumerate(texts):
        assert top >= -1, text
        for other, *sides in texts[:place]:
            assert min(right, sides[2]) - max(left, sides[0]) < 2 or min(bottom, sides[3]) - max(top, sides[1]) < 6, (
                text,
                other,
            )
        assert not [edge for box in boxes for edge in box if top + 3 < edge < bottom - 3], text


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS)
def test_a_base_model_with_forty_tokens(open_page, screen):
    words = f"{SENTENCE} and the student ate the bread".split()
    base = {"d_model": 512, "heads": 8, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 6}
    check_boxes(open_page(make_trace(" ".join((words * 3)[:39]), **base)), screen)


@pytest.mark.slow
@pytest.mark.parametrize("screen", ["laptop", "desk"])
def test_what_a_control_shows_instead_fits_as_well(open_page, street, screen):
    page = open_page(street)
    width, height = SCREENS[screen]
    page.set_viewport_size({"width": width, "height": height})
    for place in (
        "positions&positions-of=table",
        "positions&positions-of=example",
        "attention&heads-view=all",
        "matrices&matrices-of=attention",
        "heads&heads-as=recap",
        "residuals&residuals-of=stacks",
        "decoding&decoding_heads=each",
    ):
        turn_to(page, f"view={place}")
        assert page.evaluate(BOXES)["picture"]["bottom"] <= height, place


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS)
def test_the_phrasebook_as_it_was_trained(open_page, phrases, screen):
    from vitrail.translator import load

    check_boxes(open_page(load(phrases).trace(SENTENCE, to="fr")), screen)
