"""Debugging code left in by mistake: breakpoints, focused tests, debug output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

_SCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx")

LEFTOVERS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        (".py", ".pyi"),
        compile_lazily(
            r"^\s*(?:breakpoint\(\)|(?:import|from)\s+(?:pdb|ipdb|pudb|wdb)\b"
            r"|(?:i?pdb|pudb|wdb)\.set_trace\(|print\(\s*f?[\"'](?:DEBUG|XXX|>>>|!!!))"
        ),
    ),
    (
        _SCRIPT,
        compile_lazily(
            r"^\s*debugger\s*;?\s*$|^\s*(?:describe|it|test|context)\.only\(|^\s*f(?:it|describe)\("
        ),
    ),
    ((".rb", ".rake"), compile_lazily(r"^\s*(?:binding\.(?:pry|irb|break)|byebug|debugger)\s*$")),
    ((".rs",), compile_lazily(r"\bdbg!\(")),
    ((".php",), compile_lazily(r"^\s*(?:var_dump|dd|xdebug_break)\(")),
    ((".go",), compile_lazily(r"^\s*(?:runtime\.Breakpoint\(\)|spew\.Dump\()")),
    (
        (".java", ".kt", ".kts"),
        compile_lazily(r"\bnew (?:Exception|Throwable)\([^)]*\)\.printStackTrace\(\)"),
    ),
    ((".sh", ".bash"), compile_lazily(r"^\s*set -x\s*(?:#.*)?$")),
)
"""File name suffixes, and a pattern of lines that are never intended. Lines that many projects intend (print,
console.log) are not included."""

_KEPT = compile_lazily(r"noqa: ?T\d+|pragma: ?keep|patchwright: ?keep")
"""A comment that marks the line as intended."""


def check(change: Change) -> Iterator[Finding]:
    """Yield new lines with debugging code."""
    for file in change.regular_files:
        pattern = next((each for ends, each in LEFTOVERS if file.path.endswith(ends)), None)
        if pattern is None:
            continue
        for line, text in file.iterate_added_lines():
            if (match := pattern.search(text)) and not _KEPT.search(text):
                message = f"left over from debugging: {match[0].strip()}"
                yield Finding(check="leftovers", path=file.path, line=line, message=message)
