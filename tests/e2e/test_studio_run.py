"""The view of the training run in a stand-alone file: the folder's log, or a note that there is none."""

import json

from page_fixtures import make_trace

from vitrail.translator import load


def test_the_curves_of_a_file_are_the_runs(open_page, trained, screenshots):
    trace = load(trained).trace("au revoir")
    page = open_page(trace, "view=training")
    steps = [event for event in trace.document["run"]["events"] if event["event"] == "step"]
    log = [json.loads(line) for line in (trained / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert steps == [event for event in log if event["event"] == "step"]
    said = page.locator(".lead").inner_text()
    assert f"In {steps[-1]['step']} steps" in said
    assert f"{steps[-1]['loss']:.2f}" in said
    drawn = page.locator("path[data-curve=training]").get_attribute("d")
    assert drawn.count("L") == len(steps) - 1
    first, last = trace.document["probes"]["records"][0], trace.document["probes"]["records"][-1]
    rows = page.locator("table.probe-table").first.locator("tr")
    assert (first["sentences"][0]["translation"] or "(nothing)") in rows.first.inner_text()
    assert f"step {last['step']}" in rows.last.inner_text()
    page.screenshot(path=str(screenshots / "22-training-file.png"), full_page=True)


def test_without_a_run_it_says_so(open_page):
    page = open_page(make_trace("merci"), "view=training")
    assert "no log" in page.locator(".prose").inner_text()
    assert page.locator("figure").count() == 0
