"""Joined modules behave as they do separately; what the joiner cannot join is refused, with its place."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from vitrail.explain import ModuleError, join_modules
from vitrail.explain.scan import ScanError, blank_text, without_comments

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node runs the joined script")

MODULES = {
    "main.js": """// The beginning.
import {say, Loud} from "./voice/say.js";
import {
  twice,
  LIMIT,
} from './numbers.js';

/** @typedef {import("./numbers.js").Nothing} Nothing */
const local = "main";
const text = `a template with ${twice(LIMIT)} and
export const inside = "a line that is no statement"; ${`nested ${"}"} one`}`;
say(local, text, new Loud().name, /import [`'"] from/.test(text), 4 / 2 / 1);
""",
    "voice/say.js": """import {local, twice} from "../numbers.js";

/* export default of nothing */
const heard = [];
export function say(...words) {
  heard.push(words.join("|"), local(), String(twice(3)));
  console.log(heard.join("\\n"));
}
export class Loud extends Object {
  get name() { return "import {x} from 'y'"; }
}
""",
    "numbers.js": """export const LIMIT = 7;
const local_secret = 5;
export function local() { return `numbers ${local_secret}`; }
export function twice(x) { const exported = {import: 1, export: 2}; return 2 * x * exported.import; }
export async function* later() { await null; yield 1; }
export const arrow = async () => { await null; };
""",
}


def reader(modules):
    return lambda path: modules[path]


def run(folder, name, source):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source, encoding="utf-8")
    done = subprocess.run(["node", str(folder / name)], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_node
def test_joined_modules_do_what_they_do_apart(tmp_path):
    apart = tmp_path / "apart"
    for path, source in MODULES.items():
        (apart / path).parent.mkdir(parents=True, exist_ok=True)
        (apart / path).write_text(source, encoding="utf-8")
    (apart / "package.json").write_text('{"type": "module"}')
    expected = run(apart, "main.js", MODULES["main.js"])
    assert expected.count("\n") == 4
    assert run(tmp_path, "joined.cjs", join_modules("main.js", reader(MODULES))) == expected


@needs_node
def test_modules_keep_their_own_names_to_themselves(tmp_path):
    modules = {
        "a.js": 'import {b} from "./b.js";\nconst secret = "a";\nexport function a() { return secret + b(); }\n',
        "b.js": 'const secret = "b";\nexport function b() { return secret; }\n',
        "main.js": 'import {a} from "./a.js";\nimport {b} from "./b.js";\nconsole.log(a(), b(), typeof secret);\n',
    }
    assert run(tmp_path, "joined.cjs", join_modules("main.js", reader(modules))) == "ab b undefined\n"


@needs_node
def test_a_module_that_several_need_runs_once_and_before_them(tmp_path):
    modules = {
        "main.js": 'import {b} from "./b.js";\nimport {a} from "./a.js";\nconsole.log(a + b);\n',
        "a.js": 'import {base} from "./base.js";\nexport const a = base + 1;\n',
        "b.js": 'import {base} from "./base.js";\nexport const b = base + 2;\n',
        "base.js": 'console.log("once");\nexport const base = 10;\n',
    }
    assert run(tmp_path, "joined.cjs", join_modules("main.js", reader(modules))) == "once\n23\n"


@needs_node
def test_the_joined_script_is_strict_like_a_module(tmp_path):
    modules = {"main.js": "console.log((function () { return this === undefined; })());\n"}
    assert run(tmp_path, "joined.cjs", join_modules("main.js", reader(modules))) == "true\n"


@pytest.mark.parametrize(
    "statement",
    [
        "export default function f() {}",
        "export default 3;",
        "export {a};",
        "export {a as b};",
        'export * from "./b.js";',
        'export {b} from "./b.js";',
        "export let a = 1;",
        "export var a = 1;",
        "export const {a, b} = c;",
        "export const a, b = 1;",
        'import b from "./b.js";',
        'import * as b from "./b.js";',
        'import {b as c} from "./b.js";',
        'import "./b.js";',
        'import {b} from "b";',
        'import {b} from "/b.js";',
        'import {b} from "https://example.org/b.js";',
        'import {b} from "./b.css";',
        'import {b} from "./b.js" with {type: "json"};',
        'import {b} from "./b.js"',
        'const b = import("./b.js");',
        "const here = import.meta.url;",
    ],
)
def test_what_the_joiner_does_not_know_is_refused_with_its_line(statement):
    modules = {"main.js": f"// first\n\n{statement}\n", "b.js": "export const b = 1;\n"}
    with pytest.raises(ModuleError) as caught:
        join_modules("main.js", reader(modules))
    assert "main.js, line 3" in str(caught.value)


@pytest.mark.parametrize("source", ["const a = await b;", "for await (const a of b) {}", "function f() {}\nawait f();"])
def test_await_outside_of_functions_is_refused(source):
    with pytest.raises(ModuleError, match=r"main\.js, line \d: await"):
        join_modules("main.js", reader({"main.js": source}))


@pytest.mark.parametrize("source", ['const a = "</script>";', "// <!-- a comment", "const b = `<SCRIPT>`;"])
def test_what_would_end_the_script_element_is_refused(source):
    with pytest.raises(ModuleError, match=r"main\.js, line 1: .* would end the inline script"):
        join_modules("main.js", reader({"main.js": source}))


@pytest.mark.parametrize("source", ["const a = 'b\nc';", "const a = `b ${c}", "/* no end", "x = /a", "`${{}`"])
def test_text_that_does_not_end_is_refused(source):
    with pytest.raises(ModuleError, match="does not end"):
        join_modules("main.js", reader({"main.js": source}))


def test_a_circle_is_named():
    modules = {
        "main.js": 'import {a} from "./a.js";\n',
        "a.js": 'import {b} from "./b.js";\nexport const a = 1;\n',
        "b.js": 'import {a} from "./a.js";\nexport const b = 1;\n',
    }
    with pytest.raises(ModuleError, match=r"a\.js → b\.js → a\.js"):
        join_modules("main.js", reader(modules))


def test_a_name_that_is_not_exported_is_named():
    modules = {"main.js": 'import {a, c} from "./a.js";\n', "a.js": "export const a = 1;\nconst c = 2;\n"}
    with pytest.raises(ModuleError, match=r"main\.js imports c from a\.js"):
        join_modules("main.js", reader(modules))


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("a = 'b' / \"c\" / d;", "a =     /     / d;"),
        ("a = b / c / d", "a = b / c / d"),
        ("return /[/'\"]/g.test(x) / 2", "return         .test(x) / 2"),
        ("f(/a\\/b/, (c) / 2)", "f(      , (c) / 2)"),
        ("a // b\nc /* d\ne */ f", "a     \nc     \n     f"),
        ("`a ${b + `c ${{d: 1}}`} e` + f", "     b +      {d: 1}       + f"),
        ("'it\\'s' + 1", "        + 1"),
    ],
)
def test_text_is_told_from_code(source, code):
    assert blank_text(source) == code


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("a(); // why\nb();", "a(); \nb();"),
        ("// why\na();\n", "a();\n"),
        ("/**\n * @param {x} y\n */\nfunction a() {}\n", "function a() {}\n"),
        ("  /* one */ /* two */\na();\n", "   \na();\n"),
        ("return /* a\nb */ 1;", "return\n 1;"),
        ("a = '// no comment' + `/* none ${b /* one */} */`;\n", "a = '// no comment' + `/* none ${b } */`;\n"),
        ("a();\n// the end", "a();\n"),
    ],
)
def test_comments_go_and_nothing_else(source, left):
    assert re.sub(" +", " ", without_comments(source)) == re.sub(" +", " ", left)
    assert "why" not in without_comments(source)


def test_the_joined_script_has_no_comments_but_the_names_of_its_modules():
    joined = join_modules("main.js", reader(MODULES))
    assert "The beginning" not in joined and "typedef" not in joined
    assert [line for line in joined.splitlines() if line.startswith("//")] == [
        "// numbers.js",
        "// voice/say.js",
        "// main.js",
    ]


def test_blanking_keeps_every_line_where_it_was():
    source = "".join(MODULES.values())
    blanked = blank_text(source)
    assert len(blanked) == len(source)
    assert [i for i, c in enumerate(source) if c == "\n"] == [i for i, c in enumerate(blanked) if c == "\n"]
    with pytest.raises(ScanError):
        blank_text("'")
