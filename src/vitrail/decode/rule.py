"""What a search asks about each id: may it come next? What it depends on is not the search's business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Rule(Protocol):
    """A restriction of what translations may contain. It must depend on nothing but the ids."""

    def allowed(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        """True for every id of the vocabulary that may follow these, which begin a translation."""
