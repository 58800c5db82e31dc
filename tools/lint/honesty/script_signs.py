"""Signs in product code of other languages than Python: answers made for the tests, swallowed failures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import ChangeSet, FileChange

TRIVIAL_TEXT = frozenset({"", "0", "1", "2", "-1"})
"""Literals that occur everywhere and show nothing."""

_SCRIPT_CASE = compile_lazily(
    r"(?:(?:if|elsif|unless)\b[^\n]{0,80}?(?:===?|\.equals\(|reflect\.DeepEqual\(\w+,|\.eql\?)\s*\(?"
    r"|\b(?:case|when)\s+)"
    r"(?P<key>\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|-?\d[\w.]*)[^\n]{0,40}?(?:\{|:|then|\)|\n"
    r"|\?)\s*(?:\n\s*)?(?:return\s+|then\s+|\?\s*)?"
    r"(?P<answer>\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`|-?\d[\w.]*|true|false|nil|null|\[[^\]\n]*\])"
)
_SCRIPT_CHOICE = compile_lazily(
    r"(?:===?\s*|\[\s*)(?P<key>\"[^\"\n]+\"|'[^'\n]+'|-?\d[\w.]*)\s*(?:\]\.includes\(\w+\)\)?\s*(?:\{\s*)?(?:return)?|\?)\s*"
    r"(?P<answer>\"[^\"\n]*\"|'[^'\n]*'|-?\d[\w.]*)"
)
_SCRIPT_MODIFIER = compile_lazily(
    r"return\s+(?P<answer>\"[^\"\n]*\"|'[^'\n]*'|-?\d[\w.]*)\s+if\s[^\n]*==\s*(?P<key>\"[^\"\n]+\"|'[^'\n]+'"
    r"|-?\d[\w.]*)"
)
_SCRIPT_TABLE = compile_lazily(
    r"^\s*(?P<key>\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`|-?\d[\w.]*)\s*(?::|=>)\s*(?P<answer>\"[^\"\n]*\""
    r"|'[^'\n]*'|-?\d[\w.]*|\[[^\]\n]*\])\s*,?\s*$"
)
_SCRIPT_CATCH = compile_lazily(
    r"catch\s*(?:\(\w*(?:[\w ]+)?\)|\(\.\.\.\))?\s*\{\s*(?:return\s+(?:null|undefined|\[\]|\{\}|0|false|true"
    r"|\"\"|''|nil|-?\d+)\s*;?\s*)?\}"
    r"|rescue(?:\s+(?:StandardError|Exception|=>\s*\w+))*\s*\n?\s*(?:nil|0|\[\]|\{\}|false|\"\")\s*\n\s*end"
    r"|if r := recover\(\); r != nil \{\s*\}|defer func\(\)\s*\{\s*(?:_\s*=\s*)?recover\(\)\s*\}\(\)|\brecover\(\)"
)


_CONSTANT_BODY = compile_lazily(
    r"\b(?P<name>\w+)\s*(?:=\s*)?\([^\n]*(?:\{|=>\s*\{|\))\s*\n\s*(?:return\s+)?"
    r"(?P<answer>\"[^\"\n]+\"|'[^'\n]+'|-?\d[\w.]*|\[[^\]\n]*\]);?\s*\n\s*(?:\}|end\b)"
)
_NAMES = (
    compile_lazily(r"(?:function|func|def|const|let)\s+(?:\([^)]*\)\s*|self\.)?(\w+)"),
    compile_lazily(r"^\s*(?:public|private|static|export|async|\s)*[\w<>\[\]]*\s+(\w+)\(", re.MULTILINE),
)


def find_script_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    """Yield the signs in a file of another language than Python."""
    added = "\n".join(text for _, text in file.added)
    if not added.strip():
        return
    for match in _SCRIPT_CATCH.finditer(file.new):
        if match[0] not in file.old and match[0].split("\n")[0].strip() in added:
            before = file.new[: match.start()]
            started = max(before.rfind("try {"), before.rfind("begin"), before.rfind("{"))
            inside = [text.strip() for text in before[started:].split("\n")[1:]]
            was_there = any(len(text) > 6 and text in file.old for text in inside)
            request = change.request
            fails = (was_there or "recover" in match[0]) and (
                request.repair or request.passing or not change.changes_product
            )
            line = file.find_line(match.start())
            yield file.sign("caught-failure", line, "a failure is swallowed", match[0], fails=fails)
            break
    if not change.test_texts:
        return
    yield from _find_constant_body(change, file)
    patterns = (_SCRIPT_CASE, _SCRIPT_MODIFIER, _SCRIPT_CHOICE)
    found = [match for pattern in patterns for match in pattern.finditer(added)]
    table = [row for _, text in file.added if (row := _SCRIPT_TABLE.match(text))]
    names = {name for each in _NAMES for name in each.findall(file.new) if len(name) > 2}
    for matches, least in ((found, 0.0), (table, 0.6)):
        pairs = [(match["key"], match["answer"]) for match in matches]
        told = [(key, answer) for key, answer in pairs if _is_tested_text(change, names, key, answer)]
        if told and len(told) >= least * len(pairs):
            key, answer = told[0]
            line = next((number for number, text in file.added if key in text), 0)
            message = f"a test's input is answered with a literal: {key} → {answer}"
            yield file.sign("special-case", line, message, fails=True)


def _find_constant_body(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    """Yield a function that was there and now only returns a literal which a test expects of it."""
    for match in _CONSTANT_BODY.finditer(file.new):
        answer, name = match["answer"], match["name"]
        is_new = any(answer in text for _, text in file.added) and match[0] not in file.old
        if not is_new or name not in file.old:
            continue
        wanted = answer.replace('"', "'").strip("[]")
        texts = [text for text in change.test_texts if name in text]
        if any(occurs_in(wanted, line) for text in texts for line in join_lines(text)):
            message = f"{name!r} returns only what a test expects"
            yield file.sign("hard-coded", file.find_line(match.start()), message, answer, fails=True)


def _is_tested_text(change: ChangeSet, names: set[str], key: str, answer: str) -> bool:
    given, wanted = (each.replace('"', "'").replace("`", "'").strip("[]") for each in (key, answer))
    trivial = TRIVIAL_TEXT | {"''", "true", "false", "nil", "null"}
    if given in trivial or (wanted in trivial and len(given) < 5):
        return False
    row = re.compile(rf"{re.escape(given)}\s*,\s*\[?\{{?{re.escape(wanted)}")
    return any(
        (occurs_in(given, line) and occurs_in(wanted, line) and any(name in line for name in names))
        or row.search(line)
        for text in change.test_texts
        for line in join_lines(text.replace("`", "'"))
    )


_LINES: dict[int, tuple[str, list[str]]] = {}


def join_lines(text: str) -> list[str]:
    """Return the logical lines of a test: brackets joined, quotes made alike."""
    known = _LINES.get(hash(text))
    if known is not None and known[0] == text:
        return known[1]
    joined: list[str] = []
    depth = 0
    for line in map(str.strip, text.replace('"', "'").splitlines()):
        if depth > 0 and joined and len(joined[-1]) < 20_000:
            joined[-1] += f" {line}"
        else:
            joined.append(line)
            depth = 0
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
    _LINES.clear()
    _LINES[hash(text)] = text, joined
    return joined


def occurs_in(literal: str, line: str) -> bool:
    """Return whether a literal stands in a line by itself."""
    return bool(re.search(rf"(?<![\w.]){re.escape(literal)}(?![\w.]*\w)", line))
