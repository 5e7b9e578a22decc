"""What strangers may send to `vitrail serve`: whatever it is, it is answered, never with a fault of ours."""

import json
import random
import socket
import time

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks as openapi
from server import served

HEAD = "POST /translate HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
ASKED = {"q": "Where is the station?", "source": "en", "target": "fr"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    with served(folder, "builtin", "--workers", "1", "--max-bytes", "100000", "--max-arrival", "3") as server:
        yield server
        assert server.ask("/translate", ASKED)[0] == 200, "it goes on"
        assert server.number("vitrail_workers_died") == 0
        assert "Traceback" not in server.log.read_text()


# Checked: no answer of 500 and above, and every answer has a status, a type and a content that the document promises.
CHECKS = [
    schemathesis.checks.not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_schema_conformance,
]


def conform(server, examples):
    """Call every operation of the OpenAPI document in so many ways that fit it, or do not."""
    schema = schemathesis.openapi.from_url(f"{server.address}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 11
    for operation in operations:
        # Without a body there is nothing to get wrong.
        for mode in [mode for mode in schemathesis.GenerationMode if mode.is_positive or list(operation.body)]:

            @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
            @given(case=operation.as_strategy(generation_mode=mode))
            def call(case):
                case.call_and_validate(checks=CHECKS, timeout=60)

            call()


def test_answers_are_what_the_openapi_document_promises(server):
    conform(server, 3)


@pytest.mark.slow
def test_answers_are_what_the_openapi_document_promises_at_length(server):
    conform(server, 300)


def raw(server, content, *, ends=False):
    """What the server says to these bytes, and perhaps to the end of them."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        try:
            connection.sendall(content)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            return connection.recv(65536)
        except OSError:
            return b""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 1000,
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00" + b"\xff" * 500,  # TLS
        b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\n",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 50) for n in range(5000)) + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
    ],
)
def test_bytes_that_are_no_request_are_refused_or_dropped(server, content):
    answer = raw(server, content, ends=True)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer[:100]


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "//etc/passwd",
        "/translate/../../etc/passwd",
        "/%00",
        "/web/main.js",
        "/.git/config",
        "/v1/../../x",
    ],
)
def test_paths_lead_nowhere_else(server, path):
    answer = raw(server, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ")[1] in (b"404", b"405"), answer[:200]
    assert b"root:" not in answer


@pytest.mark.parametrize(
    "name", ["../builtin", "builtin/", "/etc", "./builtin", "builtin\0", "", "BUILTIN", "..", "a" * 250]
)
def test_models_are_known_by_their_names_only(server, name):
    status, answer = server.ask("/v1/translate", {"model": name, "target": "fr", "texts": ["x"]})
    assert (status, "no model" in answer["error"]["what"]) == (404, True)


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 90_000,
        '{"q":' * 15_000,
        '{"q": "x", "source": ' + "9" * 90_000 + "}",
        json.dumps({**ASKED, "alternatives": 10**4000}),
        json.dumps({**ASKED, "q": ["x"] * 20_000}),
        json.dumps({str(number): 1 for number in range(8000)}),
        '{"q": "' + "\\ud800" * 10_000 + '", "source": "en", "target": "fr"}',
    ],
)
@pytest.mark.parametrize("path", ["/translate", "/v1/translate", "/detect"])
def test_bombs_of_json_are_refused(server, bomb, path):
    head = HEAD.format(port=server.port).replace("/translate", path)
    answer = raw(server, f"{head}Connection: close\r\nContent-Length: {len(bomb)}\r\n\r\n{bomb}".encode())
    assert answer.split(b" ")[1] in (b"200", b"400", b"413", b"422"), answer[:200]


ODD = [
    "\0",
    "\ud800",
    "\u202e",
    "\u200f",
    "\ufeff",
    "❄️",
    "👩‍👩‍👧",
    "\U0010ffff",
    "\x1b[31m",
    "ﷺ",
    "a\u0301" * 20,
    "<b>",
    "&#0;",
    "{{",
    "%s",
]


def strange_texts(count, seed):
    """Random strings of all of Unicode, mixed with ordinary words and signs that have made trouble elsewhere."""
    chance = random.Random(seed)
    for _ in range(count):
        parts = [
            chance.choice([chance.choice(ODD), chr(chance.randrange(0x110000)), "the cat", " ", "\n", ". ", "x" * 50])
            for _ in range(chance.randrange(1, 12))
        ]
        yield "".join(parts)


def ask_all(server, texts, **how):
    for start in range(0, len(texts), 20):
        part = texts[start : start + 20]
        status, answer = server.ask("/translate", {**ASKED, "q": part, **how})
        assert status == 200, answer
        assert len(answer["translatedText"]) == len(part)
        assert all(isinstance(one, str) for one in answer["translatedText"])


@pytest.mark.parametrize("how", [{}, {"format": "html"}, {"source": "auto"}])
def test_strange_texts_are_translated_into_something(server, how):
    ask_all(server, list(strange_texts(8, seed=7)), **how)


@pytest.mark.slow
def test_thousands_of_strange_texts(server):
    ask_all(server, list(strange_texts(5000, seed=8)))
    ask_all(server, list(strange_texts(1000, seed=9)), format="html")


def test_slow_and_half_sent_requests_hold_nobody_up_and_end(server):
    head = HEAD.format(port=server.port).encode()
    strangers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
    for number, one in enumerate(strangers):
        one.sendall([head[:30], head, head + b"Content-Length: 50000\r\n\r\n{", b""][number % 4])
    began = time.monotonic()
    assert server.ask("/translate", ASKED)[0] == 200
    for one in strangers:
        one.settimeout(60)
        said = one.recv(1000)  # the end, or 408: but an end
        assert said == b"" or said.startswith((b"HTTP/1.1 408", b"HTTP/1.1 4"))
        one.close()
    assert time.monotonic() - began < 60


def test_a_client_that_does_not_read_holds_nobody_up(server):
    text = json.dumps({"texts": ["The cat is sleeping. " * 40] * 10, "source": "en", "target": "fr"}).encode()
    head = HEAD.format(port=server.port).replace("/translate", "/v1/translate").encode()
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    deaf.connect(("127.0.0.1", server.port))
    deaf.sendall((head + b"Content-Length: %d\r\n\r\n" % len(text) + text) * 3)
    assert server.ask("/translate", ASKED)[0] == 200
    deaf.close()
