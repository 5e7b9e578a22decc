"""A trace in a notebook: the page in a frame, or a line of text if there is no browser."""

from __future__ import annotations

import html
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from uuid import uuid4

from vitrail.explain.live import live_page, live_size
from vitrail.explain.page import page_of, page_size
from vitrail.storage import new_file
from vitrail.trace import Trace
from vitrail.trace.lighter import PAGE_MB, left_out, lighter

HEIGHT = 760  # pixels


class Explanation:
    """A translation to look into: a notebook displays it, and `save` writes it as one HTML file."""

    def __init__(self, trace: Trace, *, max_mb: float = PAGE_MB, model: bytes | None = None) -> None:
        self.trace = trace
        self.max_mb = max_mb  # of the page; a larger one omits the internals of some layers
        self.model = model  # the compressed file of the model, if the page translates by itself

    def __repr__(self) -> str:
        return f"{self.trace.source} → {self.trace.text}   (notebooks show the page; .save('page.html') writes it)"

    @property
    def left_out(self) -> list[str]:
        """The layers whose internals the page omits because the sentence is long, and cannot compute either."""
        return left_out(self.shown) if self.model is None else []

    @cached_property
    def shown(self) -> Trace:
        """The trace that the page holds."""
        used = page_size() if self.model is None else live_size(len(self.model))
        return lighter(self.trace, self.max_mb - used / 1e6)

    def html(self) -> str:
        """The stand-alone page."""
        return page_of(self.shown) if self.model is None else live_page(self.shown, self.model)

    def save(self, path: str | Path) -> Path:
        """Write the stand-alone page to a file, whole or not at all."""
        target = Path(path)
        content = self.html().encode()
        with new_file(target) as partial:
            partial.write_bytes(content)
        return target

    def _repr_html_(self) -> str:
        """The page in a sandboxed frame: it can run its script, read what is typed and save pictures; no more."""
        name = f"vitrail-{uuid4().hex}"  # every display needs its own id
        title = html.escape(f"{self.trace.source} → {self.trace.text}")
        return (
            f'<iframe id="{name}" title="{title}" sandbox="allow-scripts allow-forms allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0" srcdoc="{html.escape(self.html())}"></iframe>'
        )

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """The formats a notebook can choose from: the frame, or a line of text if it cannot show HTML."""
        bundle = {"text/plain": repr(self)}
        if (include is None or "text/html" in include) and "text/html" not in (exclude or ()):
            bundle["text/html"] = self._repr_html_()
        return bundle
