"""What is measured about a machine is remembered, and wrong memories are forgotten."""

from itertools import pairwise

import pytest

from vitrail.runtime.tuning import BATCH_TOKENS, Memory, Tuning, measure, sample, usual
from vitrail.text import EOS


def test_the_fastest_is_chosen(monkeypatch):
    """A clock that each try moves by what it costs."""
    now = 0.0
    tried = []

    def translate(tuning, rows):
        nonlocal now
        tried.append(tuning)
        now += abs(tuning.batch_tokens - 1024) + tuning.workers + len(rows)

    for clock in ("perf_counter", "process_time"):
        monkeypatch.setattr(f"vitrail.runtime.tuning.time.{clock}", lambda: now)
    rows = [[7, EOS]] * 600
    assert measure(8, translate, rows) == Tuning(workers=4, batch_tokens=1024)
    assert {one.batch_tokens for one in tried} == set(BATCH_TOKENS)
    assert measure(2, translate, rows) == Tuning(workers=2, batch_tokens=1024)


def test_other_work_on_the_machine_does_not_decide(monkeypatch):
    """By the clock the best size always takes long, because of something else; by the processor's time it does not."""
    clock, work = 0.0, 0.0

    def translate(tuning, rows):
        nonlocal clock, work
        clock += 1e6 if tuning.batch_tokens == 1024 else 1
        work += abs(tuning.batch_tokens - 1024)

    monkeypatch.setattr("vitrail.runtime.tuning.time.perf_counter", lambda: clock)
    monkeypatch.setattr("vitrail.runtime.tuning.time.process_time", lambda: work)
    assert measure(2, translate, [[7, EOS]] * 600).batch_tokens == 1024


def test_a_single_slow_turn_does_not_decide(monkeypatch):
    """The first try of the best takes long, for a reason that has nothing to do with it."""
    now, paused = 0.0, False

    def translate(tuning, rows):
        nonlocal now, paused
        now += abs(tuning.batch_tokens - 1024)
        if tuning.batch_tokens == 1024 and not paused:
            now, paused = now + 1e6, True

    monkeypatch.setattr("vitrail.runtime.tuning.time.process_time", lambda: now)
    assert measure(2, translate, [[7, EOS]] * 600).batch_tokens == 1024


def test_what_was_found_is_remembered_for_this_model_and_these_cores(tmp_path):
    found = Tuning(workers=2, batch_tokens=512)
    Memory.of(tmp_path, "model", cores=2).keep(found)
    assert Memory.of(tmp_path, "model", cores=2).recall(cores=2) == found
    assert Memory.of(tmp_path, "model", cores=3).recall(cores=3) is None
    assert Memory.of(tmp_path, "other", cores=2).recall(cores=2) is None


@pytest.mark.parametrize(
    "text", ["", "{}", '{"workers": 9, "batch_tokens": 512}', '{"workers": 1, "batch_tokens": 7}', "[]"]
)
def test_a_memory_that_makes_no_sense_is_forgotten(tmp_path, text):
    memory = Memory.of(tmp_path, "model", cores=2)
    memory.keep(usual(2, "float32"))
    memory.path.write_text(text)
    assert memory.recall(cores=2) is None


def test_without_a_cache_nothing_is_remembered():
    memory = Memory.of(None, "model", cores=2)
    memory.keep(usual(2, "float32"))
    assert memory.recall(cores=2) is None


@pytest.mark.parametrize(("parameters", "count"), [(1, 512), (20_000_000, 256), (10**12, 64)])
def test_large_models_are_measured_with_fewer_sentences(parameters, count):
    rows = [[number, EOS] for number in range(1000)]
    chosen = sample(rows, parameters)
    assert len(chosen) == len({row[0] for row in chosen}) == count
    gaps = {later[0] - earlier[0] for earlier, later in pairwise(chosen)}
    assert max(gaps) - min(gaps) <= 1, "from the whole job, not from its beginning"


def test_no_more_sentences_than_there_are():
    assert sample([[7, EOS]] * 70, parameters=1) == [[7, EOS]] * 70
