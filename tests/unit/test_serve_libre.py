"""LibreTranslate's interface as clients see it: answers, errors, keys and who may ask."""

import asyncio
import json
import shutil
import sys

import httpx
import pytest
from inside import open_client
from loops import in_a_loop

from vitrail.box import model_path
from vitrail.errors import FolderError
from vitrail.serve.directory import Directory
from vitrail.serve.entrance import Entrance
from vitrail.serve.guard import local_hosts
from vitrail.serve.keys import Key, hash_of
from vitrail.serve.limits import Limits
from vitrail.serve.pool import Pool
from vitrail.serve.records import Log
from vitrail.serve.server import Server
from vitrail.translator import load

LIMITS = Limits(texts=5, characters=500, body_bytes=5000)
SECRET = "vt_a-key-that-nobody-guesses"


def make_server(keys=(), limits=LIMITS, log=None, *, places=("builtin",), count=1, **options):
    directory, pool = Directory(list(places)), Pool(count=count, models=1)
    hosts = None if keys else local_hosts(8765)
    return Server(directory, pool, Entrance(list(keys), hosts, **options), limits, log or Log())


@pytest.fixture(scope="module")
def client():
    server = make_server()
    with open_client(server.door, server.running()) as client:
        client.server = server
        yield client


def test_languages_of_a_model_are_two_codes():
    assert Directory(["builtin=de-nl"]).directions() == [("de", "nl")]
    with pytest.raises(FolderError) as caught:
        Directory(["builtin=de"])
    assert (caught.value.where, caught.value.fix) == ("builtin=de", "write FOLDER=de-en, with two codes")


@pytest.fixture(scope="module")
def translator():
    return load("builtin", threads=1)


def said(answer, status, *words):
    """The answer is one sentence that says no."""
    assert answer.status_code == status, answer.text
    content = answer.json()
    assert list(content) == ["error"] and isinstance(content["error"], str)
    for word in words:
        assert word in content["error"]


ASKED = {"q": "Where is the station?", "source": "en", "target": "fr"}


@pytest.mark.parametrize("form", ["json", "data", "files"])
def test_one_text_in_every_form(client, translator, form):
    given = {name: (None, value) for name, value in ASKED.items()} if form == "files" else ASKED
    answer = client.post("/translate", **{form: given})
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"translatedText": translator.translate(ASKED["q"], to="fr").text}


def test_a_list_of_texts_is_answered_with_a_list(client, translator):
    texts = ["I am tired.", "Where is the station?", "I am tired."]
    answer = client.post("/translate", json={**ASKED, "q": texts}).json()
    assert answer == {"translatedText": [one.text for one in translator.translate(texts, to="fr")]}


def test_a_text_is_translated_sentence_by_sentence_and_keeps_its_line_breaks(client, translator):
    text = "Hello.  I am tired.\n\n\tWhere is the station?\n"
    answer = client.post("/translate", json={**ASKED, "q": text}).json()
    assert answer["translatedText"] == translator.translate_text(text, to="fr").text
    assert answer["translatedText"].count("\n") == 3


def test_html_keeps_its_tags(client, translator):
    html = '<p>Where is <b>the station</b>?</p><a href="x">I am tired.</a>'
    answer = client.post("/translate", json={**ASKED, "q": html, "format": "html"}).json()
    assert answer["translatedText"] == translator.translate_text(html, kind="html", to="fr").text


def test_alternatives_and_the_detected_language(client, translator):
    answer = client.post("/translate", json={**ASKED, "source": "auto", "alternatives": 2}).json()
    found = translator.translate(ASKED["q"], to="fr", top_beams=3).alternatives
    assert [answer["translatedText"], *answer["alternatives"]] == [one.text for one in found]
    assert answer["detectedLanguage"] == {"language": "en", "confidence": 100}
    several = client.post("/translate", json={**ASKED, "source": "auto", "q": ["Où est la gare ?", "I am tired."]})
    assert [one["language"] for one in several.json()["detectedLanguage"]] == ["fr", "en"]
    assert several.json()["translatedText"][0] == "Où est la gare ?", "it is in French already"


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"source": "en", "target": "fr"}, 400, "missing q"),
        ({"q": "x", "source": "en"}, 400, "missing target"),
        ({"q": "x", "target": "fr"}, 400, "missing source"),
        ({**ASKED, "target": "de"}, 400, "de is not supported"),
        ({**ASKED, "source": "../../etc"}, 400, "not supported"),
        ({**ASKED, "format": "pdf"}, 400, "format"),
        ({**ASKED, "q": 7}, 400, "q"),
        ({**ASKED, "q": ["x", 7]}, 400, "q"),
        ({**ASKED, "q": {"a": 1}}, 400, "q"),
        ({**ASKED, "alternatives": 99}, 400, "alternatives"),
        ({**ASKED, "alternatives": 10**400}, 400, "alternatives"),
        ({**ASKED, "q": ["x"] * 6}, 400, "at most 5"),
        ({**ASKED, "q": "x" * 501}, 400, "at most 500"),
        ({**ASKED, "q": "x" * 6000}, 413, "5,000 bytes"),
        ([], 400, "JSON"),
        ("x", 400, "JSON"),
        (None, 400, "JSON"),
    ],
)
def test_mistakes_are_answered_in_one_sentence(client, body, status, word):
    said(
        client.post("/translate", content=json.dumps(body), headers={"content-type": "application/json"}), status, word
    )


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 4000, b'{"q":' * 700, b'{"q": "\\ud800"}'])
@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_is_no_request_is_refused(client, content, kind):
    said(client.post("/translate", content=content, headers={"content-type": kind}), 400)


def test_other_bodies_are_not_read(client):
    said(client.post("/translate", content=b"<q/>", headers={"content-type": "text/xml"}), 415)


@pytest.mark.parametrize("text", ["", "  \n", "12:30", "\0", "\ud800", "❄️", "\u202eabc", "a" * 400, "I\0am"])
def test_strange_texts_come_back(client, text):
    answer = client.post(
        "/translate", content=json.dumps({**ASKED, "q": text}), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 200, answer.text
    assert isinstance(answer.json()["translatedText"], str)


def test_a_text_in_the_target_language_stays(client):
    assert client.post("/translate", json={**ASKED, "source": "fr"}).json() == {"translatedText": ASKED["q"]}


def test_the_rest_of_the_interface(client):
    assert client.get("/health").json() == {"status": "ok"}
    settings = client.get("/frontend/settings").json()
    assert (settings["charLimit"], settings["keyRequired"]) == (500, False)
    assert client.post("/detect", data={"q": "Where is the station?"}).json()[0] == {
        "language": "en",
        "confidence": 100,
    }


# Keys.


@pytest.fixture(scope="module")
def locked():
    server = make_server([Key("one", hash_of("vt_other")), Key("two", hash_of(SECRET), per_minute=0)])
    with open_client(server.door, server.running()) as client:
        yield client


@pytest.mark.parametrize(
    "key", ["", "x", SECRET[:-1], SECRET[:8], SECRET + "x", SECRET.upper(), "é", " ", hash_of(SECRET), "\0"]
)
def test_a_wrong_key_never_gets_in(locked, key):
    said(locked.post("/translate", json={**ASKED, "api_key": key}), 403)
    said(locked.post("/translate", data={**ASKED, "api_key": key}), 403)
    for path in ("/v1/models", "/metrics", "/api/models"):
        assert locked.get(path, params={"api_key": key}).status_code == 403
        header = {"x-api-key": key.encode(), "authorization": b"Bearer " + key.encode()}
        assert locked.get(path, headers=header).status_code == 403
    assert locked.post("/v1/translate", json={"texts": ["x"], "source": "en", "target": "fr"}).status_code == 403


def test_the_right_key_gets_in_everywhere(locked):
    assert locked.post("/translate", json={**ASKED, "api_key": SECRET}).status_code == 200
    assert locked.post("/translate", data={**ASKED, "api_key": SECRET}).status_code == 200
    assert locked.post(f"/translate?api_key={SECRET}", json=ASKED).status_code == 200
    for header in ({"x-api-key": SECRET}, {"authorization": f"Bearer {SECRET}"}, {"x-vitrail-token": SECRET}):
        assert locked.get("/v1/models", headers=header).status_code == 200
        assert locked.get("/api/models", headers=header).status_code == 200
    assert locked.get("/health").status_code == 200, "monitors need no key"
    assert locked.get("/").status_code == 200, "the page holds no secret"


def test_a_key_has_its_number_of_requests_a_minute():
    server = make_server([Key("slow", hash_of("s"), per_minute=2), Key("free", hash_of("f"))])
    with open_client(server.door, server.running()) as client:
        statuses = [client.post("/detect", json={"q": "x", "api_key": "s"}).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        refused = client.get("/v1/models", headers={"x-api-key": "s"})
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        assert client.post("/detect", json={"q": "x", "api_key": "f"}).status_code == 200


# Who may ask at all.


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_without_keys_only_this_computer_is_answered(client, host):
    assert client.get("/health", headers={"Host": host}).status_code == 403
    said(client.post("/translate", json=ASKED, headers={"Host": host}), 403, "name")


def test_a_page_from_elsewhere_may_not_make_this_computer_work(client):
    said(client.post("/translate", data=ASKED, headers={"Origin": "https://evil.example"}), 403)
    said(client.post("/translate", data=ASKED, headers={"Origin": "null"}), 403)
    assert client.post("/translate", data=ASKED, headers={"Origin": "http://127.0.0.1:8765"}).status_code == 200
    assert "access-control-allow-origin" not in client.get("/languages").headers


def test_pages_that_are_named_may_use_it():
    server = make_server(origins=("https://good.example",))
    with open_client(server.door, server.running()) as client:
        good = {"Origin": "https://good.example"}
        asked = client.request("OPTIONS", "/translate", headers={**good, "Access-Control-Request-Method": "POST"})
        assert asked.headers["access-control-allow-origin"] == "https://good.example"
        assert client.post("/detect", json={"q": "x"}, headers=good).headers["access-control-allow-origin"]
        said(client.post("/detect", json={"q": "x"}, headers={"Origin": "https://evil.example"}), 403)


@pytest.mark.parametrize("path", ["/health", "/nothing", "/v1/models", "/"])
def test_every_answer_has_a_number_and_the_policies(client, path):
    headers = client.get(path).headers
    assert len(headers["x-request-id"]) == 16
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


# Without torch.

TORCHLESS = "import sys; sys.modules['torch'] = None; from vitrail.serve import worker; worker.main()"


def test_translations_need_no_torch_and_what_needs_it_says_so(monkeypatch, translator):
    monkeypatch.setattr("vitrail.serve.pool.PROGRAM", (sys.executable, "-c", TORCHLESS))
    server = make_server()
    with open_client(server.door, server.running()) as client:
        answer = client.post("/translate", json={**ASKED, "source": "auto"})
        assert answer.json()["translatedText"] == translator.translate(ASKED["q"], to="fr").text
        for path in ("/v1/explain", "/v1/translate/stream"):
            answer = client.post(path, json={"source": "en", "target": "fr", "text": ASKED["q"]})
            assert "the package torch, which is not installed" in answer.text


async def ready(server):
    """What /ready says, before anything else runs."""
    answer = await server._ready()
    return answer.status_code, json.loads(answer.body)


def test_it_is_ready_once_every_worker_has_loaded_every_model():
    async def run():
        server = make_server(count=2)
        async with server.running():
            while (await ready(server))[0] != 200:
                await asyncio.sleep(0.01)
            assert [worker.jobs for worker in server.service.pool._workers] == [1, 1]

    in_a_loop(run())


def test_a_model_that_a_worker_cannot_load_is_the_servers_fault_and_not_ready_until_it_can(tmp_path):
    model = tmp_path / "mine"
    shutil.copytree(model_path("builtin"), model)
    settings = (model / "config.toml").read_bytes()

    async def run():
        server = make_server(places=[str(model)])
        (model / "config.toml").write_bytes(b"x")
        async with server.running():
            while not server.service.is_warm:
                await asyncio.sleep(0.01)
            status, content = await ready(server)
            assert status == 503 and "config.toml" in content["troubles"]["mine"]
            transport = httpx.ASGITransport(server.door)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765", timeout=None) as client:
                said(await client.post("/translate", json=ASKED), 503, "config.toml")
                (model / "config.toml").write_bytes(settings)
                while (await ready(server))[0] != 200:
                    await asyncio.sleep(0.01)
                assert (await client.post("/translate", json=ASKED)).status_code == 200

    in_a_loop(run())
