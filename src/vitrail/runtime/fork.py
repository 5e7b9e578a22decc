"""A process that has loaded a model and then forks: in the child, the threads of its engines do not exist.

The child's first translation loads its engines again. The parent's must not even be destroyed there, because that waits
for their threads. multiprocessing (start method "fork") and servers that load before they fork need this.
"""

from __future__ import annotations

import ctypes
import os
import sys


class Birthplace:
    """The process that loaded something."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def was_left(self) -> bool:
        """Whether this is a forked child; from then on it counts as at home here."""
        if self._process == os.getpid():
            return False
        self._process = os.getpid()
        if "torch" in sys.modules:
            import torch

            # The pool of threads behind torch's operations is gone as well: with one, it is never asked.
            torch.set_num_threads(1)
        return True


def never_destroy(thing: object) -> None:
    """Keep an object for as long as the process lives, and do not clean up after it at the end either."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
