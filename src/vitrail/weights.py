"""Weights in a file: as they are, or packed into fewer bits. Readers always get float32.

float16: every tensor `name` in half precision. int8: a matrix `name` as integers from -127 to 127, and `name.scale`
with one float32 per row, by which the row is multiplied; tensors that are not matrices stay float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from vitrail.errors import FolderError
from vitrail.storage import regular

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

Precision = Literal["float32", "float16", "int8"]
SCALE = ".scale"
RESTORE = "copy the whole folder again from an intact copy; files of different models cannot be mixed"

Shape = tuple[int, ...]

_FLOATS = ("F64", "F32", "F16", "BF16")  # the types of safetensors that weights may have
_PACKED = "I8"  # and the one that needs a scale
_LARGEST = 127  # -128 is not used, so that a row and its negative pack alike


def pack(tensors: dict[str, Tensor], precision: Precision) -> dict[str, Tensor]:
    """Weights as stored in a file. A tensor that the precision cannot hold is refused by name."""
    packed: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if precision == "int8" and value.dim() == 2:
            packed[name], packed[name + SCALE] = _quantised(value.float())
        else:
            packed[name] = value.half() if precision == "float16" else value.float()
    for name, value in packed.items():
        if value.is_floating_point() and not value.isfinite().all():
            raise FolderError(
                f"{precision} cannot represent all values of '{name}'",
                where="the weights",
                fix="keep them in float32; if they are not finite there either, train again with a lower peak_rate",
            )
    return packed


def stored_shapes(path: Path) -> dict[str, Shape]:
    """The names and shapes of a file's weights, from its header. Types that weights cannot have are errors.

    safetensors itself compares the offsets in the header with the size of the file.
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
    """The same weights in float32; `where` is the file they come from."""
    import torch

    packed = {name for name, value in tensors.items() if value.dtype == torch.int8}
    found: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in packed:
            continue  # used together with its matrix
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
    """A file's weights in float32, whatever precision they are stored in."""
    stored_shapes(path)  # checks the types
    return unpack(read_tensors(path), where=str(path))


def read_arrays(path: Path) -> dict[str, NDArray[np.float32]]:
    """The same as arrays of numpy, without importing torch."""
    import numpy as np
    from safetensors import SafetensorError, safe_open

    shapes = stored_shapes(path)  # checks the types, and that what is packed has a scale
    try:
        with safe_open(regular(path), framework="numpy") as file:
            found = {name: file.get_tensor(name) for name in shapes}
            scales = {name: file.get_tensor(name + SCALE) for name, value in found.items() if value.dtype == np.int8}
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from error
    return {
        name: value.astype(np.float32) * scales[name].astype(np.float32)[:, None]
        if name in scales
        else value.astype(np.float32, copy=False)
        for name, value in found.items()
    }


def read_tensors(path: Path) -> dict[str, Tensor]:
    """A file's tensors as they are stored."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return dict(load_file(regular(path)))
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(path, error) from error


def stored_precision(path: Path) -> Precision:
    """The lowest precision among a file's weights."""
    kinds = {kind for kind, _ in _stored(path).values()}
    return "int8" if _PACKED in kinds else "float16" if "F16" in kinds else "float32"


def _stored(path: Path) -> dict[str, tuple[str, Shape]]:
    """Every tensor's type, as safetensors names it, and its shape."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(regular(path), framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118  (not a dictionary)
            return {name: (str(one.get_dtype()), tuple(one.get_shape())) for name, one in slices.items()}
    except (SafetensorError, OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> FolderError:
    reason = getattr(error, "strerror", None) or error
    return FolderError(f"cannot read these weights: {reason}", where=str(path), fix=RESTORE)


def _quantised(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as integers, and the scale of each row. The error is at most half a scale."""
    import torch

    largest = matrix.abs().amax(dim=1)
    scale = (largest / _LARGEST).clamp(min=torch.finfo(torch.float32).tiny)  # a row of zeros
    return (matrix / scale.unsqueeze(1)).round().to(torch.int8), scale
