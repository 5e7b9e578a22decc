"""Choose the batch size for `train.batch_tokens = "auto"` from the free memory, and explain it when memory runs out.

A step keeps, in numbers of four bytes:
  fixed      parameters × (weights, gradients, 2 for Adam, 1 for a moving average, 1 for peers' gradients)
             + for each thread: parameters, for its own gradient before it is added, and
             2 × vocabulary × the tokens whose logits are held at a time (objective.py)
  per token  encoder_layers × (18 d_model + 2 d_ff) + decoder_layers × (26 d_model + 2 d_ff),
             and if attention weights are kept, 16 × heads × the longest row for each attention
R-Drop sees every token twice.
The factors cover the resident memory that steps of `tiny`, `small` and `base` took on a CPU; tests hold
what autograd keeps below them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from vitrail.config import POSITIONS, Config, ModelConfig, TrainConfig
from vitrail.data import Batch
from vitrail.errors import TrainingError, is_shortage
from vitrail.train.objective import rows_at_a_time
from vitrail.train.peers import Peers

LEAST, MOST = 512, 65_536
UNKNOWN = 4096  # if the system does not report its free memory
NUMBER = 4  # bytes


def batch_tokens_for(
    config: Config,
    *,
    parameters: int,
    vocabulary: int,
    free: int | None,
    peers: Peers,
    threads: int = 1,
    is_shared: bool = True,
) -> int:
    """The largest power of two, within bounds, whose batches fit into half of the free memory.

    The processes of a computer share its memory; each GPU has its own.
    """
    if free is None:
        return UNKNOWN
    looks = 2 if config.train.r_drop else 1
    copies = 4 + (config.train.ema is not None) + (peers.count > 1)
    logits = 2 * looks * rows_at_a_time(vocabulary) * vocabulary
    fixed = NUMBER * (copies * parameters + threads * (parameters + logits))
    per_token = NUMBER * looks * _kept(config.model, longest=config.data.max_length + 2)
    sharing = peers.local_count if is_shared else 1
    fitting = int((free / 2 - sharing * fixed) / per_token * peers.count / sharing)
    return min(MOST, max(LEAST, 1 << max(0, fitting.bit_length() - 1) if fitting > 0 else 0))


def _kept(model: ModelConfig, *, longest: int) -> int:
    """How many numbers one source token and one target token keep for the backward pass."""
    layers = model.encoder_layers * (18 * model.d_model + 2 * model.d_ff)
    layers += model.decoder_layers * (26 * model.d_model + 2 * model.d_ff)
    if not model.attention_dropout and not POSITIONS[model.positions].keeps_weights:
        return layers  # the fused kernel keeps no weights
    return layers + 16 * model.heads * longest * (model.encoder_layers + 2 * model.decoder_layers)


def free_memory(device: torch.device) -> int | None:
    """The free bytes of a device; on the CPU, at most what the container allows. None if unknown."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    known = [memory for memory in (_of_the_system(), _of_the_container()) if memory is not None]
    return min(known, default=None)


def _of_the_system() -> int | None:
    table = _read(Path("/proc/meminfo"))
    if table is not None:
        lines = dict(line.split(":", 1) for line in table.splitlines() if ":" in line)
        if "MemAvailable" in lines:
            return int(lines["MemAvailable"].split()[0]) * 1024
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # a guess: what is in use is unknown
    except (AttributeError, ValueError, OSError):
        return None


def _of_the_container() -> int | None:
    """The free memory of our Linux control group and its parents, version 2 or 1.

    Inactive file cache counts as free.
    """
    ours = [line.split(":", 2) for line in (_read(Path("/proc/self/cgroup")) or "").splitlines() if line.count(":") > 1]
    found = []
    for root, controller, limit, used, held in (
        (Path("/sys/fs/cgroup"), "", "memory.max", "memory.current", "inactive_file"),
        (
            Path("/sys/fs/cgroup/memory"),
            "memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ):
        group = next((name for _, kinds, name in ours if controller in kinds.split(",")), "/")
        own = root / group.lstrip("/")
        for folder in (own, *(above for above in own.parents if above.is_relative_to(root))):
            most, now = _read(folder / limit), _read(folder / used)
            if most is not None and now is not None and most.strip().isdigit():
                lines = (_read(folder / "memory.stat") or "").splitlines()
                table = dict(line.split(" ", 1) for line in lines if " " in line)
                found.append(max(0, int(most) - int(now) + int(table.get(held, 0))))
    return min(found, default=None)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


@contextmanager
def explained_shortage(batches: Sequence[Batch], config: TrainConfig, origin: str) -> Iterator[None]:
    """If memory runs out, raise an error that names the batch and the settings to change."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_shortage(error):
            raise
        largest = max(batches, key=lambda batch: batch.source_BS.size + batch.target_BT.size)
        pairs, source, target = largest.pairs, largest.source_BS.shape[1], largest.target_BT.shape[1]
        assert config.batch_tokens != "auto", "a run's settings hold the resolved number"
        half = max(1, config.batch_tokens // 2)
        other = (
            f"train.batch_tokens = {half} and train.accumulate = {2 * config.accumulate}, which does the same in "
            "more and smaller parts"
            if pairs > 1
            else f"a data.max_length below {max(source, target)}, which skips such pairs, or a smaller model"
        )
        raise TrainingError(
            f"not enough memory for a batch of {pairs} pairs, {source} and {target} tokens long",
            where=origin,
            fix=f"free some memory and run the same command again; or choose another --out, with {other}",
        ) from error
