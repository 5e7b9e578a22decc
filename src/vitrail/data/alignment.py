"""Two parallel files with different line counts: find the line where they go out of step."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vitrail.data.reading import read_lines
from vitrail.errors import DataError

_SMOOTH = 5.0  # characters added to both lengths, so that "yes" beside "oui" does not look like a mismatch
_WORST = 1.5  # the most that one pair of lines adds to the misfit


def misaligned(source: Path, target: Path) -> DataError:
    """The error for two files of different lengths: both line counts, and where to look."""
    source_lengths, target_lengths = _lengths(source), _lengths(target)
    for path, lengths in ((source, source_lengths), (target, target_lengths)):
        if not len(lengths):
            return empty(path)
    counts = f"{source.name} has {len(source_lengths):,} lines, {target.name} has {len(target_lengths):,}"
    shorter, longer = sorted((source_lengths, target_lengths), key=len)
    short_name, long_name = (source, target) if shorter is source_lengths else (target, source)
    parting = parting_line(longer, shorter)
    if parting > len(shorter):
        guess = f"{short_name.name} seems to be cut off: the files match up to its last line, {len(shorter):,}"
    else:
        guess = (
            f"they seem to diverge near line {parting:,}: {long_name.name} has lines there that {short_name.name} lacks"
        )
    return DataError(f"the files are not aligned line by line: {counts}", where=f"{source}, {target}", fix=guess)


def empty(path: Path) -> DataError:
    """The error for an empty file."""
    return DataError("the file is empty", where=str(path), fix="give a file with one sentence per line")


def parting_line(longer: NDArray[np.float32], shorter: NDArray[np.float32]) -> int:
    """The line, counted from 1, at which the missing lines most likely belong, if all are missing in one place.

    A sentence and its translation have similar lengths. Every place is tried: lines before it are compared with the
    line of the same number, later ones with the line shifted by the number of missing lines.
    """
    missing, common = len(longer) - len(shorter), len(shorter)
    usual = np.log((longer.mean() + _SMOOTH) / (shorter.mean() + _SMOOTH))
    before = np.cumsum(_misfit(longer[:common], shorter, usual), dtype=np.float64)
    after = np.cumsum(_misfit(longer[missing:], shorter, usual)[::-1], dtype=np.float64)[::-1]
    total = np.concatenate(([0.0], before)) + np.concatenate((after, [0.0]))
    # On a tie, take the last place: the lines before it fit just as well.
    return int(common - np.argmin(total[::-1])) + 1


def _misfit(longer: NDArray[np.float32], shorter: NDArray[np.float32], usual: float) -> NDArray[np.float32]:
    """How far the length ratio of two lines is from the usual one."""
    odd = np.abs(np.log((longer + _SMOOTH) / (shorter + _SMOOTH)) - usual)
    # An empty line matches only an empty line.
    odd[(longer == 0) != (shorter == 0)] = _WORST
    return np.minimum(odd, _WORST)


def _lengths(path: Path) -> NDArray[np.float32]:
    found = array("f", (0.0 if line is None else float(len(line.strip())) for line in read_lines(path)))
    return np.frombuffer(found, dtype=np.float32)
