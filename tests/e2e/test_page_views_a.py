"""Positions, what words look at, queries to weighted values, matrices and heads, in a real browser."""

import json
import re
from importlib.resources import files

import numpy as np
import pytest
from page_fixtures import make_trace, number, numbers_in, point_at, turn_to

VIEWS = (
    "positions",
    "attention",
    "query-key-value",
    "score",
    "softmax",
    "weighted-values",
    "matrices",
    "matrices&matrices-of=attention",
    "positions&positions-of=table",
    "positions&positions-of=example",
    "residuals&residuals-of=stacks",
    "heads",
    "heads&heads-as=recap",
    "attention&heads-view=all",
)
IT = 8  # the position of "it" in the street sentence


@pytest.fixture(scope="module")
def relative():
    return make_trace(positions="relative", max_distance=3)


@pytest.fixture(scope="module")
def rotary():
    """Turned queries and keys, of which two heads share each; and one head is off."""
    return make_trace(positions="rope", kv_heads=2, norm="pre", heads_off={"encoder.0.self_attention": [1]})


@pytest.fixture(scope="module")
def biased():
    """Three heads, which is no power of two: their slopes are 1/16, 1/256 and 1/4."""
    return make_trace(positions="alibi", heads=3, d_k=8)


def test_positions(open_page, street, leave_pictures):
    page = open_page(street, "view=positions&token=8")
    position, total = street["source.position"], street["source.sum"]
    tokens, width = position.shape
    for token, column in ((IT, 5), (tokens - 1, 0), (3, width - 1)):
        shown = point_at(page, "sum-position", token, column, (tokens, width))[1]
        assert number(shown) == pytest.approx(position[token, column], abs=1e-6)
        shown = point_at(page, "sum-input", token, column, (tokens, width))[1]
        assert number(shown) == pytest.approx(total[token, column], rel=1e-6)
    turn_to(page, "view=positions&token=8&positions-of=table")
    for token, column in ((IT, 5), (tokens - 1, 0), (3, width - 1)):
        # The table that follows from the formula agrees with what the model added.
        shown = point_at(page, "table-sinusoidal", token, column, (64, width))[1]
        assert number(shown) == pytest.approx(position[token, column], abs=1e-6)
    # Past any sentence, in Tensor2Tensor's layout: all sines first.
    page = open_page(street, "view=positions&positions-of=table&range=3")
    lines = point_at(page, "table-sinusoidal-concat", 7, 0, (64, width))
    assert "10,007" in lines[0] and number(lines[1]) == pytest.approx(np.sin(10007), abs=1e-6)
    leave_pictures(street, "view=positions", "05-positions")
    leave_pictures(street, "view=positions&positions-of=table", "05-positions-table")


def test_the_layout_of_positions_can_be_switched(open_page, street):
    page = open_page(street, "view=positions&positions-of=example")
    page.get_by_label("Layout").select_option("concatenated")
    assert "layout=sinusoidal-concat" in page.evaluate("location.hash")
    # The post's four numbers for position 1: sin 1, sin 0.0001, cos 1, cos 0.0001.
    for column, value in enumerate((np.sin(1), np.sin(1e-4), np.cos(1), np.cos(1e-4))):
        assert number(point_at(page, "example", 1, column, (5, 4))[1]) == pytest.approx(value, rel=1e-6)
    turn_to(page, page.evaluate("location.hash.slice(1)").replace("positions-of=example", ""))
    assert "position, in this layout" in page.locator(".figure .picture").text_content()


def test_positions_of_models_that_add_none(open_page, rotary, relative, biased, screenshots):
    page = open_page(rotary, "view=positions&token=8")
    assert "adds nothing to the embeddings" in page.locator(".prose").inner_text()
    half = rotary.document["model"]["config"]["d_k"] // 2
    tokens = len(rotary.document["source"]["tokens"])
    assert number(point_at(page, "turns", IT, 1, (tokens, half))[1].split()[-1]) == pytest.approx(
        np.cos(IT * 10000 ** (-1 / half)), abs=1e-6
    )
    page.screenshot(path=screenshots / "05-positions-rope.png", full_page=True)
    page = open_page(relative, "view=positions&token=8")
    assert point_at(page, "distances", IT, 0, (tokens, tokens))[1] == "distance −8, counted as −3"
    page.screenshot(path=screenshots / "05-positions-relative.png", full_page=True)
    page = open_page(biased, "view=positions&token=8&head=2")
    assert "from 0.25 to 0.00391" in page.locator(".prose").inner_text()
    assert number(point_at(page, "slopes", 0, 5, (3, max(16, tokens)))[1]) == -5 / 16
    recorded = biased["encoder.0.self_attention.distance_bias"]
    for key in (0, IT, tokens - 1):
        assert number(point_at(page, "biases", IT, key, (tokens, tokens))[1]) == recorded[2, IT, key]
    page.screenshot(path=screenshots / "05-positions-alibi.png", full_page=True)
    page = open_page(biased, "view=positions&stack=decoder&token=2")
    inputs = len(biased.document["target"]["input_tokens"])
    assert point_at(page, "biases", 2, 3, (inputs, inputs))[1].startswith("hidden"), "the decoder must not see it"


def test_attention_lines(open_page, street, leave_pictures):
    page = open_page(street, "view=attention&layer=1&token=8")
    weights = street["encoder.1.self_attention.weights"]
    heads, _, keys = weights.shape

    def shares():
        marks = page.locator("[data-share]").evaluate_all("all => all.map((one) => ({...one.dataset}))")
        return {(int(mark["head"]), int(mark["keyToken"])): number(mark["share"]) for mark in marks}

    expected = {(head, key): weights[head, IT, key] for head in range(heads) for key in range(keys)}
    assert shares() == pytest.approx(expected, abs=6e-5)
    # Another token under the pointer, then another head off, then another token pinned by the keyboard.
    page.locator('[data-key="looks-2"]').hover()
    assert shares()[1, 3] == pytest.approx(weights[1, 2, 3], abs=6e-5)
    page.get_by_role("checkbox", name="head 1").click()
    page.mouse.move(0, 0)
    assert {head for head, _ in shares()} == {0, 2, 3}
    page.locator('[data-key="looks-5"]').press("Enter")
    assert "token=5" in page.evaluate("location.hash")
    assert shares()[0, 4] == pytest.approx(weights[0, 5, 4], abs=6e-5)
    assert "heads=0%2C2%2C3" in page.evaluate("location.hash")
    leave_pictures(street, "view=attention", "07-attention")
    leave_pictures(street, "view=attention&heads-view=all", "07-attention-heads")


def test_attention_from_output_to_input(open_page, street):
    page = open_page(street, "view=attention")
    page.get_by_label("Attention", exact=True).select_option("encoder-decoder attention")
    weights = street["decoder.0.cross_attention.weights"]
    token = int(re.search(r"token=(\d+)", page.evaluate("location.hash"))[1])
    marks = page.locator('[data-share][data-head="2"]')
    assert marks.count() == weights.shape[2]
    assert number(marks.nth(3).get_attribute("data-share")) == pytest.approx(weights[2, token, 3], abs=6e-5)


def test_query_key_value(open_page, street, leave_pictures):
    page = open_page(street, "view=query-key-value&layer=1&head=2&token=8")
    q, k = street["encoder.1.self_attention.q"], street["encoder.1.self_attention.k"]
    width = q.shape[2]
    lines = point_at(page, "q-0", 0, 5, (1, width))
    assert numbers_in(lines[0])[-1] == pytest.approx(q[2, IT, 5], rel=1e-6)
    product, bias, total = numbers_in(lines[2])  # x · column + b, worked out by the page
    assert product + bias == pytest.approx(total, abs=2e-4) and total == pytest.approx(q[2, IT, 5], abs=2e-4)
    assert numbers_in(point_at(page, "k-0", 0, 3, (1, width))[0])[-1] == pytest.approx(k[2, IT, 3], rel=1e-6)
    leave_pictures(street, "view=query-key-value", "08-query-key-value")


def test_query_key_value_turned_and_shared(open_page, rotary, screenshots):
    page = open_page(rotary, "view=query-key-value&head=3&token=8")
    assert "kv head 1" in page.locator(".prose").inner_text()
    turned = rotary["encoder.0.self_attention.k_rotated"]
    lines = point_at(page, "k-rotated-0", 0, 2, (1, turned.shape[2]))
    assert numbers_in(lines[0])[-1] == pytest.approx(turned[1, IT, 2], rel=1e-6)
    page.screenshot(path=screenshots / "08-query-key-value-rope.png", full_page=True)


def test_score(open_page, street, leave_pictures):
    page = open_page(street, "view=score&head=1&token=8&key=2")
    scores = street["encoder.0.self_attention.scores"]
    keys = scores.shape[2]
    assert number(point_at(page, "scores", 4, 0, (keys, 1))[1]) == pytest.approx(scores[1, IT, 4], rel=1e-6)
    page.mouse.move(0, 0)
    # Term by term: what is written in the cells adds up to what is written below them.
    q, k = (street[f"encoder.0.self_attention.{name}"] for name in "qk")
    texts = [number(text) for text in page.locator(".terms .wrapped-vector").nth(2).locator("text").all_text_contents()]
    assert texts == pytest.approx(list(q[1, IT] * k[1, 2]), abs=0.0101)
    assert sum(texts) == pytest.approx(number(f"{scores[1, IT, 2]:.2f}"), abs=1e-9)
    leave_pictures(street, "view=score", "09-score")


def test_score_of_content_and_position(open_page, relative, screenshots):
    page = open_page(relative, "view=score&head=1&token=8&key=2")
    content, position = (
        relative[f"encoder.0.self_attention.scores_{part}"][1, IT, 2] for part in ("content", "position")
    )
    said = page.locator(".terms text").last.text_content()
    a, b, total = numbers_in(said)
    assert (a, b, total) == pytest.approx((content, position, content + position), abs=0.0101)
    assert a + b == pytest.approx(total, abs=1e-9)
    page.screenshot(path=screenshots / "09-score-relative.png", full_page=True)


def test_softmax(open_page, street, leave_pictures):
    page = open_page(street, "view=softmax&head=1&token=8")
    shape = (3, len(street.document["source"]["tokens"]))
    for row, name in enumerate(("scores", "scaled", "weights")):
        value = street[f"encoder.0.self_attention.{name}"][1, IT, 6]
        lines = point_at(page, "softmax-table", row, 6, shape)
        shown = numbers_in(lines[0])[-1] if row == 2 else number(lines[1])
        assert shown == pytest.approx(value, rel=1e-5)
    leave_pictures(street, "view=softmax", "10-softmax")


def test_softmax_of_scores_with_a_bias(open_page, biased, leave_pictures):
    page = open_page(biased, "view=softmax&head=2&token=8")
    score, scaled = (biased[f"encoder.0.self_attention.{name}"][2, IT, 6] for name in ("scores", "scaled"))
    lines = point_at(page, "softmax-table", 1, 6, (3, len(biased.document["source"]["tokens"])))
    assert lines[0].endswith(" − 0.5000"), "two places away, with a slope of 1/4"
    assert numbers_in(lines[0])[-3:] == pytest.approx([score, np.sqrt(8), 0.5], abs=1e-4)
    assert number(lines[1]) == pytest.approx(scaled, rel=1e-6)
    page = open_page(biased, "view=softmax&head=2&stack=decoder", "phone")
    assert {"÷ √8", "+ bias"} <= set(page.locator(".figure .picture text.bold").all_text_contents())
    turn_to(page, "view=matrices&matrices-of=attention")
    assert "Q Kᵀ / √8 + bias" in page.locator(".figure .picture").text_content()
    turn_to(page, "view=matrices&matrices-of=attention&stack=decoder&sublayer=cross_attention")
    assert "bias" not in page.locator(".figure .picture").text_content(), "positions count in self-attention only"
    leave_pictures(biased, "view=softmax&head=2", "10-softmax-alibi")


def test_softmax_hides_the_future(open_page, street):
    page = open_page(street, "view=softmax&stack=decoder&token=3")
    keys = len(street.document["target"]["input_tokens"])
    is_across = keys <= 14
    shape = (3, keys) if is_across else (keys, 3)
    lines = point_at(page, "softmax-table", *((1, 5) if is_across else (5, 1)), shape)
    assert "−∞" in lines[1]
    assert np.isneginf(street["decoder.0.self_attention.scaled"][0, 3, 5])


def columns_of_numbers(page):
    """The numbers that stand below each other in the picture, by where they stand."""
    found = page.locator(".figure .picture text.numeric:not(.quiet)").evaluate_all(
        "all => all.map((one) => [one.getAttribute('x'), one.textContent])"
    )
    columns = {}
    for x, text in found:
        columns.setdefault(float(x), []).append(number(text))
    return [columns[x] for x in sorted(columns)]


@pytest.mark.parametrize("look", ["light", "phone"])
def test_weighted_values_add_up_on_the_screen(open_page, street, look):
    page = open_page(street, "view=weighted-values&head=1&token=8", look)
    z = street["encoder.0.self_attention.z"][1, IT]
    shares, *columns = columns_of_numbers(page)
    assert len(columns) >= 2
    for values, expected in ((shares, 1.0), *zip(columns, z, strict=False)):
        *terms, total = values
        assert total == pytest.approx(expected, abs=5.1e-4)
        assert sum(terms) == pytest.approx(total, abs=1e-9)


def test_weighted_values(open_page, street, relative, rotary, leave_pictures):
    page = open_page(street, "view=weighted-values&head=1&token=8")
    weights, v = street["encoder.0.self_attention.weights"], street["encoder.0.self_attention.v"]
    shown = numbers_in(point_at(page, "weighted-values", 2, 5, (weights.shape[2], 8))[0])[-1]
    assert shown == pytest.approx(weights[1, IT, 2] * v[1, 2, 5], rel=1e-5)
    # With what distances add; and in a head that is off, of which nothing is left.
    *_, column = columns_of_numbers(open_page(relative, "view=weighted-values&head=1&token=8"))
    assert sum(column[:-1]) == pytest.approx(column[-1], abs=1e-9)
    *_, column = columns_of_numbers(open_page(rotary, "view=weighted-values&head=1&token=8"))
    *terms, total, off = column
    assert sum(terms) == pytest.approx(total, abs=1e-9) and off == 0
    leave_pictures(street, "view=weighted-values", "11-weighted-values")


def test_matrices(open_page, street, leave_pictures):
    page = open_page(street, "view=matrices&matrices-of=attention&head=1&token=8")
    weights, v = street["encoder.0.self_attention.weights"], street["encoder.0.self_attention.v"]
    _, tokens, width = v.shape
    shown = point_at(page, "weights", IT, 3, (tokens, tokens))[1]
    assert number(shown) == pytest.approx(weights[1, IT, 3], rel=1e-5)
    turn_to(page, "view=matrices&head=1&token=8")
    assert number(point_at(page, "made-v", 4, 2, (tokens, width))[1]) == pytest.approx(v[1, 4, 2], rel=1e-6)
    leave_pictures(street, "view=matrices", "12-matrices")


def test_heads(open_page, street, rotary, leave_pictures):
    page = open_page(street, "view=heads&layer=1")
    z, output = street["encoder.1.self_attention.z"], street["encoder.1.self_attention.output"]
    heads, tokens, width = z.shape
    shown = point_at(page, "joined", 4, 2 * width + 3, (tokens, heads * width))
    assert "Z₂" in shown[0] and number(shown[1]) == pytest.approx(z[2, 4, 3], rel=1e-6)
    shown = point_at(page, "output", 4, 7, output.shape)[1]
    assert number(shown) == pytest.approx(output[4, 7], rel=1e-6)
    assert "vitrail studio" in page.locator(".needs-studio").inner_text()
    page.locator('[data-key="head-2"]').press("Enter")
    assert page.locator("h1").inner_text() == "What a word looks at"
    page = open_page(rotary, "view=heads")
    assert "switched off: Z is 0" in page.locator(".figure .picture").text_content()
    leave_pictures(street, "view=heads", "13-heads")
    leave_pictures(street, "view=heads&heads-as=recap", "13-heads-recap")


def test_a_head_is_switched_off_and_the_sentence_translated_again(browser, screenshots):
    """The studio's page, with a model that answers from this test."""
    asked = []

    def answer(route):
        path = route.request.url.split("studio.test/")[1].split("?")[0]
        if path == "api/models":
            example = {"text": make_trace().source, "to": "fr"}
            return route.fulfill(json={"models": [{"name": "small", "languages": ["en", "fr"], "example": example}]})
        if path == "api/trace":
            asked.append(json.loads(route.request.post_data)["heads_off"])
            return route.fulfill(body=make_trace(heads_off=asked[-1]).to_json(), content_type="application/json")
        kinds = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
        file = files("vitrail") / "web" / (path or "index.html")
        return route.fulfill(body=file.read_text(encoding="utf-8"), content_type=kinds[str(file).rsplit(".", 1)[1]])

    page = browser.new_page(viewport={"width": 1280, "height": 800})
    try:
        page.route("**/*", answer)
        page.goto("http://studio.test/?token=secret#view=heads&stack=decoder&sublayer=cross_attention&layer=1")
        page.get_by_role("checkbox", name="head 2 of decoder.1.cross_attention").click()
        page.locator(".before-and-now").wait_for()
        assert asked == [{}, {"decoder.1.cross_attention": [2]}]
        trace = make_trace(heads_off=asked[1])
        rows = page.locator(".before-and-now tr").all_inner_texts()
        assert " ".join(make_trace().document["target"]["tokens"]) in rows[0]
        assert " ".join(trace.document["target"]["tokens"]) in rows[1]
        assert "decoder.1.cross_attention 2" in rows[1]
        assert "switched off: Z is 0" in page.locator(".figure .picture").text_content()
        page.screenshot(path=screenshots / "13-heads-studio.png", full_page=True)
        page.get_by_role("button", name="all on again").click()
        page.locator(".before-and-now").wait_for()
        page.wait_for_function("!document.querySelector('.figure .picture').textContent.includes('switched off')")
    finally:
        page.close()


@pytest.mark.parametrize(
    ("positions", "settings"),
    [
        ("sinusoidal-concat", {"kv_heads": 1, "norm": "pre", "bias": False}),
        ("sinusoidal-halves", {"norm": "post"}),
        ("learned", {"kv_heads": 1, "norm": "post"}),
        ("relative", {"kv_heads": 2, "norm": "pre", "max_distance": 2}),
        ("rope", {"norm": "post", "bias": False}),
        ("alibi", {"heads": 6, "kv_heads": 2, "d_k": 8}),
    ],
)
def test_every_option_has_every_picture(open_page, positions, settings):
    trace = make_trace(positions=positions, **settings)
    page = open_page(trace)
    for view in VIEWS:
        for place in ("", "&stack=decoder&layer=1", "&stack=decoder&sublayer=cross_attention"):
            turn_to(page, f"view={view}{place}&token=2&head=3")
            assert page.locator(".problem").count() == 0, (view, place)
            assert page.locator(".figure .picture desc").text_content()


def test_weights_that_were_left_out_are_said_to_be(open_page, street):
    document = street.to_dict()
    document["weights"] = {name: value for name, value in document["weights"].items() if "norm" in name}
    document["weights_of"] = []
    page = open_page(type(street).from_dict(document), "view=query-key-value")
    for view in ("query-key-value", "matrices", "heads"):
        turn_to(page, f"view={view}")
        assert "not in this file" in page.locator(".figure .picture").text_content()
        assert page.locator(".problem").count() == 0
