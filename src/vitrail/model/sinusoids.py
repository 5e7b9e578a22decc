"""Tables of sines and cosines: section 3.5 of the paper, and the two other arrangements in use.

A table depends on positions alone, so it is never saved, and it reaches any length.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

TableOf = Callable[[int], Tensor]  # how many positions -> a row for each


def angles(positions: int, pairs: int, steps: float) -> Tensor:
    """Position × 10000^(-i / steps) for i = 0 … pairs - 1: wavelengths from 2π towards 10000 · 2π."""
    # In double precision: in single precision the sine of a thousand radians is off in its fourth digit.
    position = torch.arange(positions, dtype=torch.float64)
    index = torch.arange(pairs, dtype=torch.float64)
    return position[:, None] * 10000.0 ** (-index / steps)


def interleaved_sinusoids(d_model: int, positions: int) -> Tensor:
    """The paper's table: sin, cos, sin, cos, …, the i-th pair with the angle position / 10000^(2i / d_model)."""
    angle = angles(positions, d_model // 2, d_model / 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def concatenated_sinusoids(d_model: int, positions: int) -> Tensor:
    """Tensor2Tensor's table: all sines, then all cosines, the last wavelength exactly 10000 · 2π."""
    angle = angles(positions, d_model // 2, d_model / 2 - 1)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def halved_sinusoids(d_model: int, positions: int) -> Tensor:
    """Hugging Face Marian's table: the paper's columns, all sines first, then all cosines."""
    angle = angles(positions, d_model // 2, d_model / 2)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class GrowingTable:
    """A table that grows to the longest sentence so far.

    It is not a buffer of a module: it does not belong in a saved model, and processes that train together see sentences
    of different lengths, while torch.distributed wants buffers of the same size.
    """

    def __init__(self, table_of: TableOf) -> None:
        self._table_of = table_of
        self._table = torch.empty(0)

    def rows(self, first: int, count: int, *, like: Tensor) -> Tensor:
        """The rows of `count` positions from `first` on, in the type and on the device of `like`."""
        table = self._table
        if len(table) < first + count or table.dtype != like.dtype or table.device != like.device:
            # Twice as long each time. It must be a plain tensor even if it is first needed in inference mode, because
            # nothing can be trained with a tensor that was made there.
            with torch.inference_mode(mode=False), torch.no_grad():
                length = max(64, 1 << (first + count - 1).bit_length())
                table = self._table = self._table_of(length).to(dtype=like.dtype, device=like.device)
        return table[first : first + count]
