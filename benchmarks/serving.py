"""A translation server under load, against the same sentences translated offline in the same run.

    python benchmarks/serving.py MODEL --to en --sentences FILE [--seconds 60] [--clients 64] [--json FILE]

Server, clients and the offline translation share this computer's cores; the last two take turns with the server idle.
Then ten times the load that the server can take, and once more the usual one: it has to keep its throughput, say 429
to the rest, stay as large as it was and recover.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

CLIENT = Path(__file__).with_name("serving_client.py")
OFFLINE = """
import sys, time
from vitrail.translator import load
model, to, count, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
lines = [line.rstrip("\\n") for line in sys.stdin]
translator = load(model)
part, done = lines[:count], 0
list(translator.stream(part, to=to))
began = time.monotonic()
while time.monotonic() - began < seconds:
    done += len(list(translator.stream(part, to=to)))
print(done / (time.monotonic() - began))
"""


@contextmanager
def server(model: str, *options: str) -> Iterator[tuple[int, int]]:
    """`vitrail serve`; gives its port and its process."""
    command = [sys.executable, "-m", "vitrail", "serve", model, "--port", "0", "--log", "none", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        assert found, "the server did not start"
        port = int(found[1])
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready"):
                    break
            except OSError:
                sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        assert process.wait(60) == 0, "it did not end as it should"


def memory(pid: int) -> float:
    """The memory of a process and its children, in MB."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if int(status.parent.name) == pid or f"PPid:\t{pid}\n" in text:
            found = re.search(r"VmRSS:\s+(\d+)", text)
            total += int(found[1]) if found else 0
    return total / 1024


def ask(port: int, bodies: list[str], **how: float) -> dict[str, Any]:
    """What clients in a process of their own found."""
    job = json.dumps({"port": port, "bodies": bodies, **how})
    done = subprocess.run([sys.executable, str(CLIENT)], input=job, capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)


def offline(model: str, to: str, sentences: list[str], seconds: float) -> float:
    """Sentences a second without a server."""
    command = [sys.executable, "-c", OFFLINE, model, to, "1024", str(seconds)]
    text = "".join(f"{sentence}\n" for sentence in sentences)
    return float(subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=True).stdout)


def bodies_of(sentences: list[str], texts: int, source: str, to: str) -> list[str]:
    """Requests with so many texts each."""
    groups = [sentences[start : start + texts] for start in range(0, len(sentences) - texts + 1, texts)]
    return [json.dumps({"q": group, "source": source, "target": to}) for group in groups]


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Throughput, latency and answers."""
    by_status: dict[str, int] = {}
    for status in found["statuses"]:
        by_status[str(status)] = by_status.get(str(status), 0) + 1
    good = sorted(s for s, status in zip(found["seconds"], found["statuses"], strict=True) if status == 200) or [0.0]
    said_no = sorted(s for s, status in zip(found["seconds"], found["statuses"], strict=True) if status == 429) or [0.0]
    return {
        "texts_per_second": sum(found["texts"]) / found["took"],
        "statuses": by_status,
        "errors": len(found["errors"]),
        **{f"p{share}_ms": 1000 * good[min(len(good) - 1, len(good) * share // 100)] for share in (50, 95, 99)},
        "p95_of_429_ms": 1000 * said_no[len(said_no) * 95 // 100],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--source", default="fr")
    parser.add_argument("--to", default="en")
    parser.add_argument("--sentences", type=Path, required=True, help="a file with a sentence in each line")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each number of texts in a request")
    parser.add_argument("--rounds", type=int, default=3, help="in which they take turns")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sentences = list(dict.fromkeys(given.sentences.read_text(encoding="utf-8").splitlines()))
    rows: list[dict[str, Any]] = []
    with server(given.model, "--no-studio") as (port, pid):
        for texts in (16, 1):
            bodies = bodies_of(sentences, texts, given.source, given.to)
            ratios, found, seconds = [], [], given.seconds / given.rounds
            for _ in range(given.rounds):
                alone = offline(given.model, given.to, sentences, min(15.0, seconds))
                found.append(ask(port, bodies, clients=given.clients, seconds=seconds))
                ratios.append(sum(found[-1]["texts"]) / found[-1]["took"] / alone)
            together = {
                name: [value for one in found for value in one[name]]
                for name in ("statuses", "seconds", "texts", "errors")
            }
            row = summary({**together, "took": sum(one["took"] for one in found)})
            rows.append({"load": f"{given.clients} clients, {texts} texts a request", **row})
            rows[-1] |= {"of_offline": statistics.median(ratios), "memory_mb": memory(pid)}
            show(rows[-1])
            if texts == 16:
                usual = rows[-1]["texts_per_second"]
                before = memory(pid)
                began = monotonic()
                flood = summary(ask(port, bodies, rate=10 * usual / 16, seconds=min(20.0, given.seconds)))
                rows.append({"load": "ten times as much", **flood, "of_usual": flood["texts_per_second"] / usual})
                rows[-1] |= {"memory_mb": memory(pid), "memory_before_mb": before, "took": monotonic() - began}
                show(rows[-1])
                again = summary(ask(port, bodies, clients=given.clients, seconds=min(10.0, given.seconds)))
                rows.append({"load": "the usual again", **again, "of_usual": again["texts_per_second"] / usual})
                show(rows[-1])
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    shown = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in row.items()}
    print(", ".join(f"{name} {value}" if name != "load" else f"{value}:" for name, value in shown.items()), flush=True)


if __name__ == "__main__":
    main()
