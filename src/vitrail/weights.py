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

Shape = tuple[int, ...]

_FLOATS = ("F64", "F32", "F16", "BF16")  # of all that safetensors knows, what weights may be stored as, beside …
_PACKED = "I8"
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


def stored_shapes(path: Path) -> dict[str, Shape]:
    """The names and shapes of a file's weights, before any of them is read; types that weights cannot have are refused.

    The file is as large as it says: safetensors compares that when it opens one.
    """
    found = _stored(path)
    shapes: dict[str, Shape] = {}
    for name, (kind, shape) in found.items():
        if name.endswith(SCALE) and found.get(name.removesuffix(SCALE), ("", ()))[0] == _PACKED:
            continue
        scale_kind, scale_shape = found.get(name + SCALE, ("", ()))
        has_scale = len(shape) == 2 and scale_kind in _FLOATS and scale_shape == shape[:1]
        if kind not in _FLOATS and not (kind == _PACKED and has_scale):
            raise FolderError(_without_scale(name, kind), where=str(path), fix=RESTORE)
        shapes[name] = shape
    return shapes


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
            raise FolderError(_without_scale(name, kind), where=where, fix=RESTORE)
    return found


def _without_scale(name: str, kind: str) -> str:
    return f"'{name}' is {kind.lower()} without a scale for each row"


def read_weights(path: Path) -> dict[str, Tensor]:
    """A file's weights in float32, however they are stored."""
    stored_shapes(path)  # for its types
    return unpack(read_tensors(path), where=str(path))


def read_tensors(path: Path) -> dict[str, Tensor]:
    """A file's tensors as they are."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(path))
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from error


def stored_precision(path: Path) -> Precision:
    """The fewest bits that any of a file's weights are stored in."""
    kinds = {kind for kind, _ in _stored(path).values()}
    return "int8" if _PACKED in kinds else "float16" if "F16" in kinds else "float32"


def _stored(path: Path) -> dict[str, tuple[str, Shape]]:
    """Every tensor's type, as safetensors writes it, and its shape."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  (it is no dictionary)
            return {name: (str(one.get_dtype()), tuple(one.get_shape())) for name, one in slices.items()}
    except (SafetensorError, OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> FolderError:
    return FolderError(f"these weights cannot be read: {error}", where=str(path), fix=RESTORE)


def _whole_numbers(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as whole numbers, and what each of its rows is to be multiplied by: off by half a step at most."""
    import torch

    largest = matrix.abs().amax(dim=1)
    scale = (largest / _LARGEST).clamp(min=torch.finfo(torch.float32).tiny)  # a row of zeros
    return (matrix / scale.unsqueeze(1)).round().to(torch.int8), scale
