"""The page in a real browser: its numbers, proof, keys, address and files; as a file, in a frame and in a studio."""

import base64
import copy
import http.server
import json
import random
import re
import threading
import xml.etree.ElementTree as ElementTree
from importlib.resources import files
from math import inf

import numpy as np
import pytest
from page_fixtures import SENTENCE, make_trace, number, numbers_in, point_at, rows_of, turn_to, watch

from vitrail.config import DecodeConfig
from vitrail.trace import Trace, inside

HOSTILE = '<img src=x onerror="document.title=1">&lt;</script><script>document.title=2</script>"\'`${1}'


@pytest.fixture(scope="module")
def paper():
    """The same sentence through a model in the paper's order, with one head switched off."""
    return make_trace(norm="post", positions="sinusoidal", heads_off={"decoder.0.cross_attention": [1]}, kv_heads=2)


def each_view(page):
    """Go through the guide from the first view to the last."""
    entries = page.locator(".guide-entry")
    for place in range(entries.count()):
        entries.nth(place).click()
        yield page.locator("h1").inner_text()


@pytest.mark.parametrize(
    "settings",
    [
        {"norm": "post", "positions": "rope", "kv_heads": 1, "activation": "gelu", "tie_embeddings": "none"},
        {"norm": "pre", "positions": "relative", "bias": False, "encoder_layers": 1, "decoder_layers": 3},
        {"positions": "alibi", "heads": 6, "kv_heads": 3, "d_k": 8},
        {"positions": "learned", "output_bias": True, "embedding_scale": False, "tie_embeddings": "target"},
        {"positions": "sinusoidal-concat", "heads": 2, "kv_heads": 2, "d_k": 10, "activation": "silu"},
        {"decode": DecodeConfig(sample=True, top_beams=2, max_extra=2), "reference": "le chat", "encoder_layers": 3},
        {"decode": DecodeConfig(beam_size=1, max_extra=1), "heads_off": {"encoder.0.self_attention": [0, 1, 2, 3]}},
    ],
    ids=lambda settings: "-".join(str(value) for value in settings.values() if isinstance(value, str)) or "search",
)
def test_every_view_shows_every_kind_of_model(open_page, settings):
    page = open_page(make_trace(**{"reference": "the cat", **settings}))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in ("encoder", "decoder"):
        for view in each_view(page):
            assert page.locator(".problem").count() == 0, (view, page.locator(".problem").all_inner_texts())
            assert page.locator(".prose").inner_text().strip(), view
            for picture in page.locator("main svg.picture").all():
                assert picture.get_attribute("aria-label"), view
                assert picture.locator("desc").first.text_content(), f"{view} has no words for those who cannot see it"
        # Once more from a sub-layer of the decoder.
        page.get_by_role("button", name="decoder layer 0, enc-dec attention").click()
    assert not [address for address in asked if not address.startswith(("data:", "blob:"))]


def test_black_box(open_page, street, leave_pictures):
    page = open_page(street)
    assert street.source in page.locator("main").inner_text()
    assert street.text in page.locator("main").inner_text()
    assert street.document["model"]["name"] in page.locator("header").inner_text()
    page.get_by_role("button", name="Open the box").press("Enter")
    assert page.locator("h1").inner_text() == "Encoders and decoders"
    leave_pictures(street, "", "01-black-box")


def test_stacks(open_page, street, leave_pictures):
    page = open_page(street, "view=stacks")
    parts = street.document["model"]["parameters"]["parts"]
    for stack in ("encoder", "decoder"):
        for layer in range(2):
            box = page.get_by_role("button", name=re.compile(f"^{stack} {layer}, .* go inside"))
            counted = parts[f"{stack}.{layer}"]
            written = f"{counted:,}" if counted < 10_000 else f"{counted / 1000:.0f}k"
            assert f"{written} parameters" in box.get_attribute("aria-label")
    page.get_by_role("button", name=re.compile("^decoder 1, .* go inside")).click()
    assert page.evaluate("location.hash").startswith("#view=layer&stack=decoder&layer=1")
    leave_pictures(street, "view=stacks", "02-stacks")


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_inside_a_layer(open_page, street, paper, leave_pictures, norm):
    trace = {"post": paper, "pre": make_trace(norm="pre")}[norm]
    page = open_page(trace, "view=layer&layer=1")
    text = page.locator(".picture-scroller").inner_text()
    assert ("Add & Normalize" in text) == (norm == "post")
    length = np.linalg.norm(trace["encoder.1.self_attention.output"], axis=-1).mean()
    assert f"length {length:.1f}" in text
    leave_pictures(trace, "view=layer&layer=1", f"03-layer-{norm}")


def test_embeddings_by_pointer(open_page, street, leave_pictures):
    page = open_page(street, "view=embeddings&token=8")
    values = street["source.embedding"]
    picks = random.Random(0)
    for _ in range(5):
        row, column = picks.randrange(values.shape[0]), picks.randrange(values.shape[1])
        what, shown = point_at(page, "embeddings", row, column, values.shape)
        assert street.document["source"]["tokens"][row] in what
        assert number(shown) == pytest.approx(values[row, column], rel=1e-6)
    leave_pictures(street, "view=embeddings&token=8", "04-embeddings")


def test_embeddings_by_keyboard(open_page, street):
    page = open_page(street, "view=embeddings&stack=decoder&token=0")
    grid = page.locator('[data-key="embeddings"]')
    grid.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    value = street["target.embedding"][1, 2]
    assert number(page.locator(".tooltip").inner_text().split("\n")[1]) == pytest.approx(value, rel=1e-6)
    assert "number 2" in grid.get_attribute("aria-valuetext")
    page.keyboard.press("Enter")  # chooses that token, and the focus stays
    assert "token=1" in page.evaluate("location.hash")
    assert page.evaluate("document.activeElement.dataset.key") == "embeddings"


def test_paths(open_page, street, leave_pictures):
    page = open_page(street, "view=paths&layer=1&token=8")
    weights = street["encoder.1.self_attention.weights"].mean(0)[8]
    said = page.locator(".prose").inner_text()
    assert street.document["source"]["tokens"][int(weights.argmax())] in said
    assert f"{100 * weights.max():.0f}%" in said
    values = street["encoder.1.feed_forward.output"]
    shown = point_at(page, "encoder.1.feed_forward.output-3", 0, 7, (1, values.shape[1]))[1]
    assert number(shown) == pytest.approx(values[3, 7], rel=1e-6)
    leave_pictures(street, "view=paths&layer=1&token=8", "06-paths")
    leave_pictures(street, "view=paths&stack=decoder&token=3", "06-paths-decoder")


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_residuals(open_page, paper, leave_pictures, norm):
    trace = {"post": paper, "pre": make_trace(norm="pre")}[norm]
    place = "view=residuals&stack=decoder&sublayer=cross_attention&token=2"
    page = open_page(trace, place)
    here, width = "decoder.0.add_norm_2", trace["decoder.output"].shape[1]
    names = {
        "post": ["decoder.0.add_norm_1.output", "decoder.0.cross_attention.output", f"{here}.sum", f"{here}.output"],
        "pre": ["decoder.0.add_norm_1.output", f"{here}.normed", "decoder.0.cross_attention.output", f"{here}.sum"],
    }[norm]
    for line, name in enumerate(names):
        shown = point_at(page, f"residual-{line}", 0, 5, (1, width))[1]
        assert number(shown) == pytest.approx(trace[name][2, 5], rel=1e-6, abs=1e-12), name
    leave_pictures(trace, place, f"14-residuals-{norm}")


def test_it_says_what_it_checked(open_page, street):
    page = open_page(street)
    total = sum(street[name].size for name in street.names())
    page.locator(".badge-summary").click()
    found = re.search(
        r"checked ([\d,]+) of ([\d,]+) numbers \(\d+%\), largest difference (\S+e-\d+)",
        page.locator(".badge").inner_text(),
    )
    checked, counted = (int(part.replace(",", "")) for part in found.groups()[:2])
    assert total < counted
    assert 0.9 * counted < checked <= counted
    assert float(found[3]) < 1e-4


@pytest.mark.parametrize(
    "name",
    [
        "source.embedding",
        "target.position",
        "encoder.0.self_attention.q",
        "encoder.1.self_attention.scores",
        "decoder.0.self_attention.scaled",
        "decoder.1.cross_attention.weights",
        "decoder.0.cross_attention.z",
        "decoder.0.feed_forward.hidden",
        "encoder.1.add_norm_2.output",
        "decoder.1.add_norm_3.sum",
        "logits",
        "log_probs",
    ],
)
def test_one_altered_number_turns_the_page_red(browser, paper, tmp_path, name):
    from vitrail.explain import page_of

    values = paper[name].flatten()
    place = random.Random(name).randrange(values.size)
    values[place] = 0.5 if values[place] == -inf else values[place] + 0.05 * np.abs(values[np.isfinite(values)]).max()
    arrays = {**paper.document["arrays"], name: values.reshape(paper[name].shape)}
    (tmp_path / "page.html").write_text(page_of(Trace({**paper.document, "arrays": arrays})), encoding="utf-8")
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.locator("html[data-verified=failed]").wait_for(state="attached")
        page.locator(".badge-summary").click()
        page.locator(".badge-details li", has_text=f"{name},").wait_for()


def test_keys_and_the_back_button(open_page, street):
    page = open_page(street, "view=paths&token=0")
    page.locator("body").press("ArrowRight")
    page.locator("body").press("ArrowRight")
    assert "token=2" in page.evaluate("location.hash")
    page.locator(".picture-scroller").click(position={"x": 4, "y": 4})  # gives the picture the focus
    page.keyboard.press("ArrowUp")
    assert "layer=1" in page.evaluate("location.hash")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    after = page.locator("h1").inner_text()
    assert after != "Each token on its own path"
    page.go_back()
    page.locator("h1", has_text="Each token on its own path").wait_for()
    page.go_back()
    page.get_by_role("radiogroup", name="Layer").get_by_role("radio", name="layer 1", checked=True).wait_for()
    assert "layer=1" in page.evaluate("location.hash")


def test_everything_is_within_reach_of_the_tab_key(open_page, street):
    page = open_page(street, "view=residuals")
    seen = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        state = page.evaluate(
            """() => {
              const node = document.activeElement;
              const mark = node.querySelector?.(".reading-area") ?? node;
              const style = getComputedStyle(node), own = getComputedStyle(mark);
              const ring = style.outlineStyle !== "none" || parseFloat(own.strokeWidth) >= 2
                || [...node.children].some((child) => parseFloat(getComputedStyle(child).strokeWidth) >= 2);
              const name = node.dataset?.key ?? node.className?.baseVal ?? node.className;
              return [node === document.body ? "" : name, ring];
            }"""
        )
        if not state[0]:
            break
        seen.add(state[0])
        assert state[1], f"the focus cannot be seen on {state[0]}"
    for key in ("picker-stack", "picker-layer", "picker-sublayer", "picker-token", "residual-0", "guide-layer"):
        assert key in seen, key
    assert any(key.startswith("map-") for key in seen)


def test_pickers_step_with_arrow_keys_and_keep_the_focus(open_page, street):
    page = open_page(street, "view=residuals")
    page.locator('[data-key="picker-token"]').focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    last = len(street.document["source"]["tokens"]) - 2
    assert f"token={last}" in page.evaluate("location.hash")
    assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"


def test_the_map_leads_anywhere(open_page, street):
    page = open_page(street, "view=residuals")
    page.get_by_role("button", name="decoder layer 1, enc-dec attention").click()
    where = page.evaluate("location.hash")
    assert all(part in where for part in ("view=residuals", "stack=decoder", "layer=1", "sublayer=cross_attention"))


def test_the_theme_is_chosen_and_remembered(open_page, street):
    page = open_page(street, "view=embeddings", "light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Theme").select_option("dark")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.reload()
    page.locator("html[data-theme=dark]").wait_for(state="attached")


@pytest.mark.parametrize("look", ["light", "dark"])
def test_the_chosen_colours_are_there_before_anything_is_drawn(browser, studio, street, tmp_path, look):
    """As a file and in the studio, with the page's own script still on its way."""
    from vitrail.explain import page_of

    head, tag, _ = page_of(street).partition("<body>")  # and nothing that draws
    (tmp_path / "page.html").write_text(head + tag, encoding="utf-8")
    other = "dark" if look == "light" else "light"
    for place in ((tmp_path / "page.html").as_uri(), f"http://127.0.0.1:{studio.server_port}/?token=t"):
        with browser.new_context(color_scheme=other) as context:  # the reader chose against the system
            context.add_init_script(f"localStorage.setItem('vitrail-theme', '{look}')")
            page = context.new_page()
            page.route("**/main.js", lambda route: None)  # never answered
            page.goto(place, wait_until="commit")
            page.locator(f"html[data-theme={look}]").wait_for(state="attached")
            paper = page.wait_for_function(  # the style sheets may still be loading
                "(([r, g, b, a]) => a === '0' ? null : [r, g, b].map(Number))"
                "(getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g))"
            ).json_value()
            assert (min(paper) > 200) == (look == "light")
            assert page.locator("header").count() == 0


def test_a_picture_is_saved_as_svg_and_png(open_page, street, tmp_path):
    page = open_page(street, "view=embeddings&token=8")
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    download.value.save_as(tmp_path / "picture.svg")
    assert download.value.suggested_filename == "vitrail-embeddings.svg"
    root = ElementTree.parse(tmp_path / "picture.svg").getroot()
    space = {"svg": "http://www.w3.org/2000/svg"}
    words = {text.text for text in root.iterfind(".//svg:text", space)}
    assert any(word and word.startswith("street") for word in words)
    assert root.find("svg:title", space).text == "The embedding of every token"
    assert str(len(street.document["source"]["tokens"])) in root.find("svg:desc", space).text
    # Nothing depends on the page's own style sheet any more.
    assert not [node for node in root.iter() if {"class", "style"} & set(node.attrib)]
    assert all(text.get("fill", "").startswith("rgb") for text in root.iterfind(".//svg:text", space))
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    content = download.value.path().read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == tuple(2 * round(float(root.get(name))) for name in ("width", "height"))


def test_hostile_text_is_text(open_page, street):
    document = copy.deepcopy(street.document)
    document["model"]["name"] = document["source"]["text"] = document["target"]["text"] = HOSTILE
    for side, keys in (("source", ["tokens"]), ("target", ["tokens", "input_tokens"])):
        for key in keys:
            document[side][key] = [HOSTILE] * len(document[side][key])
    document["vocabulary"] = [HOSTILE] * len(document["vocabulary"])
    trace = Trace(document)
    page = open_page(trace, "token=2")
    for view in each_view(page):
        assert page.locator("img, #vitrail script").count() == 0, view
        assert HOSTILE in page.locator("header").inner_text()
        assert HOSTILE in page.title()
    page.get_by_role("button", name="Embeddings").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    tree = ElementTree.parse(download.value.path())
    assert not [node for node in tree.iter() if node.tag.endswith(("script", "img", "foreignObject"))]


def test_long_words_in_a_long_sentence_break_no_view(open_page):
    word = "donaudampfschiff" * 19
    sentence = " ".join(["the", word, *SENTENCE.split() * 3, word])
    trace = make_trace(sentence, decode=DecodeConfig(beam_size=1, max_extra=8), reference=f"le {word}")
    last = len(trace.document["target"]["tokens"]) - 1
    assert last >= len(trace.document["source"]["tokens"])  # a place that no token of the source has
    page = open_page(trace)
    for place in ("view=black-box", f"view=softmax&stack=decoder&sublayer=cross_attention&token={last}"):
        turn_to(page, place)
        for view in each_view(page):
            assert page.locator(".problem").count() == 0, view


def test_nonsense_in_the_address_shows_the_nearest_place(open_page, street):
    page = open_page(street, "view=%3Cscript%3E&layer=999&head=x&token=-5&stack=nowhere&unknown=%00")
    assert page.locator("h1").inner_text() == "The black box"


def test_inside_a_notebook(browser, street, tmp_path):
    """A sandboxed frame has no address, no storage and no origin: the page works all the same."""
    from vitrail.explain import Explanation

    shown = Explanation(street)
    (tmp_path / "notebook.html").write_text(
        f"<!doctype html>{shown._repr_html_()}{shown._repr_html_()}", encoding="utf-8"
    )
    troubles = []
    with browser.new_context(offline=True, viewport={"width": 1200, "height": 1600}) as context:
        page = context.new_page()
        watch(page, troubles)
        page.goto((tmp_path / "notebook.html").as_uri())
        for number_of_frame in range(2):
            frame = page.frame_locator("iframe").nth(number_of_frame)
            frame.locator("html[data-verified=ok]").wait_for(state="attached")
        first, second = (page.frame_locator("iframe").nth(index) for index in range(2))
        first.get_by_role("button", name="Embeddings").first.click()
        first.locator("h1", has_text="Embeddings").wait_for()
        first.get_by_label("Theme").select_option("dark")
        first.locator("html[data-theme=dark]").wait_for(state="attached")
        first.get_by_role("radio", name="street, position 6").click()
        first.locator(".prose", has_text="street").wait_for()
        assert second.locator("h1").inner_text() == "The black box"
        with page.expect_download() as download:
            first.get_by_role("button", name="PNG").click()
        assert download.value.path().read_bytes().startswith(b"\x89PNG")
    assert not troubles


def test_long_sentences_stay_usable(open_page, screenshots):
    trace = make_trace(" ".join(["the cat is tired and the dog is old"] * 22))
    assert len(trace.document["source"]["tokens"]) > 190
    for view in ("embeddings", "paths", "residuals"):
        page = open_page(trace, f"view={view}&token=150")
        assert page.get_by_role("radiogroup", name="Token").get_by_role("radio", checked=True).is_visible()
        page.screenshot(path=screenshots / f"long-{view}.png")


@pytest.fixture(scope="module")
def light():
    """A trace that holds the insides of four of its six layers, and no logits: what is left of a long sentence."""
    whole = make_trace(encoder_layers=3, decoder_layers=3)
    left_out = {*inside(whole, "encoder.1"), *inside(whole, "decoder.1"), "logits"}
    arrays = {name: array for name, array in whole.document["arrays"].items() if name not in left_out}
    return Trace(
        {**whole.document, "arrays": arrays, "inside_of": ["encoder.0", "encoder.2", "decoder.0", "decoder.2"]}
    )


def test_numbers_that_were_left_out_are_said_to_be(open_page, light, screenshots):
    page = open_page(light, "view=score&layer=1&token=8&head=1")  # its proof is of what it holds
    card = page.locator(".missing")
    assert "inside encoder layer 1 are not in this file" in card.inner_text()
    assert "--layers encoder.1" in card.locator("code").inner_text()
    assert page.locator("figure").count() == 0
    page.screenshot(path=screenshots / "09-score-left-out.png", full_page=True)
    card.get_by_role("button", name="encoder 2").click()
    assert "layer=2" in page.evaluate("location.hash")
    scores = light["encoder.2.self_attention.scores"][1, 8]
    assert number(point_at(page, "scores", 4, 0, (scores.size, 1))[1]) == pytest.approx(scores[4], rel=1e-6)
    # Where the heads of a layer without its inside look is there all the same.
    turn_to(page, "view=matrices&layer=1&token=8")
    page.get_by_role("button", name="see what a word looks at").click()
    weights = light["encoder.1.self_attention.weights"]
    shown = page.locator('[data-share][data-head="2"]').nth(3).get_attribute("data-share")
    assert number(shown) == pytest.approx(weights[2, 8, 3], abs=6e-5)


def test_every_view_does_with_what_is_there(open_page, light):
    page = open_page(light)
    places = ("layer=1", "stack=decoder&layer=1", "stack=decoder&sublayer=cross_attention&layer=1")
    names = [key.removeprefix("guide-") for key in guide_keys(page)]
    without = set()
    for view in names:
        for place in places:
            turn_to(page, f"view={view}&{place}&token=3&step=3")
            assert page.locator(".problem").count() == 0, (view, place)
            is_missing = page.locator(".missing").count() == 1
            assert is_missing or page.locator(".prose").inner_text().strip(), (view, place)
            without |= {view} if is_missing else set()
    always = {"black-box", "stacks", "layer", "embeddings", "positions", "attention", "decoding", "output", "search"}
    assert not without & always
    assert {"score", "matrices", "residuals"} <= without


def guide_keys(page):
    return page.locator(".guide-entry").evaluate_all("entries => entries.map((entry) => entry.dataset.key)")


def test_without_logits_the_log_probabilities_stand_in(open_page, light):
    page = open_page(light, "view=output&step=2&warmth=0.50")
    log_probs = light["log_probs"][2].astype(np.float64)
    bent = np.exp(2 * log_probs)
    lines = point_at(page, "output-chances", 0, 0, (rows_of(page, "output-chances"), 1))
    assert lines[0].startswith(f"{log_probs.argmax()}:")
    assert numbers_in(lines[-2])[-1] == pytest.approx(bent.max() / bent.sum(), rel=1e-5)
    assert numbers_in(lines[-1])[-1] == pytest.approx(np.log(bent.max() / bent.sum()), rel=1e-5)


def test_a_damaged_page_says_so(browser, street, tmp_path):
    from vitrail.explain import page_of

    whole = page_of(street)
    damages = {
        "not a trace": whole.replace('"format":"vitrail-trace"', '"format":"other"'),
        "version 99": whole.replace('"version":1,', '"version":99,', 1),
        "bytes for": re.sub(r'("logits":\{"shape":\[)(\d+)', r"\g<1>7\2", whole, count=1),
    }
    for said, content in damages.items():
        (tmp_path / "page.html").write_text(content, encoding="utf-8")
        with browser.new_context(offline=True) as context:
            page = context.new_page()
            page.goto((tmp_path / "page.html").as_uri())
            page.locator("html[data-verified=failed]").wait_for(state="attached")
            page.get_by_role("alert").filter(has_text=said).wait_for()


class Studio(http.server.ThreadingHTTPServer):
    """A studio that knows two sentences."""

    def __init__(self, traces):
        self.traces, self.asked, self.is_trained = traces, [], True
        super().__init__(("127.0.0.1", 0), Answers)


class Answers(http.server.BaseHTTPRequestHandler):
    server: Studio

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/api/models":
            example = {"text": next(iter(self.server.traces)), "to": "fr"}
            entry = {"name": "m", "languages": ["en", "fr"], "example": example, "trained": self.server.is_trained}
            return self.send({"models": [entry]})
        file = files("vitrail").joinpath("web", *path.strip("/").split("/")) if path != "/" else None
        file = file or files("vitrail").joinpath("web", "index.html")
        kind = {"html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css"}[
            file.name.rpartition(".")[2]
        ]
        return self.reply(200, kind, file.read_bytes())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers["X-Vitrail-Token"]))
        trace = self.server.traces.get(body.get("text"))
        if trace is None:
            error = {
                "what": f"this model does not know '{body['text']}'",
                "where": "sentence 1",
                "fix": "<b>another</b>",
            }
            return self.send({"error": error}, 422)
        return self.send(trace.to_dict())

    def send(self, content, status=200):
        self.reply(status, "application/json", json.dumps(content).encode())

    def reply(self, status, kind, content):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def studio(street, paper):
    other = Trace({**paper.document, "source": {**paper.document["source"], "text": "another sentence"}})
    server = Studio({street.source: street, "another sentence": other})
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_studio(browser, studio, street):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{studio.server_port}/?token=secret")
        page.locator("html[data-verified=ok]").wait_for(state="attached")
        assert street.source in page.locator("header").inner_text()  # the example, at once
        sentence = page.get_by_label("Sentence to translate")
        sentence.fill("another sentence")
        sentence.press("Enter")
        page.locator("header", has_text="another sentence").wait_for()
        assert "text=another+sentence" in page.evaluate("location.hash")
        sentence = page.get_by_label("Sentence to translate")
        sentence.fill("zzz")
        sentence.press("Enter")
        alert = page.get_by_role("alert")
        alert.wait_for()
        assert "this model does not know 'zzz'" in alert.inner_text()
        assert "fix: <b>another</b>" in alert.inner_text()
        page.go_back()
        page.locator("header", has_text="another sentence").wait_for()
        page.go_back()
        page.locator("header", has_text=street.source).wait_for()
    assert [body["text"] for _, body, _ in studio.asked][:3] == [street.source, "another sentence", "zzz"]
    assert {token for _, _, token in studio.asked} == {"secret"}


def test_an_untrained_model_is_said_to_be(browser, studio):
    studio.is_trained = False
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{studio.server_port}/?token=t")
        page.locator("header").get_by_text("not trained yet").wait_for()
        assert "view=training" in page.url  # its curves are what there is to see
        page.locator('[data-key="guide-black-box"]').click()
        studio.is_trained = True  # saved meanwhile
        sentence = page.get_by_label("Sentence to translate")
        sentence.fill("another sentence")
        sentence.press("Enter")
        page.locator("header", has_text="another sentence").wait_for()
        assert not page.locator("header").get_by_text("not trained yet").is_visible()


def test_a_link_into_the_studio_asks_for_the_same(browser, studio):
    with browser.new_context() as context:
        page = context.new_page()
        place = "view=paths&text=another+sentence&to=fr&beam_size=2&heads_off=decoder.0.cross_attention%3A1"
        page.goto(f"http://127.0.0.1:{studio.server_port}/?token=t#{place}")
        page.locator("html[data-verified=ok]").wait_for(state="attached")
        assert page.locator("h1").inner_text() == "Each token on its own path"
        assert "beam_size = 2" in page.locator(".what-if").inner_text()
        page.get_by_role("button", name="Undo all").click()
        page.locator(".what-if", has_text="beam_size").wait_for(state="detached")
    assert studio.asked[1][1] == {**studio.asked[0][1], "decode": {}, "heads_off": {}}
    _, body, _ = studio.asked[0]
    assert body["decode"] == {"beam_size": 2}
    assert body["heads_off"] == {"decoder.0.cross_attention": [1]}


def test_the_trace_in_the_page_is_the_trace(open_page, street):
    """What the page holds is what Python holds, bit for bit."""
    page = open_page(street)
    held = json.loads(page.evaluate("document.getElementById('vitrail-trace').textContent"))
    for name in random.Random(1).sample(street.names(), 12):
        value = held["arrays"][name]
        value = held["arrays"][value["same"]] if "same" in value else value
        decoded = np.frombuffer(base64.b64decode(value["data"]), dtype="<f4").reshape(value["shape"])
        np.testing.assert_array_equal(decoded, street[name])
