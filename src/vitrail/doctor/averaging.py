"""How many of the newest checkpoints to average: tried on the validation data."""

from __future__ import annotations

from collections.abc import Iterator

from vitrail.doctor.case import Case, Finding
from vitrail.folder import WEIGHTS, refuse_other_shapes
from vitrail.train.checkpoint import EMA, average_weights, checkpoint_path, list_steps
from vitrail.train.validation import Validator

TRIED = (1, 4, 8)
WORTH = 0.002  # of the loss, as a share


def best_average(case: Case) -> Iterator[Finding]:
    """Averages of 1, 4 and 8 checkpoints, as far as they are there, against what the run uses."""
    if case.run is None or case.prepared is None or not case.prepared.validation:
        return
    known = list_steps(case.run.path)
    counts = sorted({min(count, len(known)) for count in TRIED} - {0})
    if len(counts) < 2:
        return
    for step in known[-counts[-1] :]:
        refuse_other_shapes(case.run.shapes(), checkpoint_path(case.run.path, step) / WEIGHTS)
    config = case.config.train.model_copy(update={"bleu_sentences": 0, "samples": 0})
    validator, model = Validator(case.prepared, config), case.run.new_model()

    def loss_of(steps: list[int], file: str) -> float:
        model.load_state_dict(average_weights(case.run.path, steps, file=file))  # type: ignore[union-attr]
        found = validator.look(model.eval(), case.run.tokenizers)  # type: ignore[union-attr]
        assert found is not None
        return found.loss

    losses = {_last(count): loss_of(known[-count:], WEIGHTS) for count in counts}
    if case.config.train.ema is not None:
        losses["the moving average"] = loss_of(known[-1:], EMA)
    best = min(losses, key=lambda name: losses[name])
    used = _used(case, known)
    listed = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    if used in losses and losses[used] <= losses[best] * (1 + WORTH):
        return
    count = best.removeprefix("the last ")
    settings = {"the moving average": "train.use = 'ema'", "the last": "train.use = 'last'"}
    setting = settings.get(best, f"train.use = 'average' and train.average = {count}")
    yield Finding(
        f"of the checkpoints that are there, {best} has the lowest validation loss: {listed}; the run uses {used}",
        f"set {setting}, and resume the run",
        "Vaswani et al. 2017 average the last 5, for the big model 20",
    )


def _last(count: int) -> str:
    return f"the last {count}" if count > 1 else "the last"


def _used(case: Case, known: list[int]) -> str:
    train = case.config.train
    if train.use == "average":
        return _last(min(train.average, len(known)))
    return {"ema": "the moving average", "last": "the last", "best": "the best"}[train.use]
