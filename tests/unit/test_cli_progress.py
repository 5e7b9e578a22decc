"""The progress of a translation fits a terminal of 80 columns, with total, rate and time left."""

import io

import pytest
from rich.console import Console

from vitrail.cli import progress as module
from vitrail.cli.progress import LineProgress


def shown(monkeypatch, *, done, total, rate, width):
    """The bar as it is drawn after a million lines (or the last one) at this rate."""
    clock = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    progress = LineProgress(done, total)
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)
    progress.bar.disable, progress.on_terminal = False, True
    clock[0] += 1 / rate
    progress.translated(done + 1)
    console.print(progress.bar.get_renderable())
    return console.file.getvalue()


@pytest.mark.parametrize("total", [1, 30, 99_999, 9_999_999, 99_999_999, None])
@pytest.mark.parametrize("rate", [0.2, 35, 4567.8])
def test_the_bar_fits_80_columns_with_everything_on_it(monkeypatch, total, rate):
    drawn = shown(monkeypatch, done=(total or 12_345_679) // 2, total=total, rate=rate, width=80)
    assert drawn.count("\n") == 1 and len(drawn.rstrip("\n")) <= 80
    assert "lines/s" in drawn and "━" in drawn and "…" not in drawn
    if total is not None:
        assert f"/{total:,}" in drawn and " left" in drawn


def test_time_left_counts_only_what_this_command_did(monkeypatch):
    drawn = shown(monkeypatch, done=999, total=1100, rate=1, width=80)
    assert "1,000/1,100  1.0 lines/s  1:40 left" in drawn


def test_elsewhere_it_is_a_line_every_ten_seconds(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with LineProgress(0, 250) as progress:
        for number in range(250):
            clock[0] += 0.125
            progress.translated(number + 1)
        progress.finished()
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "translating: 80/250, 8.0 lines/s, 0:21 left"
    assert len(lines) == 4
    assert lines[-1] == "translated 250 lines in 0:31, 8.0 lines/s"


def test_nothing_is_shown_if_nobody_asked(monkeypatch, capsys):
    with LineProgress(0, 2, is_shown=False) as progress:
        progress.translated(2)
        progress.finished()
    assert capsys.readouterr().err == ""
