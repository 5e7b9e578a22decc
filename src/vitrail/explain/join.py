"""Join many modules into one script. Browsers refuse to import modules from file://, and a mailed page has no server.

The modules use a small subset of the language, so that joining them only means ordering them:

    import {a, b} from "./other.js";           named imports from a relative path; may span lines
    export function a() {}                      also async function, function*, class, and const with one name
    no default exports, no renaming, no export lists, no import() or import.meta, no await outside functions

Each module becomes a function that returns its exports. A module comes after all that it imports, and comments are
removed. Anything else raises a `ModuleError` with the module and the line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

from vitrail.explain.scan import ScanError, blank_text, without_comments

Read = Callable[[str], str]  # a module's path, "draw/matrix.js", to its source

_NAME = r"[A-Za-z_$][\w$]*"
_STATEMENT = re.compile(r"(?<![.\w$])(import|export)\b(?!\s*:)")
_IMPORT = re.compile(
    rf"""import\s*\{{(\s*(?:{_NAME}\s*,\s*)*{_NAME}\s*,?\s*)\}}\s*from\s*["'](\.\.?/[\w./-]+\.js)["']\s*;"""
)
_EXPORT = re.compile(rf"export\s+((?:async\s+)?function\b\s*\*?|class\b|const\b)\s*({_NAME})(?=\s*[=({{]|\s+extends\b)")
_AWAIT = re.compile(r"(?<![.\w$])await\b(?!\s*:)")
_CLOSES_THE_SCRIPT = re.compile(r"</?script|<!--", re.IGNORECASE)  # HTML parses these even inside a script


class ModuleError(ValueError):
    """A module of the viewer that cannot be joined with the others: a bug of ours, not a user error."""


@dataclass(frozen=True)
class _Module:
    path: str
    body: str  # without import statements and the keyword export
    imports: dict[str, tuple[str, ...]]  # by module: the names imported from it
    exports: tuple[str, ...]


def join_modules(entry: str, read: Read) -> str:
    """A script equivalent to loading the module `entry`."""
    modules = _in_order(entry, read)
    numbers = {path: number for number, path in enumerate(modules)}
    parts = []
    for path, module in modules.items():
        imported = [f"const {{{', '.join(names)}}} = m{numbers[other]};\n" for other, names in module.imports.items()]
        exported = f"return {{{', '.join(module.exports)}}};\n"
        parts.append(
            f"// {path}\nconst m{numbers[path]} = (() => {{\n{''.join(imported)}{module.body}\n{exported}}})();\n"
        )
    return f'(() => {{\n"use strict";\n{"".join(parts)}}})();\n'


def _in_order(entry: str, read: Read) -> dict[str, _Module]:
    """Every module that `entry` needs, each after the modules that it imports."""
    done: dict[str, _Module] = {}

    def visit(path: str, ancestors: tuple[str, ...]) -> None:
        if path in ancestors:
            cycle = " → ".join((*ancestors[ancestors.index(path) :], path))
            raise ModuleError(f"circular import: {cycle}")
        if path in done:
            return
        module = _parse(path, read(path))
        for other, names in module.imports.items():
            visit(other, (*ancestors, path))
            missing = [name for name in names if name not in done[other].exports]
            if missing:
                raise ModuleError(f"{path} imports {missing[0]} from {other}, which does not export it")
        done[path] = module

    visit(entry, ())
    return done


def _parse(path: str, source: str) -> _Module:
    source = source.replace("\r\n", "\n")
    if found := _CLOSES_THE_SCRIPT.search(source):
        raise ModuleError(f"{_at(path, source, found.start())}: {found[0]!r} would end the inline script")
    try:
        code = blank_text(source)
    except ScanError as error:
        raise ModuleError(f"{_at(path, source, error.place)}: {error}") from None
    _refuse_await(path, source, code)

    body: list[str] = []
    imports: dict[str, tuple[str, ...]] = {}
    exports: list[str] = []
    place = 0
    for found in _STATEMENT.finditer(code):
        # Found in the code alone, but read from the source: an import's path is a string, which the code has blanked.
        start = found.start()
        statement = (_IMPORT if found[1] == "import" else _EXPORT).match(source, start)
        if statement is None:
            line = source[start:].split("\n", 1)[0].strip()
            raise ModuleError(f"{_at(path, source, start)}: unsupported statement: {line}")
        body.append(source[place:start])
        if found[1] == "import":
            other = posixpath.normpath(posixpath.join(posixpath.dirname(path), statement[2]))
            names = tuple(name.strip() for name in statement[1].split(",") if name.strip())
            imports[other] = imports.get(other, ()) + names
            body.append("\n" * statement[0].count("\n"))
        else:
            exports.append(statement[2])
            body.append(f"{statement[1]} {statement[2]}")
        place = statement.end()
    body.append(source[place:])
    return _Module(path, without_comments("".join(body)).strip("\n"), imports, tuple(exports))


def _refuse_await(path: str, source: str, code: str) -> None:
    for found in _AWAIT.finditer(code):
        before = code[: found.start()]
        on_this_line = before.rsplit("\n", 1)[-1]
        if before.count("{") == before.count("}") and "async" not in on_this_line:
            raise ModuleError(f"{_at(path, source, found.start())}: await outside of a function")


def _at(path: str, source: str, place: int) -> str:
    return f"{path}, line {source.count(chr(10), 0, place) + 1}"
