"""Signs in product code of other languages than Python: answers made for the tests, swallowed failures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.lint.checks.finding import Finding
from tools.lint.gaming.file_changes import ChangeSet, FileChange
from tools.lint.gaming.signs import make_sign, quote_source
from tools.lint.gaming.test_lines import TRIVIAL_TEXT, join_lines, occurs_in

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


def find_script_signs(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    added = "\n".join(text for _, text in file.added)
    if not added.strip():
        return
    for match in _SCRIPT_CATCH.finditer(file.new):
        if match[0] not in file.old and match[0].split("\n")[0].strip() in added:
            line = file.new.count("\n", 0, match.start()) + 1
            before = file.new[: match.start()]
            started = max(before.rfind("try {"), before.rfind("begin"), before.rfind("{"))
            was_there = any(
                text.strip() and len(text.strip()) > 6 and text.strip() in file.old
                for text in before[started:].split("\n")[1:]
            )
            message = f"a failure is swallowed: {quote_source(match[0])}"
            fails = (was_there or "recover" in match[0]) and (
                change.request.repair or change.request.passing or not change.changes_product
            )
            yield make_sign("caught-failure", file.path, line, message, fails=fails)
            break
    if not change.test_texts:
        return
    yield from _find_constant_body(change, file)
    found = [
        (match["key"], match["answer"])
        for pattern in (_SCRIPT_CASE, _SCRIPT_MODIFIER, _SCRIPT_CHOICE)
        for match in pattern.finditer(added)
    ]
    rows = (_SCRIPT_TABLE.match(text) for _, text in file.added)
    table = [(row["key"], row["answer"]) for row in rows if row is not None]
    names = set(re.findall(r"(?:function|func|def|const|let)\s+(?:\([^)]*\)\s*|self\.)?(\w+)", file.new))
    names |= set(
        re.findall(
            r"^\s*(?:public|private|static|export|async|\s)*[\w<>\[\]]*\s+(\w+)\(", file.new, re.MULTILINE
        )
    )
    for pairs, least in ((found, 0.0), (table, 0.6)):
        told = [(key, answer) for key, answer in pairs if _is_tested_text(change, names, key, answer)]
        if told and len(told) >= least * len(pairs):
            key, answer = told[0]
            line = next((number for number, text in file.added if key in text), 0)
            message = f"a test's input is answered with a literal: {key} → {answer}"
            yield make_sign("special-case", file.path, line, message, fails=True)


_CONSTANT_BODY = compile_lazily(
    r"\b(?P<name>\w+)\s*(?:=\s*)?\([^\n]*(?:\{|=>\s*\{|\))\s*\n\s*(?:return\s+)?"
    r"(?P<answer>\"[^\"\n]+\"|'[^'\n]+'|-?\d[\w.]*|\[[^\]\n]*\]);?\s*\n\s*(?:\}|end\b)"
)


def _find_constant_body(change: ChangeSet, file: FileChange) -> Iterator[Finding]:
    """Yield a function that was there and now only returns a literal which a test expects of it."""
    added = {text.strip() for _, text in file.added}
    for match in _CONSTANT_BODY.finditer(file.new):
        answer, name = match["answer"], match["name"]
        if not any(answer in text for text in added) or match[0] in file.old or name not in file.old:
            continue
        wanted = answer.replace('"', "'").strip("[]")
        if any(
            name in text and any(occurs_in(wanted, line) for line in join_lines(text))
            for text in change.test_texts
        ):
            line = file.new.count("\n", 0, match.start()) + 1
            message = f"{name!r} returns only what a test expects: {quote_source(answer)}"
            yield make_sign("hard-coded", file.path, line, message, fails=True)


def _is_tested_text(change: ChangeSet, names: set[str], key: str, answer: str) -> bool:
    given, wanted = (each.replace('"', "'").replace("`", "'").strip("[]") for each in (key, answer))
    trivial = TRIVIAL_TEXT | {"''", "true", "false", "nil", "null"}
    if given in trivial or (wanted in trivial and len(given) < 5):
        return False
    for text in change.test_texts:
        for line in join_lines(text.replace("`", "'")):
            if (
                occurs_in(given, line)
                and occurs_in(wanted, line)
                and any(name in line for name in names if len(name) > 2)
            ):
                return True
            if re.search(rf"{re.escape(given)}\s*,\s*\[?\{{?{re.escape(wanted)}", line):
                return True
    return False
