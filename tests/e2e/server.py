"""`vitrail serve` as a process of its own, and requests to it."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager


class Served:
    """A running server."""

    def __init__(self, process, address, log):
        self.process, self.address, self.log = process, address, log
        self.port = int(address.rpartition(":")[2])

    def ask(self, path, body=None, timeout=60, **headers):
        data = None if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if body is not None else {}
        request = urllib.request.Request(self.address + path, data, {**kind, **headers})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def number(self, name):
        """A number that Prometheus would collect."""
        with urllib.request.urlopen(f"{self.address}/metrics") as answer:
            return float(re.search(rf"^{name} (\S+)", answer.read().decode(), re.MULTILINE)[1])

    def wait_until(self, condition, seconds=60):
        """Wait until something is so; a bound, not a measurement."""
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, "it never was"
            time.sleep(0.05)

    def events(self):
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


@contextmanager
def served(tmp_path, *arguments, ready=True):
    """`vitrail serve …` on a free port, with its log as JSON."""
    log = tmp_path / "serve.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "vitrail", "serve", *map(str, arguments), "--port", "0", "--log", "json"],
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+:\d+", line)
        assert found, line + log.read_text()
        server = Served(process, found[0], log)
        if ready:
            server.wait_until(lambda: server.ask("/ready")[0] == 200)
        yield server
    finally:
        process.kill()
        process.communicate()
