import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from vitrail.data.duplicates import DuplicateFinder
from vitrail.data.sample import Reservoir


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.one_of(st.none(), st.sampled_from("abcdef"), st.text(max_size=2))))
def test_the_first_of_equal_texts_is_kept(texts):
    """None: a pair skipped for another reason, which is never hashed."""
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder) / "scratch") as finder:
        for number, text in enumerate(texts):
            if text is not None:
                finder.add(number, text)
        found = finder.find(len(texts)).tolist()
    assert found == [text is not None and text in texts[:number] for number, text in enumerate(texts)]


def test_blocks_make_no_difference(monkeypatch):
    import vitrail.data.duplicates

    monkeypatch.setattr(vitrail.data.duplicates, "_BLOCK", 3)
    texts = [str(number % 7) for number in range(100)]
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder) / "scratch") as finder:
        for number, text in enumerate(texts):
            finder.add(number, text)
        assert finder.find(100).tolist() == [False] * 7 + [True] * 93


@given(size=st.integers(1, 20), count=st.integers(0, 100), seed=st.integers(0, 5))
def test_a_sample_is_bounded_distinct_and_the_same_for_the_same_seed(size, count, seed):
    samples = []
    for _ in range(2):
        reservoir = Reservoir(size, seed)
        for item in range(count):
            reservoir.offer(item)
        samples.append(reservoir.items)
    assert samples[0] == samples[1]
    assert len(samples[0]) == len(set(samples[0])) == min(size, count)
    if count <= size:
        assert samples[0] == list(range(count))


def test_every_item_is_sampled_equally_often():
    """A fifth of 40 items is kept: over many seeds, each is kept a fifth of the time, within 5 standard deviations."""
    trials, size, count = 2000, 8, 40
    kept = [0] * count
    for seed in range(trials):
        reservoir = Reservoir(size, seed)
        for item in range(count):
            reservoir.offer(item)
        for item in reservoir.items:
            kept[item] += 1
    share, spread = size / count, (size / count * (1 - size / count) / trials) ** 0.5
    assert all(abs(times / trials - share) < 5 * spread for times in kept)
