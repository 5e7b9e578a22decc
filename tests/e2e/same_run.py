"""When two runs are the same: equal weights to the last bit, and equal logs except for the clock."""

import json


def events(out):
    """The log without the clock."""
    found = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in event.items() if key != "clock"} for event in found]


def assert_same_run(one, other):
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    assert events(one) == events(other)
    assert (one / "probes.jsonl").read_bytes() == (other / "probes.jsonl").read_bytes()
    wanted, found = (sorted((run / "checkpoints").iterdir()) for run in (one, other))
    assert [path.name for path in wanted] == [path.name for path in found]
    for ours, theirs in zip(wanted, found, strict=True):
        names = sorted(path.name for path in ours.iterdir())
        assert names == sorted(path.name for path in theirs.iterdir())
        for name in names:
            if name.endswith(".safetensors"):
                assert (ours / name).read_bytes() == (theirs / name).read_bytes(), f"{ours.name}/{name}"
        assert _state(ours) == _state(theirs)


def _state(checkpoint):
    """Without the length of the log, whose times vary in their number of digits."""
    state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    return {key: value for key, value in state.items() if key != "log_bytes"}
