"""A page with its model inside: whatever the studio can do, this file does without a server.

It holds what any page holds, the script of the worker that computes (`web/engine/worker.js`), and the model's file,
compressed, as base64. The page makes the worker from that script, since it may load nothing.
"""

from __future__ import annotations

import base64
import gzip
from functools import cache
from importlib.resources import files

from vitrail.explain.join import join_modules
from vitrail.explain.page import DATA_ID, LIVE, reader, shell, with_data
from vitrail.trace import Trace

LIVE_MB = 15.0  # up to this size, a page includes its model by default
ENGINE_ID = "vitrail-engine"
MODEL_ID = "vitrail-model"

_ENTRY = "engine/worker.js"
_LEVEL = 1  # of compression: weights are nearly random, and more effort gains less than one per cent


def live_page(trace: Trace, packed: bytes) -> str:
    """The viewer with a trace and a compressed model inside, as one HTML document."""
    more = f"{engine_element()}{_text_element(MODEL_ID, base64.b64encode(packed).decode())}"
    return with_data(shell(LIVE), f"{trace.source} → {trace.text}", DATA_ID, trace.to_json(), more)


def live_size(packed_bytes: int) -> int:
    """The size of a live page without its trace, in bytes."""
    return len(shell(LIVE).encode()) + len(engine_element().encode()) + (packed_bytes + 2) // 3 * 4


def compress(content: bytes) -> bytes:
    """A model's file as pages and sites hold it. The same file gives the same bytes."""
    return gzip.compress(content, _LEVEL, mtime=0)


@cache
def engine_element() -> str:
    """The worker's script, as text for the page to start it from."""
    return _text_element(ENGINE_ID, join_modules(_ENTRY, reader(files("vitrail") / "web")))


def _text_element(name: str, text: str) -> str:
    return f'\n<script type="text/plain" id="{name}">{text}</script>'
