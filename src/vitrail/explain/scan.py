"""Tell JavaScript code from text: comments, strings, templates and regular expressions are blanked out."""

from __future__ import annotations

import re

# A slash after one of these begins a regular expression. After a name, a number or a closing bracket it divides.
_BEFORE_REGEX = re.compile(
    r"(?:^|[=(,:\[!&|?{};+\-*/%~^<>]|\b(?:return|typeof|case|in|of|delete|void|throw|new|else|do|await|yield))\s*$"
)
_TOKENS = {
    "string": re.compile(r"""'(?:[^'\\\n]|\\[\s\S])*'|"(?:[^"\\\n]|\\[\s\S])*\""""),
    "comment": re.compile(r"//[^\n]*|/\*[\s\S]*?\*/"),
    "regular expression": re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"),
    "template": re.compile(r"[`}](?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)"),  # up to its end, or to its next ${
}
_TAIL = 40  # characters of code that decide what a slash means


class ScanError(ValueError):
    """Something begins at `place` and does not end, so that text cannot be told from code."""

    def __init__(self, what: str, place: int) -> None:
        super().__init__(what)
        self.place = place


def blank_text(source: str) -> str:
    """Replace everything that is not code with spaces. Length and line breaks stay the same."""
    return _Scanner(source).run()


def without_comments(source: str) -> str:
    """Remove the comments, and the lines that hold nothing else."""
    scanner = _Scanner(source)
    scanner.run()
    kept, place = [], 0
    for start, end in scanner.comments:
        line_start = source.rfind("\n", 0, start) + 1
        stands_alone = not source[line_start:start].strip() and source[end : end + 1] in ("", "\n")
        if stands_alone and line_start >= place:
            kept.append(source[place:line_start])
            place = end + 1
        else:
            # A comment that spans lines can end a statement, as a line break does.
            kept += [source[place:start].rstrip(" "), "\n" if "\n" in source[start:end] else " "]
            place = end
    return "".join([*kept, source[place:]])


class _Scanner:
    def __init__(self, source: str) -> None:
        self.source = source
        self.place = 0
        self.code: list[str] = []
        self.comments: list[tuple[int, int]] = []  # start and end of each
        self.tail = ""  # the last code seen, with a value in place of each text
        self.braces: list[int] = []  # for each enclosing template: the open braces in its ${…}

    def run(self) -> str:
        while self.place < len(self.source):
            character, pair = self.source[self.place], self.source[self.place : self.place + 2]
            if character in "'\"":
                self._skip("string", stands_for="0")
            elif pair in ("//", "/*"):
                self._skip("comment", stands_for=" ")
            elif character == "/" and _BEFORE_REGEX.search(self.tail):
                self._skip("regular expression", stands_for="0")
            elif character == "`":
                self._template()
            elif character == "}" and self.braces and self.braces[-1] == 0:
                self.braces.pop()
                self._template()
            else:
                self._code(character)
        if self.braces:
            raise ScanError("a template does not end", len(self.source))
        return "".join(self.code)

    def _code(self, character: str) -> None:
        if self.braces and character in "{}":
            self.braces[-1] += 1 if character == "{" else -1
        self.code.append(character)
        self.tail = (self.tail + character)[-_TAIL:]
        self.place += 1

    def _skip(self, what: str, *, stands_for: str) -> str:
        found = _TOKENS[what].match(self.source, self.place)
        if found is None:
            raise ScanError(f"a {what} does not end", self.place)
        if what == "comment":
            self.comments.append(found.span())
        self.code.append(re.sub(r"[^\n]", " ", found[0]))
        self.tail = (self.tail + stands_for)[-_TAIL:]
        self.place = found.end()
        return found[0]

    def _template(self) -> None:
        if self._skip("template", stands_for="0").endswith("${"):
            self.braces.append(0)
            self.tail = "{"
