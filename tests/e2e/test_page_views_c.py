"""Views 23 to 26 in the browser: feed-forward, all heads, what each layer would say, what mattered."""

import numpy as np
import pytest
from page_fixtures import number, numbers_in, turn_to

from vitrail.evaluate.habits import measure_habits

SENTENCE = "w3 w1 w4 w1 w5"


@pytest.fixture(scope="module")
def trace(small_translator):
    translator = small_translator(norm="pre")
    sentences = [f"w{n % 7} w{n % 5} w{n % 3}" for n in range(24)]
    made = translator.trace(SENTENCE, to="fr")
    made.document["habits"] = measure_habits(translator, sentences, to="fr").model_dump()
    return made


def test_feed_forward_shows_the_units_that_fire_and_what_for(trace, album):
    page = album(trace, "light")
    turn_to(page, "view=feed-forward&stack=decoder&layer=1&token=2")
    hidden = trace["decoder.1.feed_forward.hidden"][2]
    lead = page.locator(".lead").inner_text()
    assert numbers_in(lead)[-2] == (hidden > 0).sum()
    best = int(hidden.argmax())
    description = page.locator(".stage desc").text_content()
    assert f"unit {best} with {hidden.max():.2f}" in description
    habit = trace.document["habits"]["units"]["decoder.1"]
    assert f"unit {best} fires at" in page.locator(".prose").inner_text() or not habit["names"]
    page.locator("[data-key='units'] .reading-area").click(position={"x": 40, "y": 36})  # the second bar
    assert f"unit={np.argsort(-hidden, kind='stable')[1]}" in page.url
    turn_to(page, "view=stacks")
    page.locator("[data-key='map-encoder-1-feed_forward']").click()
    assert page.locator(".view-title").inner_text() == "Feed-forward"
    assert not album.troubles


def test_every_head_is_a_small_picture_that_leads_to_the_head(trace, album):
    page = album(trace, "light")
    turn_to(page, "view=all-heads")
    config = trace.document["model"]["config"]
    heads = config["heads"] * (config["encoder_layers"] + 2 * config["decoder_layers"])
    assert page.locator("[data-key^='glance-encoder'], [data-key^='glance-decoder']").count() == heads
    page.locator("[data-key='glance-decoder.1.cross_attention-2'] .reading-area").click()
    assert "layer=1" in page.url and "sublayer=cross_attention" in page.url and "head=2" in page.url
    measured = trace.document["habits"]["heads"]["decoder.1.cross_attention"]["heads"][2]
    said = page.locator(".prose").inner_text()
    assert f"{100 * measured['low']:.1f}% to {100 * measured['high']:.1f}%" in said
    assert "not a proof" in said
    page.locator("[data-key='open-head']").click()
    assert page.locator(".view-title").inner_text() == "What a word looks at"
    assert "heads=2" in page.url
    assert not album.troubles


def test_what_each_layer_would_say_ends_in_what_was_said(trace, album):
    page = album(trace, "light")
    turn_to(page, "view=layers-say&step=1")
    lens = trace.document["lens"]
    vocabulary = trace.document["vocabulary"]
    description = page.locator(".stage desc").text_content()
    for said in lens.values():
        assert f"“{vocabulary[said['ids'][1][0]]}”" in description
    last = list(lens.values())[-1]
    page.locator("[data-key='lens-words'] .reading-area").hover(position={"x": 20, "y": 10})
    name, chance = page.locator(".tooltip").inner_text().split("\n")
    assert name == vocabulary[last["ids"][1][0]]
    assert number(chance.strip("<>% ")) == pytest.approx(100 * np.exp(last["log_probs"][1][0]), abs=0.6)
    assert not album.troubles


def test_what_mattered_is_the_log_probability_that_a_word_costs(trace, album):
    page = album(trace, "light")
    turn_to(page, "view=what-mattered&step=0")
    held = trace.document["left_out"]
    own = trace["log_probs"][0, trace.document["target"]["ids"][0]]
    losses = own - held["log_probs"][:, 0]
    words = SENTENCE.split()
    description = page.locator(".stage desc").text_content()
    assert [round(value, 2) for value in numbers_in(description.split("matter by")[1])][1::2] == pytest.approx(
        [round(float(value), 2) for value in losses], abs=0.011
    )
    assert words[int(losses.argmax())] in page.locator(".lead").inner_text()
    assert page.locator("[data-key='mattered-loss'], [data-key='mattered-attention']").count() == 2
    assert not album.troubles
