"""The time from starting `vitrail train` to the end of the first step, including the vocabulary.

python benchmarks/startup.py recipes/multi30k-en-de.toml
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--set", action="append", default=[], help="change a setting, as in `vitrail train`")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the row to this file")
    options = parser.parse_args()
    seconds = [start(options.recipe, options.set) for _ in range(options.times)]
    print(
        f"{options.recipe.name}: {median(seconds):.1f} s to the first step ({', '.join(f'{s:.1f}' for s in seconds)})"
    )
    if options.json:
        row = {"benchmark": "startup", "system": "vitrail", "recipe": options.recipe.name, "seconds": median(seconds)}
        options.json.write_text(json.dumps([row], indent=1) + "\n")


def start(recipe: Path, changes: list[str]) -> float:
    """Seconds from starting the process to its first step, by the time in the log."""
    once = ["train.max_steps=1", "train.log_every=1", "train.r_drop_after=0", "train.r_drop=0.0", *changes]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        began = time.time()
        command = [sys.executable, "-m", "vitrail", "train", recipe, "--out", out]
        settings = [part for change in once for part in ("--set", change)]
        done = subprocess.run([*map(str, command), *settings], check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr.strip())
        events = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        first = next(event for event in events if event["event"] == "step")
        return float(first["clock"]["time"]) - began


if __name__ == "__main__":
    main()
