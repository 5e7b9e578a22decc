"""Vitrail's own interface: it offers what Python offers, and says the same."""

import json

import pytest
from inside import open_client
from test_serve_libre import LIMITS, make_server

from vitrail.serve.records import Log
from vitrail.text.restriction import Restriction
from vitrail.trace import Trace
from vitrail.translator import load

ASKED = {"source": "en", "target": "fr"}
SENTENCE = "Where is the station?"


class Lines(list):
    """A stream that keeps its lines."""

    def write(self, text):
        self.append(text)

    def flush(self):
        pass


@pytest.fixture(scope="module")
def client():
    written = Lines()
    server = make_server(log=Log(as_json=True, stream=written))
    with open_client(server.door, server.running()) as client:
        client.log = written
        yield client


@pytest.fixture(scope="module")
def translator():
    return load("builtin", threads=1)


def refused(answer, status, word):
    assert answer.status_code == status, answer.text[:300]
    error = answer.json()["error"]
    assert set(error) == {"what", "where", "fix"}
    assert word in json.dumps(error)


def test_translations_are_those_of_python(client, translator):
    decode = {"beam_size": 5, "top_beams": 3, "alpha": 0.5}
    answer = client.post("/v1/translate", json={**ASKED, "texts": [SENTENCE], "decode": decode}).json()
    config = translator.config.model_copy(update=decode)
    wanted = json.loads(json.dumps(translator.translate(SENTENCE, to="fr", decode=config).to_dict()))
    (found,) = answer["translations"][0]["sentences"]
    assert found == wanted
    assert answer["model"] == "builtin"


def test_a_prefix_and_sampling(client, translator):
    given = {**ASKED, "texts": ["I am tired."], "prefix": "Je me", "kind": "sentence"}
    assert client.post("/v1/translate", json=given).json()["translations"][0]["text"].startswith("Je me")
    decode = {"sample": True, "seed": 3, "temperature": 2.0}
    drawn = client.post("/v1/translate", json={**ASKED, "texts": ["I am tired."], "decode": decode}).json()
    config = translator.config.model_copy(update=decode)
    assert drawn["translations"][0]["text"] == translator.translate("I am tired.", to="fr", decode=config).text


def test_words_are_aligned_as_in_python(client, translator):
    answer = client.post("/v1/translate", json={**ASKED, "texts": [SENTENCE], "align": True}).json()
    (found,) = answer["translations"][0]["sentences"]
    wanted = json.loads(json.dumps(translator.translate(SENTENCE, to="fr", align=True).to_dict()))
    assert found == wanted and found["alignment"]


def test_terms_and_words_that_may_appear_are_those_of_python(client, translator):
    text = "The doctor bought a house."
    terms = {"house": ["villa", "manoir"], "Doctor": "medecin"}
    words = {"never": ["le"], "never_tokens": ["▁du"]}
    asked = {**ASKED, "texts": [text], "glossary": terms, **words}
    (found,) = client.post("/v1/translate", json=asked).json()["translations"][0]["sentences"]
    wanted = translator.translate(text, to="fr", glossary=terms, restrict=Restriction(**words))
    assert found == json.loads(json.dumps(wanted.to_dict()))
    assert "villa" in found["text"] or "manoir" in found["text"]

    only = {"only": ["une", "maison", "est", "petite", "ma"]}
    answer = client.post("/v1/translate", json={**ASKED, "texts": ["My house is small."], **only}).json()
    wanted = translator.translate("My house is small.", to="fr", restrict=Restriction(**only))
    assert answer["translations"][0]["text"] == wanted.text


def test_a_sentence_is_not_taken_apart_if_that_is_asked(client):
    texts = ["Hello. I am tired."]
    one = client.post("/v1/translate", json={**ASKED, "texts": texts, "kind": "sentence"}).json()["translations"][0]
    two = client.post("/v1/translate", json={**ASKED, "texts": texts}).json()["translations"][0]
    assert (len(one["sentences"]), len(two["sentences"])) == (1, 2)


def test_a_stream_ends_with_the_greedy_translation(client, translator):
    answer = client.post("/v1/translate/stream", json={**ASKED, "text": SENTENCE})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [part.split("\n", 1) for part in answer.text.strip().split("\n\n")]
    names = [name.removeprefix("event: ") for name, _ in events]
    parts = [json.loads(data.removeprefix("data: ")) for _, data in events]
    assert names == ["token"] * (len(names) - 1) + ["done"]
    wanted = translator.translate(SENTENCE, to="fr", beam_size=1)
    assert parts[-1]["text"] == parts[-2]["text"] == wanted.text
    described = client.get("/openapi.json").json()["paths"]["/v1/translate/stream"]["post"]["responses"]["200"]
    event = described["content"]["text/event-stream"]["itemSchema"]
    assert {*names} <= {*event["properties"]["event"]["enum"]}
    assert [part["token"] for part in parts[:-1]] == list(wanted.tokens) == parts[-1]["tokens"]


def test_a_trace_is_that_of_python(client, translator):
    asked = {**ASKED, "text": "I am tired.", "heads_off": {"decoder.0.cross_attention": [0]}}
    found = Trace.from_dict(client.post("/v1/explain", json=asked).json())
    wanted = translator.trace("I am tired.", to="fr", heads_off=asked["heads_off"])
    assert (found.text, found.names()) == (wanted.text, wanted.names())


@pytest.mark.parametrize(
    ("path", "body", "status", "word"),
    [
        ("/v1/translate", {"texts": ["x"]}, 400, "which model"),
        ("/v1/translate", {"texts": ["x"], "model": "builtin"}, 400, "into which language"),
        ("/v1/translate", {"texts": ["x"], "model": "builtin", "target": "de"}, 400, "does not translate"),
        ("/v1/translate", {"texts": ["x"], "model": "nothing", "target": "fr"}, 404, "no model"),
        ("/v1/translate", {**ASKED, "texts": ["x"] * (LIMITS.texts + 1)}, 400, "at most"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "decode": {"beam_size": 65}}, 400, "beam_size"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "decode": {"bean": 1}}, 400, "bean"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "decode": {"alpha": 10**400}}, 400, "number up to"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "decode": {"alpha": [1]}}, 400, "decode.alpha"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "glossary": {" ": "y"}}, 400, "term is empty"),
        (
            "/v1/translate",
            {**ASKED, "texts": ["x"], "glossary": {"x": "y"}, "decode": {"beam_size": 9}},
            400,
            "beam_size",
        ),
        ("/v1/translate", {**ASKED, "texts": ["x"], "never": [" "]}, 400, "without text"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "only": []}, 400, "only"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "only": ["a"], "only_tokens": ["▁a"]}, 400, "combined"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "never_tokens": ["zzz"]}, 400, "no token"),
        ("/v1/translate", {**ASKED, "texts": "x"}, 400, "texts"),
        ("/v1/translate", {**ASKED, "texts": ["x"], "path": "/etc"}, 400, "path"),
        ("/v1/explain", {**ASKED, "text": "zq" * 240}, 400, "tokens"),
        ("/v1/explain", {**ASKED, "text": "x", "heads_off": {"nothing": [0]}}, 400, "nothing"),
        ("/v1/translate/stream", {**ASKED, "text": "x" * 501}, 400, "characters"),
    ],
)
def test_mistakes_are_answered_with_what_where_and_fix(client, path, body, status, word):
    refused(client.post(path, json=body), status, word)


def test_a_stream_with_a_mistake_says_so_in_the_stream(client):
    answer = client.post("/v1/translate/stream", json={**ASKED, "text": "x", "decode": {"alpha": 99}})
    assert answer.text.startswith("event: error\n") and "alpha" in answer.text


def test_models_are_listed_with_what_they_translate(client):
    (entry,) = client.get("/v1/models").json()["models"]
    assert entry["name"] == "builtin"
    assert {"source": "en", "target": "fr"} in entry["directions"]


def test_the_page_has_its_api_here_too(client):
    assert "main.js" in client.get("/").text
    asked = {"model": "builtin", "text": "I am tired.", "to": "fr", "decode": {}}
    assert client.post("/api/trace", json=asked).status_code == 200


def test_numbers_for_prometheus_and_a_log_without_texts(client):
    secret = "The quick brown fox."
    client.post("/v1/translate", json={**ASKED, "texts": [secret]})
    client.get("/this/path/is/anybodys")
    page = client.get("/metrics").text
    assert 'vitrail_requests_total{method="POST",route="/v1/translate",status="200"}' in page
    assert "anybodys" not in page
    numbers = {
        name: float(value) for name, value in (line.rsplit(" ", 1) for line in page.splitlines() if line[0] != "#")
    }
    assert numbers["vitrail_tokens_total"] > 0
    assert numbers["vitrail_batch_sentences_count"] > 0
    assert numbers["vitrail_workers"] == 1
    lines = [json.loads(text) for text in client.log if text.strip()]
    request = next(line for line in reversed(lines) if line.get("path") == "/v1/translate")
    assert (request["status"], request["texts"], request["characters"]) == (200, 1, len(secret))
    assert len(request["id"]) == 16
    assert "fox" not in "".join(client.log)


def test_the_document_has_an_example_of_every_body(client):
    document = client.get("/openapi.json").json()
    assert {"/translate", "/detect", "/v1/translate", "/v1/translate/stream", "/v1/explain", "/ready"} <= document[
        "paths"
    ].keys()
    for name in ("TranslateBody", "StreamBody", "ExplainBody"):
        found = [schema for key, schema in document["components"]["schemas"].items() if key.endswith(name)]
        assert all(schema["examples"] for schema in found) and found
