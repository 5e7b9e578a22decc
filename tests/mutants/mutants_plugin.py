"""How pytest runs the tests of one mutant: the same way every time, the quick ones first, and not for ever."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

# The same examples in every run, so that a result repeats. Nothing is remembered from one mutant to the next, a failing
# example is not made smaller, and a slow machine is no failure.
settings.register_profile(
    "mutants", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)

_STATS = Path("mutmut-stats.json")  # mutmut runs the tests in the folder that it writes this file to
_SPARE, _TIMES = 30, 10  # CPU seconds, and how many times as long as without a mutant the tests may take


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Sort the tests, which mutmut names in no order: quick files first, so that most mutants are caught in seconds."""
    seconds = _seconds_by_test()
    by_file: defaultdict[Path, float] = defaultdict(float)
    for item in items:
        by_file[item.path] += seconds.get(item.nodeid, 0.0)
    items.sort(key=lambda item: (by_file[item.path], item.path, item.location[1]))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Limit the CPU time: wall-clock time would count against a mutant what the machine does for others."""
    if "__mutmut_" not in os.environ.get("MUTANT_UNDER_TEST", ""):
        return
    seconds = _seconds_by_test()
    allowed = _SPARE + _TIMES * sum(seconds.get(item.nodeid, 0.0) for item in session.items)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (min(int(time.process_time() + allowed), hard), hard))


def _seconds_by_test() -> dict[str, float]:
    return dict(json.loads(_STATS.read_text())["duration_by_test"]) if _STATS.exists() else {}
