"""The stand-alone page holds everything, lets nothing else in, and shows hostile text as text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from vitrail.config import DecodeConfig, ModelConfig
from vitrail.errors import StorageError
from vitrail.explain import Explanation, ModuleError, page_of, page_size
from vitrail.explain.page import build_shell, embed, fill
from vitrail.model import Transformer
from vitrail.text import Tokenizers, WordVocabulary
from vitrail.trace import Trace
from vitrail.translator import Translator

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></title><img src=x onerror=alert(1)>",
    "\" onload=\"alert(1)' onload='alert(2)",
    "&lt;b&gt; &amp; &#60;",
    "line\u2028separator\u2029 \x00title\x00 \x00data\x00 \\u003c",
    "half a character \ud800 here",
    "{{7*7}} ${7*7} `x`",
]


class Parsed(HTMLParser):
    """A document as a browser parses it: elements with their attributes and text."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.inside = False  # the current element, whose text we collect
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), ""))
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            tag, attrs, text = self.elements[-1]
            self.elements[-1] = tag, attrs, text + data

    def all(self, tag):
        return [(attrs, text) for name, attrs, text in self.elements if name == tag]


@pytest.fixture
def web(tmp_path):
    """A viewer of three files."""
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "index.html").write_text(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Vitrail</title>\n'
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="./style.css">\n'
        '<script type="module" src="./main.js"></script>\n</head>\n<body>\n<main id="app"></main>\n</body>\n</html>\n'
    )
    (folder / "style.css").write_text("main { color: red; background: url(data:,); }\n")
    (folder / "main.js").write_text('import {a} from "./a.js";\n\nconsole.log(a);\n')
    (folder / "a.js").write_text("export const a = 1;\r\n")
    return folder


@pytest.fixture
def trace(small_translator):
    return small_translator().trace("w1 w2", to="fr", layers=[])


def hostile_trace(trace: Trace, text: str) -> Trace:
    document = json.loads(trace.to_json())
    document["source"]["text"] = document["target"]["text"] = document["model"]["name"] = text
    document["source"]["tokens"][0] = document["vocabulary"][5] = text
    return Trace.from_dict(document)


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(web, trace):
    parsed = Parsed(fill(build_shell(web), trace))
    (policy,) = [attrs for attrs, _ in parsed.all("meta") if attrs.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy["content"].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    assert rules.keys() == {"default-src", "script-src", "style-src", "img-src"}

    def known_by(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    (script,) = [text for attrs, text in parsed.all("script") if "type" not in attrs]
    ((_, style),) = parsed.all("style")
    assert rules["script-src"] == known_by(script)
    assert rules["style-src"] == known_by(style)
    assert "console.log(a)" in script and "import" not in script and "\r" not in script
    assert "color: red" in style


def test_a_script_that_blocks_rendering_stays_in_the_head(web, trace):
    index = web / "index.html"
    first = '<script type="module" src="./first.js" blocking="render"></script>'
    index.write_text(index.read_text().replace("<title>", f"{first}\n<title>"))
    (web / "first.js").write_text('import {a} from "./a.js";\n\ndocument.title = a;\n')
    document = fill(build_shell(web), trace)
    early, late = [text for attrs, text in Parsed(document).all("script") if "type" not in attrs]
    assert "document.title = a" in early and "console.log(a)" in late
    assert document.index(early) < document.index("</head>") < document.index(late)
    for script in (early, late):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"&#x27;sha256-{digest}&#x27;" in document


def test_the_policy_comes_before_everything_it_rules(web, trace):
    document = fill(build_shell(web), trace)
    policy = document.index("Content-Security-Policy")
    assert policy < document.index("<style") and policy < document.index("<script")
    assert document.index('id="vitrail-trace"') < document.index("<script>\n(()")


def test_the_trace_in_the_page_is_the_trace(web, trace):
    parsed = Parsed(fill(build_shell(web), trace))
    (text,) = [text for attrs, text in parsed.all("script") if attrs.get("id") == "vitrail-trace"]
    again = Trace.from_dict(json.loads(text))
    assert again.names() == trace.names()
    assert all(np.array_equal(again[name], trace[name]) for name in trace.names())
    assert parsed.all("title")[0][1].startswith(f"w1 w2 → {trace.text}")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(web, trace, text):
    harmless = [tag for tag, _, _ in Parsed(fill(build_shell(web), trace)).elements]
    document = fill(build_shell(web), hostile_trace(trace, text))
    document.encode()  # it can be written
    parsed = Parsed(document)
    assert [tag for tag, _, _ in parsed.elements] == harmless, "the text became elements"
    (data,) = [text for attrs, text in parsed.all("script") if attrs.get("id") == "vitrail-trace"]
    assert json.loads(data)["source"]["text"] == text
    assert json.loads(data)["vocabulary"][5] == text
    shown = parsed.all("title")[0][1]
    if "\ud800" not in text and "\x00" not in text:
        assert shown == f"{text} → {text} · Vitrail"


@pytest.mark.parametrize("text", HOSTILE)
def test_embedded_json_has_nothing_that_html_could_read(text):
    embedded = embed(json.dumps({"text": text}))
    assert not re.search(r"[<\u2028\u2029]", embedded)
    assert json.loads(embedded) == {"text": text}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_notebook_frame_is_one_element_with_the_page_inside(web, trace, text, monkeypatch):
    shell = build_shell(web)
    monkeypatch.setattr("vitrail.explain.page.shell", lambda: shell)
    explanation = Explanation(hostile_trace(trace, text))
    parsed = Parsed(explanation._repr_html_())
    ((tag, attrs, _),) = parsed.elements
    assert tag == "iframe"
    assert set(attrs["sandbox"].split()) == {"allow-scripts", "allow-forms", "allow-downloads"}
    inner = Parsed(attrs["srcdoc"])
    (data,) = [text for attrs, text in inner.all("script") if attrs.get("id") == "vitrail-trace"]
    assert json.loads(data)["source"]["text"] == text
    assert "src" not in attrs


def test_every_display_is_a_frame_of_its_own_and_text_where_there_is_none(web, trace, monkeypatch):
    shell = build_shell(web)
    monkeypatch.setattr("vitrail.explain.page.shell", lambda: shell)
    explanation = Explanation(trace)
    first, second = explanation._repr_mimebundle_(), explanation._repr_mimebundle_()
    names = {Parsed(bundle["text/html"]).elements[0][1]["id"] for bundle in (first, second)}
    assert len(names) == 2
    assert first["text/plain"].startswith(f"w1 w2 → {trace.text}")
    assert ".save(" in first["text/plain"]
    assert explanation._repr_mimebundle_(include=["text/plain"]).keys() == {"text/plain"}
    assert explanation._repr_mimebundle_(exclude=["text/html"]).keys() == {"text/plain"}


def test_the_page_is_saved_whole_or_not_at_all(web, trace, monkeypatch, tmp_path):
    shell = build_shell(web)
    monkeypatch.setattr("vitrail.explain.page.shell", lambda: shell)
    saved = Explanation(trace).save(tmp_path / "deep" / "page.html")
    assert saved.read_bytes().decode() == page_of(trace)
    with pytest.raises(StorageError):
        Explanation(trace).save(tmp_path / "deep")
    assert [path.name for path in tmp_path.joinpath("deep").iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("style.css", "@import 'other.css';", "@import"),
        ("style.css", "p { background: url(https://example.org/x.png) }", "url"),
        ("style.css", "/* </style> */", "</style"),
        ("main.js", "export default 1;", "main.js, line 1"),
        ("main.js", 'import {a} from "./gone.js";', "gone.js"),
    ],
)
def test_a_viewer_that_would_fetch_something_is_refused(web, file, content, said):
    (web / file).write_text(content)
    with pytest.raises(ModuleError) as caught:
        build_shell(web)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<main", '<img src="picture.png"><main'),
        ("<main", '<a href="https://example.org">x</a><main'),
        ("<main", '<main onclick="alert(1)"'),
        ("<main", '<main style="color: red"'),
        ("<main", '<script type="module" src="./a.js"></script><main'),
        ("<title>Vitrail</title>", ""),
        ('<meta charset="utf-8">', ""),
        ("</body>", ""),
    ],
)
def test_an_index_that_cannot_stand_alone_is_refused(web, old, new):
    index = (web / "index.html").read_text()
    (web / "index.html").write_text(index.replace(old, new))
    with pytest.raises(ModuleError, match=r"index\.html"):
        build_shell(web)


def test_the_whole_file_keeps_to_its_size(small_translator, web, monkeypatch):
    shell = build_shell(web)
    monkeypatch.setattr("vitrail.explain.page.shell", lambda: shell)
    translator = small_translator()
    most = len(translator.explain("w1 w2", to="fr", layers=["all"]).html().encode())
    for share in (0.6, 0.8, 1.01):
        explanation = translator.explain("w1 w2", to="fr", max_mb=share * most / 1e6)
        assert len(explanation.html().encode()) <= share * most
    assert len(explanation.trace.document["weights_of"]) == 5
    assert page_size() == len(shell.encode())


def test_the_packages_own_viewer_can_be_joined(trace):
    parsed = Parsed(page_of(trace))
    # What runs before the first paint, the trace, and the page.
    assert [attrs.get("id") for attrs, _ in parsed.all("script")] == [None, "vitrail-trace", None]


def test_twelve_tokens_of_a_base_model_stay_below_15_mb():
    """The paper's base model with 32,000 words: 12 source tokens, 12 target tokens."""
    words = [f"word{number}" for number in range(31_994)]
    vocabulary = WordVocabulary(words, ["en", "fr"])
    model = Transformer(ModelConfig(preset="base"), vocabulary.size, vocabulary.size).eval()
    translator = Translator(model, Tokenizers(vocabulary, vocabulary, ("en", "fr")), DecodeConfig(max_extra=0))
    explanation = translator.explain(" ".join(words[:10]), to="fr", prefix=" ".join(words[20:32]))
    trace = explanation.trace
    assert trace["logits"].shape == (12, 32_000) and trace["encoder.output"].shape == (12, 512)
    assert len(explanation.html().encode()) < 15e6
    assert not explanation.left_out
