"""How much faster the arranged model searches than the plain one, on the built-in model and Tatoeba's test sentences.

    taskset -c 1 python benchmarks/torch_decoding.py

Each translates in a process of its own, on one thread, and they take turns. What counts is the median over the rounds
of the ratio of their processor times. `--workers 2` adds a third process with threads side by side, and compares
elapsed times.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
SEARCHES = {"greedy": 1, "beam 4": 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=1000, help="in batches; a twentieth of them one at a time")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--system", choices=("plain", "arranged", "workers"), help="used by the script itself")
    options = parser.parse_args()
    if options.system:
        serve(options.system, options.sentences, options.workers)
        return
    systems = ["plain", "arranged", *(["workers"] if options.workers else [])]
    processes = {name: start(name, options.sentences, options.workers) for name in systems}
    for search in SEARCHES:
        for what in ("batches", "one at a time"):
            ratios: dict[str, list[float]] = {name: [] for name in systems[1:]}
            for number in range(options.rounds + 1):  # the first one warms up
                taken = {name: ask(process, f"{search}/{what}") for name, process in processes.items()}
                for name in ratios if number else ():
                    ratios[name].append(taken["plain"] / taken[name])
            for name, found in ratios.items():
                span = f"{min(found):.2f} to {max(found):.2f}"
                print(f"{search}, {what}: {name} is {median(found):.2f} times as fast ({span})")
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def start(system: str, sentences: int, workers: int) -> subprocess.Popen[str]:
    arguments = ["--system", system, "--sentences", str(sentences), "--workers", str(workers)]
    return subprocess.Popen(
        [sys.executable, __file__, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ask(process: subprocess.Popen[str], question: str) -> float:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(question + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def serve(system: str, sentences: int, workers: int) -> None:
    """Answer each line, a search and how to do it, with the seconds it took."""
    import torch

    from vitrail.config import DecodeConfig
    from vitrail.decode import begin_all
    from vitrail.decode.workers import Workers
    from vitrail.runtime.arranged import arranged
    from vitrail.translator import load

    torch.set_num_threads(1)
    translator = load("builtin")
    with gzip.open(DATA / "tatoeba-fr-en" / "test.tsv.gz", "rt", encoding="utf-8") as lines:
        texts = [line.split("\t")[0] for line in lines][:sentences]
    rows = [translator.tokenizers.encode_source(text, "en") for text in texts]
    model = translator.model if system == "plain" else arranged(translator.model)
    threads = Workers(workers) if system == "workers" else None
    clock = time.perf_counter if workers else time.process_time
    for line in sys.stdin:
        search, what = line.strip().split("/")
        config = DecodeConfig(beam_size=SEARCHES[search])
        groups = [rows] if what == "batches" else [[row] for row in rows[: max(1, sentences // 20)]]
        began = clock()
        for group in groups:
            begin_all(model, group, config, forbidden=translator.tokenizers.forbidden, workers=threads)()
        print(clock() - began, flush=True)


if __name__ == "__main__":
    main()
