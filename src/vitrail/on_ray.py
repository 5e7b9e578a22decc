"""A stream of translations, computed on a Ray cluster: shards of lines go out, their translations come back in order.

Ray Data runs a task for each shard wherever a core is free, and again elsewhere if its worker is lost. A worker process
keeps the model that it has loaded. The driver reads the lines, so only the model has to be on every computer.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Unpack

from vitrail.box import BUILTIN, PLACE
from vitrail.config import DecodeConfig
from vitrail.data.arriving import fixed_chunks
from vitrail.errors import FolderError, VitrailError
from vitrail.folder import ModelFolder
from vitrail.translation import Translation
from vitrail.translator import CHUNK, Demands, Report, Translator, load

_WINDOW = 64  # shards for each core that are on their way together: this bounds the memory


@dataclass(frozen=True)
class Work:
    """What a worker has to know besides the lines."""

    models: tuple[str, ...]  # paths that mean the same on every computer of the cluster, or "builtin"
    fingerprints: tuple[str, ...]  # of these models
    threads: int
    decode: DecodeConfig
    demands: Demands

    def translate(self, lines: Sequence[str]) -> list[Translation]:
        """The translations of a shard."""
        translator = _loaded(self.models, self.threads)
        if _fingerprints(translator) != self.fingerprints:
            raise FolderError(
                "a computer of the cluster has another model here",
                where=", ".join(self.models),
                fix="use a shared disk, or copy the same folder to every computer",
            )
        return list(translator.stream(lines, decode=self.decode, chunk=len(lines), **self.demands))

    def of_row(self, row: dict[str, Any]) -> dict[str, Any]:
        """A worker's task: one shard, whose translations, or the user's error that stopped it, are pickled."""
        try:
            found: object = self.translate(row["lines"])
        except VitrailError as error:
            found = error
        return {"number": row["number"], "found": pickle.dumps(found)}


def stream_on_ray(
    translator: Translator,
    lines: Iterable[str],
    *,
    decode: DecodeConfig | None = None,
    report: Report | None = None,
    **demands: Unpack[Demands],
) -> Iterator[Translation]:
    """`Translator.stream` on a cluster: the one that RAY_ADDRESS names, or one that runs here, or a new one here.

    Each task takes as many cores as the translator, or one if it was loaded without a number.
    """
    work = Work(
        tuple(BUILTIN if folder.path == PLACE else str(folder.path.absolute()) for folder in _folders(translator)),
        _fingerprints(translator),
        translator.runtime.threads or 1,
        decode or translator.config,
        {**demands, "to": translator.asked_language(demands.get("to"))},
    )
    with _cluster() as cores:
        done = 0
        for window in _windows(lines, max(1, cores // work.threads) * _WINDOW):
            for translations in _on_cluster(work, window):
                yield from translations
                done += len(translations)
                if report is not None:
                    report("translating", done, None)


def _on_cluster(work: Work, shards: list[list[str]]) -> Iterator[list[Translation]]:
    """The translations of each shard, in order."""
    import ray

    rows = [{"number": number, "lines": lines} for number, lines in enumerate(shards)]
    dataset = ray.data.from_items(rows, override_num_blocks=len(rows)).map(work.of_row, num_cpus=work.threads)
    dataset.context.execution_options.preserve_order = True
    dataset.context.enable_progress_bars = False
    for number, row in enumerate(_explained(dataset.iter_rows())):
        found = pickle.loads(row["found"])  # from our own workers
        if isinstance(found, VitrailError):
            raise found
        assert row["number"] == number and len(found) == len(shards[number])
        yield found
    assert number + 1 == len(shards)


def _windows(lines: Iterable[str], size: int) -> Iterator[list[list[str]]]:
    """Shards of lines, `size` of them at a time. An error comes after the lines before it."""
    shards = fixed_chunks(lines, CHUNK)
    failed: list[Exception] = []

    def held() -> Iterator[list[str]]:
        try:
            yield from shards
        except Exception as error:
            failed.append(error)

    remaining = held()
    while window := list(islice(remaining, size)):
        yield window
    if failed:
        raise failed[0]


@contextmanager
def _cluster() -> Iterator[int]:
    """Connect to the cluster; how many cores it has."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that is started here reports to nobody
    os.environ.setdefault("RAY_DATA_LOG_LEVEL", "ERROR")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.data
    except ImportError:
        raise VitrailError(
            "Ray is not installed", where="--ray", fix="install it: pip install 'vitrail[ray]'"
        ) from None
    if ray.is_initialized():  # by the program that uses this
        yield _cores()
        return
    _check_address()
    ended_by = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreachable(str(error).splitlines()[0]) from error
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, ended_by)  # Ray has put its own handler there
    try:
        yield _cores()
    finally:
        ray.shutdown()


def _cores() -> int:
    import ray

    resources: Any = ray.cluster_resources  # without types
    return int(resources().get("CPU", 1))


def _check_address() -> None:
    """Fail at once if nobody answers at RAY_ADDRESS: Ray itself tries for minutes."""
    host, _, port = os.environ.get("RAY_ADDRESS", "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise _unreachable(error.strerror or str(error)) from None


def _unreachable(why: str) -> VitrailError:
    return VitrailError(
        f"cannot reach the Ray cluster: {why}",
        where=f"RAY_ADDRESS={os.environ.get('RAY_ADDRESS', '')}",
        fix="correct it, or leave it unset to use this computer",
    )


def _explained(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows as they come. What Ray cannot mend is an error for the user."""
    from ray.exceptions import RayError

    try:
        yield from rows
    except RayError as error:
        raise VitrailError(
            f"the cluster could not finish a shard: {type(error).__name__}: {str(error).splitlines()[0]}",
            where="--ray",
            fix="look at the cluster's logs, then run the same command with --resume",
        ) from error


@lru_cache(maxsize=1)
def _loaded(models: tuple[str, ...], threads: int) -> Translator:
    return load(models[0], threads=threads, ensemble=models[1:])


def _folders(translator: Translator) -> list[ModelFolder]:
    """Where the model comes from, and with an ensemble the others."""
    runtimes = (translator.runtime, *translator.runtime.others)
    return [runtime.folder for runtime in runtimes if runtime.folder is not None]


def _fingerprints(translator: Translator) -> tuple[str, ...]:
    return tuple(folder.fingerprint for folder in _folders(translator))
