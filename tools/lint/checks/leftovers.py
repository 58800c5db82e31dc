"""What one writes while looking for a bug and does not mean to commit: break points, focused tests, debug output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

_SCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx")

LEFTOVERS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        (".py", ".pyi"),
        re.compile(
            r"^\s*(?:breakpoint\(\)|(?:import|from)\s+(?:pdb|ipdb|pudb|wdb)\b"
            r"|(?:i?pdb|pudb|wdb)\.set_trace\(|print\(\s*f?[\"'](?:DEBUG|XXX|>>>|!!!))"
        ),
    ),
    (
        _SCRIPT,
        re.compile(r"^\s*debugger\s*;?\s*$|^\s*(?:describe|it|test|context)\.only\(|^\s*f(?:it|describe)\("),
    ),
    ((".rb", ".rake"), re.compile(r"^\s*(?:binding\.(?:pry|irb|break)|byebug|debugger)\s*$")),
    ((".rs",), re.compile(r"\bdbg!\(")),
    ((".php",), re.compile(r"^\s*(?:var_dump|dd|xdebug_break)\(")),
    ((".go",), re.compile(r"^\s*(?:runtime\.Breakpoint\(\)|spew\.Dump\()")),
    ((".java", ".kt", ".kts"), re.compile(r"\bnew (?:Exception|Throwable)\([^)]*\)\.printStackTrace\(\)")),
    ((".sh", ".bash"), re.compile(r"^\s*set -x\s*(?:#.*)?$")),
)
"""Ends of file names, and what no line of such files keeps on purpose. What many projects do on purpose (print,
console.log) is not among it."""

_KEPT = re.compile(r"noqa: ?T\d+|pragma: ?keep|patchwright: ?keep")
"""A comment that says so keeps the line."""


def check(change: Change) -> Iterator[Finding]:
    """New lines with one of them."""
    for file in change.regular_files:
        pattern = next((each for ends, each in LEFTOVERS if file.path.endswith(ends)), None)
        if pattern is None:
            continue
        for line, text in file.iterate_added_lines():
            if (match := pattern.search(text)) and not _KEPT.search(text):
                message = f"left over from debugging: {match[0].strip()}"
                yield Finding(check="leftovers", path=file.path, line=line, message=message)
