"""`vitrail serve` as it is used: LibreTranslate's own client, signals, replaced models, and workers that die."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from libretranslatepy import LibreTranslateAPI
from server import served

from vitrail.box import PLACE
from vitrail.folder import ModelFolder

ASKED = {"q": "Where is the station?", "source": "en", "target": "fr"}
WANTED = (200, {"translatedText": "Où est la gare ?"})


@pytest.fixture
def server(tmp_path):
    with served(tmp_path, "builtin", "--workers", "1") as server:
        yield server


def test_libretranslates_own_client_works_as_it_is_and_a_wrong_key_does_not(tmp_path):
    keys = tmp_path / "keys.json"
    made = [sys.executable, "-m", "vitrail", "keys", str(keys), "--add", "somebody"]
    secret = subprocess.run(made, capture_output=True, check=True, encoding="utf-8").stdout.strip()
    assert secret not in keys.read_text()
    with served(tmp_path, "builtin", "--keys", keys, "--workers", "1") as server:
        client = LibreTranslateAPI(server.address, api_key=secret)
        assert client.translate(ASKED["q"], "en", "fr") == "Où est la gare ?"
        assert client.translate(ASKED["q"], "auto", "fr") == "Où est la gare ?"
        assert client.detect("Où est la gare ?")[0]["language"] == "fr"
        assert {"code": "en", "name": "English", "targets": ["fr"]} in client.languages()
        with pytest.raises(OSError, match="403"):
            LibreTranslateAPI(server.address, api_key=secret[:-1]).translate("x", "en", "fr")
    assert secret not in server.log.read_text()
    assert "station" not in server.log.read_text()
    assert next(event["key"] for event in server.events() if event.get("path") == "/translate") == "somebody"


def test_sigterm_finishes_what_is_running_and_ends_with_0(server):
    answers = []

    def ask(number):
        # Every sentence is another one: equal ones are computed once, and would not have to wait.
        texts = [f"The cat has {number * 100 + n} mice because it is tired." for n in range(100)]
        answers.append(server.ask("/v1/translate", {"texts": texts, "source": "en", "target": "fr"}))

    asking = [threading.Thread(target=ask, args=[number]) for number in range(4)]
    for one in asking:
        one.start()
    server.wait_until(lambda: server.number("vitrail_queue_sentences") > 0)
    server.process.send_signal(signal.SIGTERM)
    for one in asking:
        one.join()
    assert server.process.wait() == 0
    for status, answer in answers:
        # In before the signal: answered in full. After it: refused in so many words.
        done, refused = (
            status == 200 and len(answer["translations"]) == 100,
            status == 503 and "shutting" in str(answer),
        )
        assert done or refused
    assert any(status == 200 for status, _ in answers)


def test_a_model_that_is_replaced_is_read_at_sighup(tmp_path):
    model = tmp_path / "models" / "one"
    shutil.copytree(PLACE, model)
    with served(tmp_path, model, "--workers", "1") as server:
        assert server.ask("/translate", ASKED) == WANTED
        shutil.rmtree(model)
        server.wait_until(lambda: server.ask("/ready")[0] == 503)
        assert "no such folder" in json.dumps(server.ask("/ready")[1])
        assert server.ask("/translate", ASKED) == WANTED, "what is in memory goes on"
        shutil.copytree(PLACE, model)
        folder = ModelFolder.open(model)
        folder.write_weights({name: value * 0 for name, value in folder.model().state_dict().items()})
        server.process.send_signal(signal.SIGHUP)
        server.wait_until(lambda: server.ask("/ready")[0] == 200)
        assert server.ask("/translate", ASKED)[1] != WANTED[1], "a model without weights has nothing to say"
        assert [event["event"] for event in server.events() if event["event"] != "request"][-1] == "reloaded"
        (model / "model.safetensors").write_bytes(b"nothing")
        server.wait_until(lambda: server.ask("/ready")[0] == 503)
        assert "damaged" in json.dumps(server.ask("/ready")[1])


def test_connections_that_do_nothing_do_not_stand_in_the_way(tmp_path):
    with served(tmp_path, "builtin", "--workers", "1", "--max-connections", "20") as server:
        strangers = []
        for number in range(60):
            one = socket.create_connection(("127.0.0.1", server.port))
            if number % 2:
                one.sendall(b"POST /translate HTTP/1.1\r\nHost: 127")
            strangers.append(one)
        assert server.ask("/translate", ASKED) == WANTED
        descriptors = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        assert descriptors < 60
        for one in strangers:
            one.close()


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_another_address_needs_keys_or_a_word(tmp_path, address):
    command = [sys.executable, "-m", "vitrail", "serve", "builtin", "--address", address, "--port", "0"]
    refused = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert refused.returncode == 2
    assert "no keys" in refused.stderr and "fix:" in refused.stderr
