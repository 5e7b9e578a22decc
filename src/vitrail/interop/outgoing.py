"""A Vitrail model for other programs: which targets there are, and what they cannot express."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vitrail.errors import ConfigError, FolderError, did_you_mean
from vitrail.folder import ModelFolder
from vitrail.interop import to_ctranslate2, to_marian, to_onnx
from vitrail.interop.incoming import refuse_occupied
from vitrail.storage import new_folder


class Write(Protocol):
    """How a target is written."""

    def __call__(self, folder: ModelFolder, out: Path, *, quantization: str) -> None:
        """Write the model into the folder `out`, which exists."""


@dataclass(frozen=True)
class Target:
    """A format that models are exported to."""

    quantizations: tuple[str, ...]  # the first one is the default
    why_not: Callable[[ModelFolder], str | None]
    write: Write


TARGETS = {
    "marian": Target(to_marian.QUANTIZATIONS, to_marian.why_not, to_marian.write),
    "ctranslate2": Target(to_ctranslate2.QUANTIZATIONS, to_ctranslate2.why_not, to_ctranslate2.write),
    "onnx": Target(to_onnx.QUANTIZATIONS, to_onnx.why_not, to_onnx.write),
}


def export_model(folder: ModelFolder, target: str, out: Path, *, quantization: str | None = None) -> None:
    """Write a model into the new folder `out`, in the format of a target. What that cannot express is refused."""
    if target not in TARGETS:
        fix = did_you_mean(target, TARGETS) or f"choose one of: {', '.join(TARGETS)}"
        raise ConfigError(f"models cannot be exported to '{target}'", where="--to", fix=fix)
    to = TARGETS[target]
    wanted = quantization or to.quantizations[0]
    if wanted not in to.quantizations:
        raise ConfigError(
            f"'{target}' cannot be written in {wanted}",
            where="--quantization",
            fix=f"choose one of: {', '.join(to.quantizations)}",
        )
    folder.refuse_without_weights()
    reason = to.why_not(folder)
    if reason is not None:
        raise FolderError(
            f"this model cannot be exported to '{target}': {reason}",
            where=str(folder.path),
            fix="choose another target, or train a model that it can express (docs/interop.md)",
        )
    refuse_occupied(out)
    with new_folder(out) as partial:
        to.write(folder, partial, quantization=wanted)
