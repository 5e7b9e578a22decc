"""The frame that every view fills: projector mode, and how one moves from view to view."""

import pytest
from page_fixtures import SIZES, number, point_at, turn_to


def test_projector_mode_leaves_picture_and_lead(open_page, street):
    page = open_page(street, "view=score&token=8")
    small = page.locator("h1").bounding_box()["height"]
    page.keyboard.press("f")
    page.locator("html[data-projector]").wait_for(state="attached")
    assert "projector=on" in page.evaluate("location.hash")
    for gone in (".side", ".control-row", ".explanation"):
        assert not page.locator(gone).is_visible(), gone
    assert page.locator("h1").bounding_box()["height"] > small
    assert "token it" in page.locator(".chosen").inner_text()
    for _ in range(4):
        assert page.locator("main .picture-box").bounding_box()["y"] > 0
        bottom = page.evaluate("document.querySelector('main .picture-box').getBoundingClientRect().bottom")
        assert bottom <= SIZES["light"][1]
        page.keyboard.press("PageDown")
    assert page.locator("h1").inner_text() == "Many heads"
    page.keyboard.press("Escape")
    assert page.locator(".explanation").is_visible()


def test_the_next_view_keeps_the_reader_at_the_picture(open_page, street):
    page = open_page(street, "view=embeddings", "phone")
    page.locator(".guide-step.next").scroll_into_view_if_needed()
    page.locator(".guide-step.next").click()
    assert page.locator("h1").inner_text() == "Positional encoding"
    top = page.evaluate("document.querySelector('.heading').getBoundingClientRect().top")
    assert -1 <= top <= 60


def test_arrow_keys_change_layer_token_and_view(open_page, street):
    page = open_page(street, "view=score&token=3")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert {"token=4", "layer=1"} <= set(page.evaluate("location.hash.slice(1)").split("&"))
    turn_to(page, "view=black-box")
    page.keyboard.press("ArrowRight")
    assert page.locator("h1").inner_text() == "Encoders and decoders"


def moved(page):
    """What began to move since this was asked last: the names of the elements."""
    return page.evaluate(
        """() => {
          const animate = Element.prototype.animate;
          if (!window.moved) {
            Element.prototype.animate = function (...given) {
              window.moved.push(this.tagName);
              return animate.apply(this, given);
            };
          }
          const moved = window.moved ?? [];
          window.moved = [];
          return moved;
        }"""
    )


def test_what_moves_explains_and_stands_still_for_readers_who_want_it(open_page, street):
    page = open_page(street)
    moved(page)
    page.get_by_role("button", name="Open the box").click()
    assert not moved(page), "the reader asked for less motion"
    page.emulate_media(reduced_motion="no-preference")
    page.get_by_role("button", name="Close the box").click()
    assert page.locator("h1").inner_text() == "The black box"
    assert moved(page) == ["svg"], "the box closes"
    page.get_by_role("button", name="Open the box").click()
    layers = street.document["model"]["config"]["decoder_layers"]
    assert sorted(moved(page)) == ["circle"] * layers + ["svg"], "a vector for every decoder"
    page.locator('[data-key="guide-score"]').click()
    d_k = street.document["model"]["config"]["d_k"]
    assert moved(page).count("rect") == d_k, "the score grows term by term"


def test_from_the_score_to_z_in_one_sequence(open_page, street):
    page = open_page(street, "view=softmax&token=8&head=2")
    phases = page.locator("main [data-phase]")
    assert [one.get_attribute("data-phase") for one in phases.all()] == ["0", "1", "2", "2"]
    page.locator('[data-key="sequence-play"]').click()
    page.locator('[data-key="sequence-play"]').click()  # paused at its beginning
    assert "phase=0" in page.evaluate("location.hash")
    assert phases.count() == 1
    for _ in range(4):
        page.get_by_role("button", name="one step forward").click()
    shown = point_at(page, "sequence-z", 0, 3, (1, street["encoder.0.self_attention.z"].shape[2]))[1]
    assert number(shown) == pytest.approx(street["encoder.0.self_attention.z"][2, 8, 3], rel=1e-6)


def test_the_beam_grows_step_by_step(open_page, street):
    page = open_page(street, "view=search")
    whole = page.locator("main .picture rect").count()
    page.get_by_role("button", name="one step back").click()
    steps = len(street.document["search"]["steps"])
    assert f"grown={steps - 1}" in page.evaluate("location.hash")
    assert page.locator("main .picture rect").count() < whole
