"""The studio: whom it answers, what it takes, what it gives, and how it says no."""

import json
import os
import re
import shutil
import signal
import sys
from contextlib import ExitStack

import anyio
import numpy as np
import pytest
from inside import open_client

from vitrail.box import model_path
from vitrail.config import parse_config
from vitrail.errors import FolderError, VitrailError
from vitrail.folder import ModelFolder
from vitrail.serve.listen import listen
from vitrail.serve.pool import Pool
from vitrail.serve.shelf import Shelf
from vitrail.serve.studio import MAX_TEXT, STUDIO_LIMITS, _viewer_files, studio
from vitrail.serve.tasks import MAX_TOKENS, MOST
from vitrail.trace import Trace
from vitrail.train import train
from vitrail.translator import load

PORT, TOKEN, MAX_BODY = 8765, "a-token-that-nobody-guesses", STUDIO_LIMITS.body_bytes


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with two models, and things that are none."""
    folder = tmp_path_factory.mktemp("runs")
    pairs = "".join(f"a{n % 7} b{n % 5} c{n % 3}\tc{n % 3} b{n % 5} a{n % 7}\n" for n in range(105))
    (folder / "pairs.tsv").write_text(pairs, encoding="utf-8")
    (folder / "empty").mkdir()
    table = {
        "model": {"preset": "tiny", "d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1},
        "data": {
            "pairs": str(folder / "pairs.tsv"),
            "validation_pairs": str(folder / "pairs.tsv"),
            "vocabulary": "word",
            "vocabulary_size": 100,
        },
        "train": {"max_steps": 3, "batch_tokens": 64, "log_every": 1, "validate_every": 3, "threads": 1},
        "decode": {"max_extra": 3},
    }
    train(parse_config(table, where="here"), folder / "first")
    shutil.copytree(folder / "first", folder / "second")
    return folder


@pytest.fixture(scope="module")
def client_of():
    """Opens a studio of a folder, with one worker; its client has the token."""
    with ExitStack() as stack:

        def open_one(path, token=TOKEN):
            pool = Pool(count=1, models=1)
            door = studio(Shelf(path), pool, port=PORT, token=TOKEN)
            headers = {"X-Vitrail-Token": token} if token else {}
            client = stack.enter_context(open_client(door, pool.running(), headers))
            client.pool = pool
            return client

        yield open_one


@pytest.fixture(scope="module")
def client(runs, client_of):
    return client_of(runs)


@pytest.fixture(scope="module")
def stranger(runs, client_of):
    return client_of(runs, token=None)


def ask(client, **changes):
    request = {"model": "first", "text": "a1 b1 c1", "to": None, "decode": {}, "prefix": "", "heads_off": {}}
    # As ASCII, so that even half a character can be sent.
    body = json.dumps({**request, "reference": "", **changes})
    return client.post("/api/trace", content=body, headers={"Content-Type": "application/json"})


def refused(answer, status, *words):
    """The answer says no in the form that the page shows."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"what", "where", "fix"}
    for word in words:
        assert word in json.dumps(error, ensure_ascii=False)
    return error


# Whom it answers.


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", "localhost"])
@pytest.mark.parametrize("path", ["/", "/main.js", "/api/models", "/nothing"])
def test_another_host_is_refused_whatever_it_asks_for(client, host, path):
    refused(client.get(path, params={"token": TOKEN}, headers={"Host": host}), 403, "Host")


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}"])
def test_this_computer_is_answered(client, host):
    assert client.get("/api/models", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", "é"])
def test_without_the_token_nothing_is_told(stranger, token):
    headers = {} if token is None else {"X-Vitrail-Token": token.encode()}
    refused(stranger.get("/api/models", headers=headers), 403, "token")
    refused(stranger.get("/api/run", params={"model": "first"}, headers=headers), 403, "token")
    refused(stranger.post("/api/trace", json={}, headers=headers), 403, "token")
    refused(stranger.get("/", params={} if token is None else {"token": token}), 403, "token")
    # The token belongs in the header: an address can be seen by others.
    refused(stranger.get("/api/models", params={"token": TOKEN}), 403, "token")


def test_the_page_opens_with_the_token_in_its_address(client):
    answer = client.get("/", params={"token": TOKEN})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert '<script type="module" src="./main.js">' in answer.text
    refused(client.get("/index.html", params={"token": TOKEN}), 404)


# What it takes.


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_taken(client, kind):
    answer = client.post("/api/trace", content=b'{"model": "first", "text": "a1"}', headers={"Content-Type": kind})
    refused(answer, 415, "JSON")


def test_a_long_body_is_refused_with_and_without_its_length(client):
    large = b'{"model": "' + b"x" * MAX_BODY + b'"}'
    headers = {"Content-Type": "application/json"}
    refused(client.post("/api/trace", content=large, headers=headers), 413)

    async def pieces():
        for start in range(0, len(large), 1000):
            yield large[start : start + 1000]

    refused(client.post("/api/trace", content=pieces(), headers=headers), 413)
    refused(client.post("/api/trace", content=b"{}", headers={**headers, "Content-Length": "-1"}), 413)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(client, method):
    answer = client.request(method, "/api/trace")
    refused(answer, 405)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"model": 1, "text": "a1"}', b"[" * 60_000, b"\xff"])
def test_what_is_not_a_request_is_refused(client, body):
    answer = client.post("/api/trace", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    refused(answer, answer.status_code)


def test_unknown_fields_are_refused_by_name(client):
    refused(ask(client, path="/etc/passwd"), 400, "path")


@pytest.mark.parametrize("field", ["text", "prefix", "reference"])
def test_long_texts_are_refused(client, field):
    refused(ask(client, **{field: "a1 " * MAX_TEXT}), 400, field)


def test_more_tokens_than_can_be_shown_are_refused(client):
    error = refused(ask(client, text="a1 " * MAX_TOKENS), 400, "tokens")
    assert error["fix"]


@pytest.mark.parametrize("model", ["third", "", "../first", "first/", "./first", "/etc", "pairs.tsv", "empty", "fırst"])
def test_models_are_known_by_their_listed_names_only(client, model):
    refused(ask(client, model=model), 404, "no model called")
    refused(client.get("/api/run", params={"model": model}), 404)
    refused(client.post("/api/weights", json={"model": model, "layer": "encoder.0"}), 404)


def test_an_absolute_path_is_no_name(client, runs):
    refused(ask(client, model=str(runs / "first")), 404)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"text": "a1 zebra"}, "zebra"),
        ({"text": "   "}, "nothing to translate"),
        ({"prefix": "zebra"}, "zebra"),
        ({"reference": "zebra"}, "zebra"),
        ({"decode": {"beam_size": 0}}, "beam_size"),
        ({"decode": {"beam_size": MOST["beam_size"] + 1}}, "beam_size"),
        ({"decode": {"max_extra": 10**9}}, "max_extra"),
        ({"decode": {"top_beams": 9}}, "top_beams"),
        ({"decode": {"alpha": "much"}}, "alpha"),
        ({"decode": {"bean_size": 2}}, "bean_size"),
        ({"heads_off": {"encoder.7.self_attention": [0]}}, "encoder.7"),
        ({"heads_off": {"encoder.0.self_attention": [9]}}, "9"),
    ],
)
def test_mistakes_are_explained(client, changes, word):
    refused(ask(client, **changes), 400, word)


def test_a_layer_that_is_not_there(client):
    refused(client.post("/api/weights", json={"model": "first", "layer": "encoder.9"}), 400, "encoder.9")


def test_html_comes_back_as_json_text(client):
    hostile = "<script>alert(1)</script>"
    refused(ask(client, text=hostile), 400, "'<', 'script', '>'")
    refused(ask(client, model=hostile), 404, hostile)
    refused(ask(client, text="a1 \ud800"), 400)


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fpyproject.toml",
        "/%2e%2e/__init__.py",
        "/views/../../translator.py",
        "/....//translator.py",
        "/%2fetc/passwd",
        "//etc/passwd",
        "/main.js%00",
        "/main.js/",
        "/C:\\Windows\\win.ini",
        "/api/nothing",
        "/docs",
        "/openapi.json",
    ],
)
def test_only_the_viewers_own_files_are_there(client, path):
    refused(client.get(path), 404)


# What it gives.


def test_every_file_of_the_viewer_is_served_as_what_it_is(client):
    names = _viewer_files()
    assert {"main.js", "style.css", "index.html"} <= names.keys()
    for name, file in names.items():
        if name == "index.html":
            continue
        answer = client.get(f"/{name}")
        assert answer.status_code == 200
        assert answer.content == file.read_bytes()
        wanted = {"js": "text/javascript", "css": "text/css", "html": "text/html"}[name.rpartition(".")[2]]
        assert answer.headers["content-type"] == f"{wanted}; charset=utf-8"


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/models", "/nothing"])
def test_every_answer_carries_the_policies(client, path):
    headers = client.get(path, params={"token": TOKEN}).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")


def test_models_are_listed_with_a_sentence_to_begin_with(client, runs):
    found = client.get("/api/models").json()["models"]
    assert [entry["name"] for entry in found] == ["first", "second"]
    translator = load(runs / "first")
    for entry in found:
        assert entry["languages"] == []
        assert translator.translate(entry["example"]["text"]).text


def test_one_model_is_a_shelf_of_one(runs, client_of):
    assert [entry["name"] for entry in client_of(runs / "first").get("/api/models").json()["models"]] == ["first"]


def test_a_trace_is_what_python_gives(client, runs):
    changes = {
        "decode": {"beam_size": 3, "top_beams": 2, "alpha": 0},
        "prefix": "c1",
        "heads_off": {"decoder.0.cross_attention": [1]},
        "reference": "c1 b1 a1",
    }
    answer = ask(client, model="second", **changes)
    assert answer.status_code == 200, answer.text
    found = Trace.from_dict(answer.json())
    translator = load(runs / "second")
    wanted = translator.trace(
        "a1 b1 c1",
        decode=translator.config.model_copy(update={"beam_size": 3, "top_beams": 2, "alpha": 0.0}),
        prefix="c1",
        heads_off={"decoder.0.cross_attention": [1]},
        reference="c1 b1 a1",
    )
    assert found.document["model"]["name"] == "second"
    assert (found.text, found.names()) == (wanted.text, wanted.names())
    for name in found.names():
        np.testing.assert_array_equal(found[name], wanted[name])


def test_the_weights_of_a_layer_are_the_models(client, runs):
    answer = client.post("/api/weights", json={"model": "first", "layer": "decoder.0"}).json()["weights"]
    held = load(runs / "first").model.state_dict()
    names = {name for name in held if name.startswith("decoder.layers.0.")}
    assert set(answer) == names
    assert all(answer[name]["shape"] == list(held[name].shape) for name in names)


SPARING = """
from vitrail.serve import recent, worker
from vitrail.trace import record
recent.SENT_MB = 0.0
record.__globals__["fitting_parts"] = lambda model, room: []  # as in a large model
worker.main()
"""


def test_what_was_left_out_of_a_long_trace_can_be_asked_for(runs, client_of, monkeypatch):
    monkeypatch.setattr("vitrail.serve.pool.PROGRAM", (sys.executable, "-c", SPARING))
    client = client_of(runs)
    traces = [ask(client, text=text).json() for text in ("a1 b1 c1", "a2 b2", "a1")]
    sent, wanted = traces[1], load(runs / "first").trace("a2 b2")
    left_out = [part for part in ("encoder.0", "decoder.0", "output") if part not in sent["inside_of"]]
    assert left_out
    found = Trace.from_dict(sent)
    for part in left_out:
        answer = client.post("/api/inside", json={"trace": sent["id"], "layer": part})
        assert answer.status_code == 200, answer.text
        found = Trace.from_dict({**sent, "arrays": {**found.to_dict()["arrays"], **answer.json()["arrays"]}})
    assert set(found.names()) == set(wanted.names())
    for name in wanted.names():
        np.testing.assert_array_equal(found[name], wanted[name])
    refused(client.post("/api/inside", json={"trace": sent["id"], "layer": "encoder.7"}), 400, "encoder.7")
    refused(client.post("/api/inside", json={"trace": traces[0]["id"], "layer": "encoder.0"}), 404, "again")
    for stranger in ("1-ab", "x", "", "9" * 300, "-1-ab"):
        asked = client.post("/api/inside", json={"trace": stranger, "layer": "encoder.0"})
        assert asked.status_code in (400, 404)


def test_a_run_is_told_once_and_again_when_it_goes_on(runs, tmp_path, client_of):
    shutil.copytree(runs / "first", tmp_path / "run")
    client = client_of(tmp_path / "run")
    first = client.get("/api/run", params={"model": "run"}).json()
    assert first["changed"]
    assert first["max_steps"] == 3
    assert [event["step"] for event in first["run"]["events"] if event["event"] == "step"] == [1, 2, 3]
    assert [record["step"] for record in first["probes"]["records"]] == [0, 1, 2, 3]
    again = client.get("/api/run", params={"model": "run", "since": first["stamp"]}).json()
    assert not again["changed"]
    assert "run" not in again
    with (tmp_path / "run" / "log.jsonl").open("a", encoding="utf-8") as log:
        log.write('{"event": "step", "step": 4, "loss": 1.0, "rate": 0.1, "clock": {}}\n{"event": "st')
    later = client.get("/api/run", params={"model": "run", "since": first["stamp"]}).json()
    assert later["changed"]
    assert later["run"]["events"][-1]["step"] == 4


def test_a_folder_without_a_run_says_so(runs, tmp_path, client_of):
    shutil.copytree(runs / "first", tmp_path / "bare")
    (tmp_path / "bare" / "log.jsonl").unlink()
    (tmp_path / "bare" / "probes.jsonl").unlink()
    found = client_of(tmp_path / "bare").get("/api/run", params={"model": "bare"}).json()
    assert (found["run"], found["probes"], found["seconds_quiet"]) == (None, None, None)


def test_before_the_first_checkpoint_it_shows_the_model_that_the_run_began_with(runs, tmp_path, client_of):
    shutil.copytree(runs / "first", tmp_path / "young")
    (tmp_path / "young" / "model.safetensors").unlink()
    whole = ModelFolder.open(runs / "first")
    ModelFolder(tmp_path / "young", whole.config, whole.tokenizers).write_config(whole.config)
    client = client_of(tmp_path / "young")
    assert not client.get("/api/models").json()["models"][0]["trained"]
    answer = ask(client, model="young")
    assert answer.status_code == 200, answer.text
    found = Trace.from_dict(answer.json())
    first = found.document["probes"]["records"][0]
    probe = found.document["probes"]["sentences"][0]["source"]["text"]
    said = ask(client, model="young", text=probe, decode={"beam_size": 1, "max_extra": 10}).json()
    assert said["target"]["ids"] == first["sentences"][0]["ids"], "the untrained model of the run, to the last word"


def test_weights_that_training_replaced_are_read_again(runs, tmp_path, client_of):
    shutil.copytree(runs / "first", tmp_path / "run")
    client = client_of(tmp_path / "run")

    def table():
        return client.post("/api/weights", json={"model": "run", "layer": "output"}).json()["weights"]

    before = table()
    assert table() == before
    folder = ModelFolder.open(tmp_path / "run")
    folder.write_weights({name: value * 2 for name, value in folder.model().state_dict().items()})
    assert table() != before


def test_a_search_whose_client_is_gone_does_not_hold_up_the_next_one(client):
    endless = {"beam_size": 64, "max_extra": 256}
    body = {"model": "first", "text": "a1 " * 200, "decode": endless}

    async def leave():
        with anyio.move_on_after(1.0):
            await client.ask("POST", "/api/trace", json=body)
        return (await client.ask("POST", "/api/trace", json={"model": "first", "text": "a1"})).status_code

    ask(client)  # everything is loaded
    assert client.portal.call(leave) == 200


def test_a_worker_that_dies_is_replaced_and_its_request_is_answered(client):
    body = {"model": "first", "text": "a1 " * 200, "decode": {"beam_size": 64, "max_extra": 256}}
    ask(client)

    async def kill():
        async with anyio.create_task_group() as group:
            answers = []

            async def wait():
                answers.append(await client.ask("POST", "/api/trace", json=body))

            group.start_soon(wait)
            await anyio.sleep(0.5)
            os.kill(client.pool.numbers()[0], signal.SIGKILL)
        return answers[0]

    refused(client.portal.call(kill), 503, "died")
    assert ask(client).status_code == 200


def test_a_damaged_model_is_listed_and_says_what_is_wrong(runs, tmp_path, client_of):
    shutil.copytree(runs / "first", tmp_path / "broken")
    shutil.copytree(runs / "first", tmp_path / "whole")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"nothing")
    client = client_of(tmp_path)
    assert [entry["name"] for entry in client.get("/api/models").json()["models"]] == ["broken", "whole"]
    refused(ask(client, model="broken"), 503, "damaged")
    assert ask(client, model="whole").status_code == 200


def test_several_models_and_folders_of_models_are_on_one_shelf(runs, tmp_path):
    shutil.copytree(runs / "first", tmp_path / "elsewhere" / "first")
    shutil.copytree(runs / "second", tmp_path / "third")
    shelf = Shelf(tmp_path / "third", runs, tmp_path / "elsewhere" / "first", runs / "second")
    second = str(tmp_path / "elsewhere" / "first")
    assert [entry["name"] for entry in shelf.entries()] == ["third", "first", "second", second]
    assert shelf.find(second) == tmp_path / "elsewhere" / "first"
    assert shelf.find("first") == runs / "first"
    with pytest.raises(FolderError, match="no such folder"):
        Shelf(runs, tmp_path / "nowhere")


@pytest.mark.parametrize("source", ["en", "de"])
def test_a_model_without_its_data_opens_with_an_everyday_sentence_if_it_reads_english(tmp_path, source):
    everyday = {"text": "The cat is sleeping because it is tired.", "to": "fr"}
    words = everyday["text"].split()
    lines = "".join(f"{words[n % 8]} {words[n % 7]} {words[n % 5]}\tle {words[n % 3]}\n" for n in range(200))
    (tmp_path / "pairs.tsv").write_text(lines, encoding="utf-8")
    corpus = {"pairs": str(tmp_path / "pairs.tsv"), "source_language": source, "target_language": "fr"}
    back = {**corpus, "source_field": "2", "target_field": "1", "source_language": "fr", "target_language": source}
    table = {
        "model": {"preset": "tiny", "d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1},
        "data": {"corpora": [corpus, back], "vocabulary_size": 350},
        "train": {"max_steps": 1, "batch_tokens": 64, "threads": 1, "probes": 0},
    }
    train(parse_config(table, where="here"), tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "data")
    (entry,) = Shelf(tmp_path / "run").entries()
    assert entry.get("example") == (everyday if source == "en" else None)


def test_the_built_in_model_opens_with_a_sentence_that_it_translates_well():
    (entry,) = Shelf(model_path("builtin")).entries()
    example = entry["example"]
    assert "animal" not in example["text"]  # the phrasebook's, which this model gets wrong
    assert load("builtin").translate(**example).text == "Le chat dort parce qu'il est fatigué."


FAULTY = "from vitrail.serve import tasks, worker; tasks._load = lambda *_: 1 / 0; worker.main()"


def test_a_fault_of_ours_is_answered_without_its_inside(runs, client_of, monkeypatch):
    monkeypatch.setattr("vitrail.serve.pool.PROGRAM", (sys.executable, "-c", FAULTY))
    client = client_of(runs)
    error = refused(ask(client), 500, "bug in vitrail")
    assert "division" not in json.dumps(error)
    refused(ask(client), 500, "bug in vitrail")  # it goes on


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "NaN", "1" + "0" * 5000])
def test_numbers_beyond_all_bounds_are_refused(client, number):
    body = f'{{"model": "first", "text": "a1", "decode": {{"alpha": {number}}}}}'
    answer = client.post("/api/trace", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text


# Where it listens.


def test_places_without_a_model_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(FolderError) as refusal:
            Shelf(path)
        assert refusal.value.fix


def test_it_listens_on_loopback_and_a_taken_port_is_explained():
    with listen(0) as one:
        address, port = one.getsockname()
        assert address == "127.0.0.1"
        with pytest.raises(VitrailError, match=re.escape(str(port))):
            listen(port)
    for wrong in (-1, 65536):
        with pytest.raises(VitrailError):
            listen(wrong)


def test_the_usual_port_is_left_to_whoever_has_it():
    with listen(None) as one, listen(None) as other:
        assert one.getsockname()[1] != other.getsockname()[1]
