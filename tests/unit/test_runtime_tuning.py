"""What is measured about a machine is remembered, and wrong memories are forgotten."""

import pytest

from vitrail.runtime.tuning import BATCH_TOKENS, Memory, Tuning, made_up, measure, usual
from vitrail.text import EOS


def test_the_fastest_is_chosen(monkeypatch):
    """A clock that each try moves by what it costs."""
    now = 0.0
    tried = []

    def translate(tuning, rows):
        nonlocal now
        tried.append(tuning)
        now += abs(tuning.batch_tokens - 2048) + tuning.workers + len(rows)

    monkeypatch.setattr("vitrail.runtime.tuning.time.perf_counter", lambda: now)
    assert measure(8, translate, parameters=1, vocabulary=30) == Tuning(workers=4, batch_tokens=2048)
    assert {one.batch_tokens for one in tried} == set(BATCH_TOKENS)
    assert measure(2, translate, parameters=1, vocabulary=30) == Tuning(workers=2, batch_tokens=2048)


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
    memory.keep(usual(2))
    memory.path.write_text(text)
    assert memory.recall(cores=2) is None


def test_without_a_cache_nothing_is_remembered():
    memory = Memory.of(None, "model", cores=2)
    memory.keep(usual(2))
    assert memory.recall(cores=2) is None


@pytest.mark.parametrize(("parameters", "count"), [(1, 256), (20_000_000, 128), (10**12, 32)])
def test_large_models_are_measured_with_fewer_sentences(parameters, count):
    rows = made_up(parameters, 30)
    assert len(rows) == count
    assert all(row[-1] == EOS and all(EOS < number < 30 for number in row[:-1]) for row in rows)
