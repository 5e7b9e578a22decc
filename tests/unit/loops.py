"""An event loop for a test: in a thread, because a browser's fixture may keep one running in this one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_a_loop(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, coroutine).result()
