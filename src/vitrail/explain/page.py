"""A trace as one self-contained HTML file: open it from disk, mail it, or show it in a notebook.

The viewer is `web/index.html` with its style sheets inline and its modules joined into inline scripts. The page's own
script goes to the end of the body; a script that blocks rendering stays in the head. The Content-Security-Policy blocks
every other script and every request; a page with a model in it (`live.py`) may also compute in a worker. Text from a
user or a model is data in a JSON element, where every `<` is escaped so that HTML cannot take it for a tag.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from importlib.resources.abc import Traversable

from vitrail.explain.join import ModuleError, Read, join_modules
from vitrail.trace import Trace

INDEX = "index.html"
DATA_ID = "vitrail-trace"

_TITLE_MARK = "\x00title\x00"  # placeholders; NUL occurs in no text file
_DATA_MARK = "\x00data\x00"

_SCRIPT = re.compile(r'<script type="module" src="(?:\./)?([\w./-]+\.js)"></script>')
_FIRST = re.compile(r'<script type="module" src="(?:\./)?([\w./-]+\.js)" blocking="render"></script>')
_STYLE = re.compile(r'<link rel="stylesheet" href="(?:\./)?([\w./-]+\.css)" ?/?>')
_TITLE = re.compile(r"<title>[^<]*</title>")
_HEAD = re.compile(r"<meta charset=[\"']?utf-8[\"']? ?/?>", re.IGNORECASE)
_FETCHED = re.compile(r"@import\b|url\(\s*[\"']?(?!data:|#)|</style", re.IGNORECASE)


@dataclass(frozen=True)
class Powers:
    """What a page may do besides running its own scripts."""

    computes: bool = False  # in a worker of its own making, with WebAssembly
    fetches: bool = False  # from where it was loaded itself

    def policy(self, scripts: str, styles: str) -> str:
        """The Content-Security-Policy, given the hashes of the page's scripts and styles."""
        computes = " 'wasm-unsafe-eval'; worker-src blob:" if self.computes else ""
        fetches = "; connect-src 'self'" if self.fetches else ""
        return f"default-src 'none'; script-src {scripts}{computes}{fetches}; style-src {styles}; img-src data: blob:"


STATIC, LIVE, SITE = Powers(), Powers(computes=True), Powers(computes=True, fetches=True)


def page_of(trace: Trace) -> str:
    """The viewer with this trace inside, as one HTML document."""
    return fill(shell(), trace)


def page_size() -> int:
    """The size of a page without its trace, in bytes."""
    return len(shell().encode())


def fill(empty: str, trace: Trace) -> str:
    """Put a trace and its title into an empty page."""
    return with_data(empty, f"{trace.source} → {trace.text}", DATA_ID, trace.to_json())


def with_data(empty: str, title: str, element: str, json_text: str, more: str = "") -> str:
    """Put a title and data, as a JSON element with this id, into an empty page; `more` elements follow."""
    title = html.escape(title)
    data = f'<script type="application/json" id="{element}">{embed(json_text)}</script>{more}'
    # Split first, not replace one by one: a sentence that contains a placeholder must stay as it is.
    before, rest = empty.split(_TITLE_MARK)
    middle, after = rest.split(_DATA_MARK)
    filled = f"{before}{title} · Vitrail{middle}{data}{after}"
    return filled.encode("utf-8", "replace").decode()  # a title may have lone surrogates


def embed(json_text: str) -> str:
    """Escape JSON for a script element: no `<`, and none of the line separators that old JavaScript rejects."""
    return json_text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def shell(powers: Powers = STATIC) -> str:
    """The package's own viewer, without a trace."""
    return build_shell(files("vitrail") / "web", powers=powers)


def reader(web: Traversable) -> Read:
    """How to read a module or style of the viewer."""

    def read(path: str) -> str:
        file = web.joinpath(*path.split("/"))
        if not file.is_file():
            raise ModuleError(f"the viewer has no file {path}")
        return file.read_text(encoding="utf-8").replace("\r\n", "\n")

    return read


def build_shell(web: Traversable, name: str = INDEX, powers: Powers = STATIC) -> str:
    """A page with its script and styles inlined, a policy that allows only these, and placeholders."""
    read = reader(web)
    index = read(name)
    script = "\n" + join_modules(_one(_SCRIPT, index)[1], read)
    first = {found[0]: "\n" + join_modules(found[1], read) for found in _FIRST.finditer(index)}
    styles = {found[0]: _style(found[1], read) for found in _STYLE.finditer(index)}
    policy = powers.policy(_hashes([*first.values(), script]), _hashes(styles.values()))
    charset = _one(_HEAD, index)[0]
    built = index.replace(
        charset, f'{charset}\n<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'
    )
    built = built.replace(_one(_TITLE, index)[0], f"<title>{_TITLE_MARK}</title>")
    for link, style in styles.items():
        built = built.replace(link, f"<style>{style}</style>")
    for element, joined in first.items():
        built = built.replace(element, f"<script>{joined}</script>")
    # The data comes before the script, which reads it. Both go to the end of the body, where a module would run.
    built = built.replace(_one(_SCRIPT, index)[0], "")
    body, end, rest = built.rpartition("</body>")
    if not end:
        raise ModuleError(f"{INDEX} has no </body>")
    built = f"{body}{_DATA_MARK}\n<script>{script}</script>\n{end}{rest}"
    _refuse_what_is_fetched(built)
    return built


def _style(path: str, read: Read) -> str:
    style = read(path)
    if found := _FETCHED.search(style):
        raise ModuleError(f"{path}: {found[0]!r} is not allowed: the page must fetch nothing")
    return f"\n{style}"


def _hashes(contents: Iterable[str]) -> str:
    """The hashes by which the policy allows inline elements."""
    digests = (base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for content in contents)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def _one(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise ModuleError(f"{INDEX} should contain {pattern.pattern} once, not {len(found)} times")
    return found[0]


class _Links(HTMLParser):
    """Finds everything that a document would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect every address outside the document, and every inline handler or style."""
        for name, value in attrs:
            address = (value or "").strip()
            if name in ("src", "href", "srcset", "action", "data", "poster") and not address.startswith(("data:", "#")):
                self.found.append(f"<{tag} {name}={address!r}>")
            if name.startswith("on") or name == "style":
                self.found.append(f"<{tag} {name}=…>, which the page's policy blocks")


def _refuse_what_is_fetched(document: str) -> None:
    links = _Links()
    links.feed(document)
    if links.found:
        raise ModuleError(f"{INDEX} has {links.found[0]}: the stand-alone page must fetch nothing")
