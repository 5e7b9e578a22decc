"""Decoding, the mask, the output, the vocabulary, the loss, training and the search, in a real browser."""

import numpy as np
import pytest
from page_fixtures import SENTENCE, make_trace, number, numbers_in, point_at, rows_of

from vitrail.config import DecodeConfig
from vitrail.trace import Trace
from vitrail.trace.format import decode_array

REFERENCE = "l'animal n'a pas traversé la rue parce qu'il était trop fatigué"


@pytest.fixture(scope="module")
def compared():
    """The street sentence with a reference, and with probes that two models left at different steps."""
    early, late = make_trace(reference=REFERENCE), make_trace(reference=REFERENCE, d_ff=64)
    document = late.to_dict()
    records = []
    for step, trace in ((0, early), (500, late)):
        one = trace.to_dict()
        log_probs = one["reference"]["log_probs"]
        said = {"translation": trace.text, "ids": one["target"]["ids"], "columns": None, "rest": None}
        records.append({"step": step, "sentences": [{**said, "log_probs": log_probs}]})
    reference = {key: document["reference"][key] for key in ("text", "ids", "tokens")}
    asked = {"source": {"text": SENTENCE, "tokens": document["source"]["tokens"]}, "reference": reference, "to": "fr"}
    document["probes"] = {"sentences": [asked], "label_smoothing": 0.1, "records": records}
    document["seen"] = "held out"
    return Trace.from_dict(document)


def last_number(text):
    return numbers_in(text)[-1]


def described(page):
    return page.locator("main .picture desc").text_content()


def percent(share):
    """As the page writes a probability that is neither almost 0 nor almost 1."""
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{100 * share:.0f}%"


def test_decoding(open_page, street, leave_pictures):
    page = open_page(street, "view=decoding&step=3&decoding_heads=each")
    weights = street["decoder.1.cross_attention.weights"]
    heads, _, keys = weights.shape
    lines = point_at(page, "decoding-weights-1", 2, 4, (heads, keys))
    assert "head 2" in lines[0] and street.document["source"]["tokens"][4] in lines[0]
    assert lines[1] == percent(weights[2, 3, 4])
    leave_pictures(street, "view=decoding&step=5", "15-decoding")


def test_decoding_steps_scrubs_and_plays(open_page, street):
    page = open_page(street, "view=decoding")
    steps = len(street.document["target"]["ids"])
    page.get_by_role("button", name="one step forward").click()
    assert "step=1" in page.evaluate("location.hash")
    scrubber = page.locator('[data-key="slider-decoding"]')
    scrubber.fill("4")  # moved and let go
    assert "step=3" in page.evaluate("location.hash")
    assert f"Step 4 of {steps}" in described(page)
    page.evaluate(  # moved, and not yet let go: the picture follows, the slider stays the same
        """() => {
          const slider = document.querySelector('[data-key="slider-decoding"]');
          window.held = slider;
          slider.value = 6;
          slider.dispatchEvent(new Event("input"));
        }"""
    )
    assert f"Step 6 of {steps}" in described(page)
    assert page.evaluate("window.held.isConnected")
    assert "step=3" in page.evaluate("location.hash")
    page.get_by_role("button", name="play").click()
    page.locator("main .picture desc", has_text=f"Step 6 of {steps}").wait_for(state="attached")
    page.get_by_role("button", name="pause").click()
    assert page.get_by_role("button", name="play").is_visible()


def test_mask(open_page, street, leave_pictures):
    page = open_page(street, "view=masked&step=2&head=1&stack=decoder&layer=1")
    scaled, weights = street["decoder.1.self_attention.scaled"], street["decoder.1.self_attention.weights"]
    length = scaled.shape[1]
    assert last_number(point_at(page, "masked-scores", 2, 4, (length, length))[1]) == -np.inf == scaled[1, 2, 4]
    assert last_number(point_at(page, "masked-weights", 2, 4, (length, length))[1]) == 0 == weights[1, 2, 4]
    shown = last_number(point_at(page, "masked-weights", 4, 2, (length, length))[1])
    assert shown == pytest.approx(weights[1, 4, 2], rel=1e-6)
    leave_pictures(street, "view=masked&step=4", "16-masked")


def test_output(open_page, street, leave_pictures):
    page = open_page(street, "view=output&step=2")
    log_probs = street["log_probs"][2]
    best = int(log_probs.argmax())
    rows = rows_of(page, "output-chances")
    lines = point_at(page, "output-chances", 0, 0, (rows, 1))
    assert lines[0].startswith(f"{best}:")
    assert last_number(lines[2]) == pytest.approx(log_probs[best], rel=1e-6)
    rest = last_number(point_at(page, "output-chances", rows - 1, 0, (rows, 1))[1])
    shown = sorted(log_probs, reverse=True)[: rows - 1]
    assert rest == pytest.approx(1 - np.exp(np.array(shown, dtype=np.float64)).sum(), abs=1e-5)
    leave_pictures(street, "view=output&step=2", "17-output")


def test_temperature_bends_the_distribution(open_page, street):
    page = open_page(street, "view=output&step=2")
    page.locator('[data-key="slider-warmth"]').fill("0.5")
    assert "warmth=0.50" in page.evaluate("location.hash")
    logits = street["logits"][2].astype(np.float64)
    bent = np.exp(logits / 0.5 - (logits / 0.5).max())
    bent /= bent.sum()
    rows = rows_of(page, "output-chances")
    shown = last_number(point_at(page, "output-chances", 0, 0, (rows, 1))[4])
    assert shown == pytest.approx(bent.max(), rel=1e-5)
    # The column obeys the temperature as the bars do.
    logarithm = last_number(point_at(page, "output-chances", 0, 0, (rows, 1))[5])
    assert logarithm == pytest.approx(np.log(bent.max()), rel=1e-5)
    assert f"{np.log(bent.max()):.2f}".replace("-", "−") in page.locator("main .picture").text_content()


def test_vocabulary(open_page, street, leave_pictures):
    vocabulary = street.document["vocabulary"]
    page = open_page(street, "view=vocabulary")
    page.get_by_label("Find a word in the vocabulary").fill("street")
    place = vocabulary.index("street")
    page.locator(f'[data-key="vocabulary-found-{place}"]').click()
    assert f"word={place}" in page.evaluate("location.hash")
    said = described(page)
    assert f"The row of “street” is 1 at place {place} and 0 at the other {len(vocabulary) - 1:,}." in said
    page.locator(".guide-step.next").click()
    assert "street: model" in described(page), "the words are columns of the next picture too"
    leave_pictures(street, f"view=vocabulary&word={place}", "18-vocabulary")


def test_loss(open_page, compared, leave_pictures):
    page = open_page(compared, "view=loss&position=2")
    reference = compared.to_dict()["reference"]
    log_probs = decode_array(reference["log_probs"], "reference")[2].astype(np.float64)
    right, smoothing = reference["ids"][2], reference["label_smoothing"]
    rows = rows_of(page, "loss-rows")
    lines = point_at(page, "loss-rows", 0, 0, (rows, 1))
    assert lines[0] == compared.document["vocabulary"][right]
    assert last_number(lines[1]) == pytest.approx(np.exp(log_probs[right]), rel=1e-5)
    target = np.full(len(log_probs), smoothing / len(log_probs))
    target[right] += 1 - smoothing
    assert last_number(lines[3]) == pytest.approx(np.exp(log_probs[right]) - target[right], rel=1e-5)
    loss = -(target * log_probs).sum()
    assert f"Cross-entropy {loss:.3f}" in described(page)
    leave_pictures(compared, "view=loss&position=2", "19-loss")


def test_a_word_that_the_search_chose_is_not_called_the_argmax(open_page, street):
    log_probs, ids = street["log_probs"], street.document["target"]["ids"]
    step = next(step for step, word in enumerate(ids) if log_probs[step].argmax() != word)
    page = open_page(street, f"view=output&stack=decoder&step={step}")
    texts = page.locator("main .picture text").all_text_contents()
    assert "not the argmax: the search chose" in texts and "argmax: the word is" not in texts


def test_loss_without_a_reference_says_how_to_give_one(open_page, street):
    page = open_page(street, "view=loss")
    texts = page.locator("main .picture text").all_text_contents()
    assert "0" in texts and "0.000" not in texts  # nothing is smoothed: the target of other words is exactly 0
    assert "--reference" in page.locator(".explanation").inner_text()
    assert "stands in" in page.locator(".prose").inner_text()


def test_untrained_and_trained(open_page, compared, leave_pictures):
    page = open_page(compared, "view=untrained")
    assert page.locator("[data-seen]").inner_text() == "held out: never seen in training"
    probes = compared.to_dict()["probes"]
    ids = probes["sentences"][0]["reference"]["ids"]
    columns = list(dict.fromkeys(ids))
    for record in (0, 1):
        page.locator('[data-key="slider-untrained"]').fill(str(record))
        log_probs = decode_array(probes["records"][record]["sentences"][0]["log_probs"], "probes")
        width = rows_of(page, "untrained-model") // len(ids)
        shown = last_number(point_at(page, "untrained-model", 3, columns.index(ids[3]), (len(ids), width))[1])
        assert shown == pytest.approx(np.exp(log_probs[3, ids[3]]), rel=1e-5)
    assert "record=1" in page.evaluate("location.hash")
    leave_pictures(compared, "view=untrained", "20-untrained")


def test_untrained_without_probes_says_so(open_page, street):
    page = open_page(street, "view=untrained")
    assert "not recorded" in page.locator(".prose").inner_text()


def test_search(open_page, street, leave_pictures):
    page = open_page(street, "view=search")
    steps = street.document["search"]["steps"]
    rows = max(len(step["candidates"]) for step in steps)
    pruned = next(row for row, one in enumerate(steps[1]["candidates"]) if one["fate"] == "pruned")
    candidate = steps[1]["candidates"][pruned]
    lines = point_at(page, "search-tree", 1, pruned, (len(steps), rows))
    assert last_number(lines[1]) == pytest.approx(candidate["log_prob"], rel=1e-6)
    assert last_number(lines[2]) == pytest.approx(candidate["score"], rel=1e-6)
    assert lines[3] == f"rank {candidate['rank'] + 1}: pruned"
    assert number(lines[4].split(" behind")[0]) == pytest.approx(candidate["margin"], rel=1e-5)
    tree = page.locator('[data-key="search-tree"]')
    tree.focus()
    tree.press("Home")
    tree.press("Enter")
    assert "node=1.0" in page.evaluate("location.hash"), "Home leads to the first candidate of the step, Enter picks"
    for result in street.document["search"]["results"]:
        assert page.get_by_role("button", name=f"{result['text']}, score").count() >= 1
    leave_pictures(street, "view=search", "21-search")


OPTIONS = {
    "rope, grouped heads": {"positions": "rope", "kv_heads": 2, "norm": "post"},
    "relative, pre-norm, one kv head": {"positions": "relative", "kv_heads": 1, "norm": "pre"},
    "alibi, a number of heads that is no power of two": {"positions": "alibi", "heads": 3, "d_k": 8},
    "learned, untied, depths apart": {"positions": "learned", "tie_embeddings": "none", "decoder_layers": 3},
    "sampled": {"decode": DecodeConfig(sample=True, top_beams=3, max_extra=2)},
    "greedy": {"decode": DecodeConfig(beam_size=1, max_extra=2)},
}


TITLES = {
    "decoding": "Decoding, time step by time step",
    "masked": "Masked self-attention",
    "output": "Linear and softmax",
    "vocabulary": "The vocabulary and one-hot vectors",
    "loss": "The loss",
    "untrained": "Untrained and trained",
    "search": "Greedy and beam search",
}


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_the_model_is_drawn(open_page, option):
    trace = make_trace(**OPTIONS[option])
    page = open_page(trace, "view=decoding")
    for view, title in TITLES.items():
        page.evaluate(f"location.hash = 'view={view}&step=2'")
        page.get_by_role("heading", name=title, level=1).wait_for()
        assert page.locator(".problem").count() == 0
        assert described(page)
