"""What the log of a run says about how long and how it was trained."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from vitrail.doctor.case import Case, Finding
from vitrail.train.checkpoint import list_steps

STILL = 0.01  # how much the loss fell over the last fifth of the run, as a share, to be still falling
WORSE = 0.01  # how much worse than its best the last loss is, as a share, to be overfitted
JUMP = 1.5  # times the loss before


def still_improving(case: Case) -> Iterator[Finding]:
    """A run that ended too early."""
    losses = [(event.step, event.loss) for event in case.validations]
    if len(losses) < 4 or case.config.train.max_steps > losses[-1][0] * 1.05:
        return  # too few, or the run is not over
    last = losses[-1]
    before = next(loss for step, loss in reversed(losses) if step <= 0.8 * last[0] or step == losses[0][0])
    fall = (before - last[1]) / before
    if fall > STILL and last[1] == min(loss for _, loss in losses):
        ends = "start again with" if case.config.train.ends_at_zero else "resume with"
        yield Finding(
            f"the validation loss was still falling: by {fall:.1%} over the last fifth of {last[0]:,} steps",
            f"{ends} train.max_steps = {2 * case.config.train.max_steps:,}, or train with --minutes",
            "Popel and Bojar 2018: with much data even a large model hardly ever converges, and longer training helps",
        )


def overfitted(case: Case) -> Iterator[Finding]:
    """A run that went on after it had been best."""
    losses = [(event.loss, event.step) for event in case.validations]
    if len(losses) < 4:
        return
    best, step = min(losses)
    last, end = losses[-1]
    if last > best * (1 + WORSE) and step < 0.9 * end:
        kept = case.run is not None and step in list_steps(case.run.path)
        use = "set train.use = 'best' and resume the run" if kept else "set train.use = 'best' or train.patience = 5"
        yield Finding(
            f"the validation loss was best at step {step:,} ({best:.3f}) and is {last:.3f} at step {end:,}: the model "
            "has begun to learn the training data by heart",
            f"{use}; next time raise model.dropout ({case.config.model.dropout:g}) or give it more data",
            "Popel and Bojar 2018: about ten epochs of 16 million pairs were enough, and more did not help",
        )


def diverged(case: Case) -> Iterator[Finding]:
    """A loss that jumped up and did not come back at once: the rate is too high."""
    steps = [event for event in case.steps if event.step > case.config.train.warmup_steps]
    best = float("inf")
    for one, after in pairwise(steps):
        best = min(best, one.loss)
        if one.loss > JUMP * best and after.loss > JUMP * best:
            rate = case.config.train.peak_rate
            yield Finding(
                f"the training loss jumped from {best:.2f} to {one.loss:.2f} at step {one.step:,}",
                f"set train.peak_rate = {rate / 2:g}"
                if rate
                else "raise train.warmup_steps, which lowers the rate"
                " of the paper's schedule; or set train.clip_norm = 1.0",
                "Popel and Bojar 2018: a high rate with a short warm-up makes training diverge",
            )
            return


def slow_validation(case: Case) -> Iterator[Finding]:
    """Time that goes into measuring instead of learning."""
    clock = case.steps[-1].clock if case.steps else {}
    seconds, spent = clock.get("seconds", 0.0), clock.get("validation", 0.0)
    if seconds > 60 and spent > 0.1 * seconds:
        yield Finding(
            f"validation took {spent / seconds:.0%} of the time",
            "raise train.validate_every, or lower train.loss_sentences and train.bleu_sentences",
        )
