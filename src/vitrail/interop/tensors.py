"""The weights of a Marian folder: names and shapes first, without reading or allocating any; then the values."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vitrail.errors import FolderError
from vitrail.interop.names import TABLES
from vitrail.storage import regular
from vitrail.weights import Shape, read_weights, stored_shapes

if TYPE_CHECKING:
    from torch import Tensor

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
MOST = 1 << 33  # bytes; the largest Marian models have a billion
_AGAIN = "download the whole folder again"


@dataclass(frozen=True)
class Stored:
    """A file of weights, and what it says it holds."""

    path: Path
    shapes: dict[str, Shape]

    @classmethod
    def of(cls, folder: Path) -> Stored:
        """The safetensors file if there is one, else the .bin."""
        path = folder / (SAFE if (folder / SAFE).exists() else PICKLED)
        if not path.exists():
            raise FolderError(
                f"this model has neither {SAFE} nor {PICKLED}", where=str(folder), fix="download the whole folder"
            )
        try:
            size = regular(path, most=MOST).stat().st_size
        except OSError as error:
            raise _unreadable(path, error.strerror or str(error)) from None
        return cls(path, stored_shapes(path) if path.name == SAFE else _pickled_shapes(path, size))

    def read(self) -> dict[str, Tensor]:
        """The values, in float32. Call it once the shapes are known to be right: it takes memory for them."""
        if self.path.name == SAFE:
            return read_weights(self.path)
        return {name: value.float() for name, value in _load(self.path).items()}


def _pickled_shapes(path: Path, size: int) -> dict[str, Shape]:
    """The shapes in a file that torch wrote: it is read with tensors that have no values."""
    from torch import Tensor
    from torch._subclasses.fake_tensor import FakeTensorMode

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > size:
                    raise _unreadable(path, "torch does not compress what it writes, but this is compressed")
    with FakeTensorMode():
        found = _load(path)
    shapes: dict[str, Shape] = {}
    sizes: dict[str, int] = {}
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, Tensor) or not value.is_floating_point():
            raise _unreadable(path, f"{str(name)[:60]!r} is not a weight")
        shapes[name] = tuple(value.shape)
        sizes[name] = value.numel() * value.element_size()
        if sizes[name] > min(size, value.untyped_storage().nbytes()):
            raise _unreadable(path, f"{name[:60]!r} is larger than its part of the file")
    # Tables of embeddings may be one and the same under several names.
    tables = [sizes.pop(name, 0) for name in TABLES.values()]
    if sum(sizes.values()) + max(tables) > size:
        raise _unreadable(path, "it is too small for what it says it holds")
    return shapes


def _load(path: Path) -> dict[str, Tensor]:
    """A file that torch wrote, read by the unpickler that makes tensors and plain values and nothing else."""
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a pickle that is wrong makes of the unpickler
        raise _unreadable(path, str(error).partition("\n")[0][:200] or type(error).__name__) from None
    if not isinstance(found, dict):
        raise _unreadable(path, "it does not hold weights by name")
    return found


def _unreadable(path: Path, why: str) -> FolderError:
    return FolderError(f"cannot read these weights: {why}", where=str(path), fix=_AGAIN)
