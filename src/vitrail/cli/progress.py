"""Progress on standard error: a bar with rate and time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

if TYPE_CHECKING:
    from vitrail.train.events import StepDone, Validated

SECONDS_BETWEEN_LINES = 10.0


class Progressing:
    """A bar, or lines, for countable work."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.on_terminal = self.console.is_terminal
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=4)),  # what the text leaves
            TextColumn("{task.fields[status]}"),
            *self._last_column(),
            console=self.console,
            disable=not self.on_terminal,
            expand=True,
            redirect_stdout=False,  # results go there
        )
        self.tasks: dict[str, TaskID] = {}
        self.last_line = 0.0

    def _last_column(self) -> tuple[ProgressColumn, ...]:
        return (TimeRemainingColumn(compact=True),)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.bar.stop()

    def working(self, what: str, done: int, total: int | None) -> None:
        """Show how much work is done, and of how much if the total is known."""
        if what not in self.tasks:
            self.tasks[what] = self.bar.add_task(what, total=total, status="")
        status = f"{done:,}/{total:,}" if total is not None else f"{done:,}"
        self.bar.update(self.tasks[what], completed=done, total=total, status=status)
        if not self.on_terminal and self._line_is_due(done == total):
            self.say(f"{what}: {status}")

    def say(self, text: str) -> None:
        """Print one line above the bar."""
        self.console.print(text, markup=False)

    def note(self, text: str) -> None:
        """Print a note from a training run."""
        self.say(text)

    def _line_is_due(self, is_last: bool) -> bool:
        now = time.monotonic()
        if not is_last and now - self.last_line < SECONDS_BETWEEN_LINES:
            return False
        self.last_line = now
        return True


class LineProgress(Progressing):
    """Progress of a translation: lines, lines per second, time left. Lines of an interrupted job count as done."""

    def __init__(self, done: int, total: int | None, *, is_shown: bool = True) -> None:
        super().__init__()
        self.is_shown = is_shown
        self.bar.disable |= not is_shown
        self.before = self.done = done
        self.total = total
        self.start = self.last_line = time.monotonic()
        self.task = self.bar.add_task("translating", total=total, completed=done, status=self._status("  "))

    def translated(self, done: int) -> None:
        """Show how many lines are done, at the end of a chunk: in the middle of one, the rate would be wrong."""
        self.done = done
        if not self.is_shown:
            return
        self.bar.update(self.task, completed=self.done, status=self._status("  "))
        if not self.on_terminal and self._line_is_due(False):
            self.say(f"translating: {self._status(', ')}")

    def finished(self) -> None:
        """Say how much was done, and how fast."""
        if not self.is_shown:
            return
        count, seconds = self.done - self.before, time.monotonic() - self.start
        lines = "1 line" if count == 1 else f"{count:,} lines"
        self.say(f"translated {lines} in {_minutes(seconds)}, {_rate(count, seconds)}")

    def _status(self, between: str) -> str:
        count, seconds = self.done - self.before, time.monotonic() - self.start
        of_total = f"{self.done:,}" if self.total is None else f"{self.done:,}/{self.total:,}"
        if count == 0:
            return of_total
        left = [] if self.total is None else [f"{_minutes(max(0, self.total - self.done) * seconds / count)} left"]
        return between.join([of_total, _rate(count, seconds), *left])

    def _last_column(self) -> tuple[ProgressColumn, ...]:
        return ()  # rich measures the last seconds, but lines come in chunks, one in many seconds


class TrainingProgress(Progressing):
    """Progress of a training run: step, loss, learning rate, tokens per second, time left."""

    def stepped(self, event: StepDone) -> None:
        """Show a step."""
        status = (
            f"step {event.step:,}/{event.max_steps:,}  epoch {event.epoch + 1}  loss {event.loss:.3f}  "
            f"rate {event.rate:.2e}  {event.tokens_per_second:,.0f} tokens/s"
        )
        if "training" not in self.tasks:
            for task in self.tasks.values():
                self.bar.remove_task(task)
            self.tasks["training"] = self.bar.add_task("training", total=event.max_steps, status=status)
        self.bar.update(self.tasks["training"], completed=event.step, total=event.max_steps, status=status)
        if not self.on_terminal and self._line_is_due(event.step == event.max_steps):
            self.say(f"{status}  {_minutes(event.seconds_left)} left")

    def validated(self, event: Validated) -> None:
        """Show the result of a validation, with its samples."""
        bleu = f"  BLEU {event.bleu:.1f}" if event.bleu is not None else ""
        self.say(f"step {event.step:,}: validation loss {event.loss:.3f}{bleu}{'  (best)' if event.is_best else ''}")
        for sample in event.samples:
            self.say(f"    {sample.source}\n      → {sample.translation}")


@contextmanager
def progressing() -> Iterator[Progressing]:
    """Show progress for the duration of a block."""
    with Progressing() as progress:
        yield progress


def _rate(lines: int, seconds: float) -> str:
    rate = lines / max(seconds, 1e-3)
    return f"{rate:,.0f} lines/s" if rate >= 10 else f"{rate:.1f} lines/s"


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
