"""What a worker computes: translations, translations token by token, traces and weights."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from vitrail.config import DecodeConfig, change_settings
from vitrail.errors import DecodeError, FolderError, TextError
from vitrail.folder import CONFIG, WEIGHTS, ModelFolder
from vitrail.glossary import Glossary
from vitrail.runtime import Job
from vitrail.serve.shelf import Stamp, stamp_of
from vitrail.text.restriction import Restriction

if TYPE_CHECKING:
    from vitrail.serve.recent import Recent
    from vitrail.translator import Translator

MAX_TOKENS = 256  # of a sentence: a trace grows with the square of its length
MOST = {"beam_size": 64, "top_beams": 64, "max_extra": 256}  # for one request: time and memory grow with them
MOST_WITH_TERMS = {**MOST, "beam_size": 8, "top_beams": 8}  # there is a beam for each number of a term's tokens

Emit = Callable[[dict[str, Any]], None]
Answer = tuple[Any, bytes]  # as JSON, and beside it what is large


@dataclass(frozen=True)
class _Held:
    """A translator, and the stamp of its folder when it was loaded."""

    stamp: Stamp
    translator: Translator


class Bench:
    """A worker's models and the last traces it made."""

    def __init__(self, kept: int, threads: int | None) -> None:
        self.kept = kept
        self.threads = threads
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._usual = _memory()

    def do(self, job: dict[str, Any], emit: Emit) -> Answer:
        """Do one job. `emit` sends a part of its result ahead."""
        if job["task"] == "inside":
            return self.inside(job)
        if job["task"] == "run":
            return run(job)
        translator = self.translator(Path(job["path"]), tuple(job["stamp"]))
        tasks = {"translate": translate, "stream": stream, "trace": self.trace, "weights": weights}
        return tasks[job["task"]](translator, job, emit)

    def translator(self, path: Path, stamp: Stamp) -> Translator:
        """The model in a folder, loaded again if the stamp is a new one."""
        held = self._held.get(str(path))
        if held is None or held.stamp != stamp:
            self._held.pop(str(path), None)  # free it first: there may not be room for two
            while len(self._held) >= self.kept:
                self._held.popitem(last=False)
            before = _memory()
            held = _Held(stamp, _load(path, self.threads))
            self._usual += max(0, _memory() - before)
        self._held[str(path)] = held
        self._held.move_to_end(str(path))
        return held.translator

    @cached_property
    def recent(self) -> Recent:
        """The last traces; there are none in a worker without torch."""
        from vitrail.serve.recent import Recent

        return Recent()

    def grown(self) -> int:
        """How many bytes this process has grown by, not counting its models."""
        return max(0, _memory() - self._usual)

    def trace(self, translator: Translator, job: dict[str, Any], emit: Emit) -> Answer:
        """Everything that led to a translation. Of a large trace, the inside of some layers stays here."""
        _refuse_replaced(translator, job)
        row = translator.tokenizers.encode_source(job["text"], job["to"] if translator.languages else None)
        limit = min(MAX_TOKENS, translator.model.max_positions or MAX_TOKENS)
        if len(row) > limit:
            raise TextError(
                f"the sentence has {len(row):,} tokens; a trace can have at most {limit:,}",
                where="the sentence",
                fix="shorten it",
            )
        recorded = translator.trace(
            job["text"],
            to=job["to"] if translator.languages else None,
            decode=_settings(translator, job["decode"]),
            prefix=job["prefix"],
            heads_off=job["heads_off"],
            reference=job["reference"] or None,
        )
        return None, self.recent.send(recorded, keeps=job["keeps"]).to_json().encode("utf-8")

    def inside(self, job: dict[str, Any]) -> Answer:
        """The arrays of a layer that were not sent with a trace."""
        from vitrail.trace.format import encode_array

        found = self.recent.inside(job["trace"], job["layer"])
        return {name: encode_array(array) for name, array in found.items()}, b""


def run(job: dict[str, Any]) -> Answer:
    """How the training run in a folder is going."""
    from vitrail.serve.following import run_state

    return run_state(Path(job["path"]), job["since"]), b""


def translate(translator: Translator, job: dict[str, Any], emit: Emit) -> Answer:
    """Translations of sentences, and how long they took, without loading the model."""
    began = perf_counter()
    terms, words = job["glossary"], job["restrict"]
    found = translator.translate(
        job["texts"],
        to=job["to"],
        decode=_settings(translator, job["decode"], MOST if terms is None else MOST_WITH_TERMS),
        prefix=job["prefix"],
        align=job["align"],
        glossary=None if terms is None else Glossary.of(dict(terms["entries"])),
        restrict=None if words is None else Restriction(**words),
        on_unknown="skip",
    )
    return {"translations": [one.to_dict() for one in found], "seconds": perf_counter() - began}, b""


def stream(translator: Translator, job: dict[str, Any], emit: Emit) -> Answer:
    """One sentence's translation, whose newest tokens are sent ahead at every step of a greedy search."""
    from vitrail.serve.stepwise import Stepwise

    _refuse_replaced(translator, job)
    config = _settings(translator, {**job["decode"], "beam_size": 1, "top_beams": 1, "shortlist": False})
    _, found = translator.search(
        job["text"],
        to=job["to"],
        decode=config,
        prefix=job["prefix"],
        listener=Stepwise(translator.tokenizers, emit),
    )
    ids = found[0].ids
    return {
        "text": translator.tokenizers.decode(ids),
        "tokens": translator.tokenizers.tokens(ids),
        "score": found[0].score,
    }, b""


def weights(translator: Translator, job: dict[str, Any], emit: Emit) -> Answer:
    """The weights of a layer."""
    from vitrail.trace import layer_weights
    from vitrail.trace.format import encode_array

    _refuse_replaced(translator, job)
    found = layer_weights(translator.model, job["layer"])
    return {name: encode_array(array) for name, array in found.items()}, b""


def _settings(translator: Translator, changes: dict[str, Any], limits: dict[str, int] = MOST) -> DecodeConfig:
    for name, most in limits.items():
        if isinstance(changes.get(name), int | float) and changes[name] > most:
            raise DecodeError(
                f"{name} = {changes[name]}: at most {most} is possible here",
                where="the search settings",
                fix=f"choose {most} or less",
            )
    return change_settings(translator.config, changes)


def _refuse_replaced(translator: Translator, job: dict[str, Any]) -> None:
    """Raise an error instead of reading weights that belong to another model than the vocabulary in memory."""
    if "model" not in translator.runtime.__dict__ and stamp_of(Path(job["path"])) != tuple(job["stamp"]):
        raise FolderError(
            "the model's folder has been replaced", where=job["path"], fix="tell the server to read it: send it SIGHUP"
        )


def _load(path: Path, threads: int | None) -> Translator:
    """Load the translator in a folder. If a run has saved no weights yet, build the untrained model it began with."""
    from vitrail.translator import Translator, load

    if (path / WEIGHTS).exists():
        translator = load(path, threads=threads)
        _warm_up(translator)
        return translator
    import torch

    from vitrail.runtime import Runtime
    from vitrail.train.budget import NUMBER, free_memory

    folder = ModelFolder.open(path)
    needed, free = NUMBER * sum(map(prod, folder.shapes().values())), free_memory(torch.device("cpu"))
    if free is not None and needed > free:
        raise FolderError(
            f"an untrained model with these settings needs {needed / 1e9:,.1f} GB; {free / 1e9:,.1f} GB are free",
            where=str(path / CONFIG),
            fix="choose a smaller model",
        )
    torch.manual_seed(folder.config.train.seed)
    untrained = Runtime.of_model(folder.new_model().eval(), threads=threads)
    return Translator(untrained, folder.tokenizers, folder.config.decode, folder=folder)


def _warm_up(translator: Translator) -> None:
    """Read the weights now: the folder may be replaced before the first job."""
    to = translator.languages[0] if translator.languages else None
    row = translator.tokenizers.encode_source("", to)
    translator.runtime.search(Job([row], translator.config, translator.tokenizers.forbidden))


def _memory() -> int:
    """The memory of this process, in bytes; 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGESIZE")
