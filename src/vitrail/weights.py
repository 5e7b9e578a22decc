"""Weights in a file: as they are, or packed into fewer bits. Whoever reads them gets float32.

float16: every tensor `name` in half precision. int8: a matrix `name` as whole numbers from -127 to 127, beside it
`name.scale`, a float32 for each of its rows that they are to be multiplied by; what is no matrix stays as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vitrail.errors import FolderError

if TYPE_CHECKING:
    from torch import Tensor

Precision = Literal["float32", "float16", "int8"]
SCALE = ".scale"
RESTORE = "copy the whole folder again from where it was whole; files of two models cannot be mixed"

_LARGEST = 127  # -128 is left out, so that a row and its negative are packed alike


def pack(tensors: dict[str, Tensor], precision: Precision) -> dict[str, Tensor]:
    """Weights as a file is to hold them. One that the precision cannot hold is refused by name."""
    packed: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if precision == "int8" and value.dim() == 2:
            packed[name], packed[name + SCALE] = _whole_numbers(value.float())
        else:
            packed[name] = value.half() if precision == "float16" else value.float()
    for name, value in packed.items():
        if value.is_floating_point() and not value.isfinite().all():
            raise FolderError(
                f"{precision} cannot hold all numbers of '{name}'",
                where="the weights",
                fix="keep them in float32; if they are not finite there either, train again with a smaller peak_rate",
            )
    return packed


def unpack(tensors: dict[str, Tensor], *, where: str) -> dict[str, Tensor]:
    """The same weights in float32; `where` is the file that they come from."""
    import torch

    packed = {name for name, value in tensors.items() if value.dtype == torch.int8}
    found: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in packed:
            continue  # it was used with its matrix
        scale = tensors.get(name + SCALE)
        if value.is_floating_point():
            found[name] = value.float()
        elif name in packed and value.dim() == 2 and scale is not None and scale.shape == value.shape[:1]:
            found[name] = value.float() * scale.float().unsqueeze(1)
        else:
            kind = str(value.dtype).removeprefix("torch.")
            raise FolderError(f"'{name}' is {kind} without a scale for each row", where=where, fix=RESTORE)
    return found


def read_weights(path: Path) -> dict[str, Tensor]:
    """A file's weights in float32, however they are stored."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise FolderError(f"these weights cannot be read: {error}", where=str(path), fix=RESTORE) from error
    return unpack(tensors, where=str(path))


def stored_precision(path: Path) -> Precision:
    """The fewest bits that any of a file's weights are stored in."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        kinds = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118  (it is no dictionary)
    return "int8" if "I8" in kinds else "float16" if "F16" in kinds else "float32"


def _whole_numbers(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as whole numbers, and what each of its rows is to be multiplied by: off by half a step at most."""
    import torch

    largest = matrix.abs().amax(dim=1)
    scale = (largest / _LARGEST).clamp(min=torch.finfo(torch.float32).tiny)  # a row of zeros
    return (matrix / scale.unsqueeze(1)).round().to(torch.int8), scale
