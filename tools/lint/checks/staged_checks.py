"""Checks of what is staged that need no program: each yields the findings of new lines, fast, and without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.lazy_pattern import compile_lazily
from tools.core.text import format_size
from tools.git.diff_hunks import Hunk
from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox

_MARKER = compile_lazily(r"(<{7}|>{7}|\|{7})( |$)")

_ALLOWED = compile_lazily(r"pragma: ?allowlist[ -]secret|gitleaks:allow", re.IGNORECASE)
"""Comments that exempt a line from well-known secret scanners."""

LARGE = 1_000_000
"""Bytes. Larger files are mostly dumps, builds and media; git keeps every version of them forever."""

_SCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx")

LEFTOVERS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    ((".py", ".pyi"), compile_lazily(
        r"^\s*(?:breakpoint\(\)|(?:import|from)\s+(?:pdb|ipdb|pudb|wdb)\b"
        r"|(?:i?pdb|pudb|wdb)\.set_trace\(|print\(\s*f?[\"'](?:DEBUG|XXX|>>>|!!!))")),
    (_SCRIPT, compile_lazily(
        r"^\s*debugger\s*;?\s*$|^\s*(?:describe|it|test|context)\.only\(|^\s*f(?:it|describe)\(")),
    ((".rb", ".rake"), compile_lazily(r"^\s*(?:binding\.(?:pry|irb|break)|byebug|debugger)\s*$")),
    ((".rs",), compile_lazily(r"\bdbg!\(")),
    ((".php",), compile_lazily(r"^\s*(?:var_dump|dd|xdebug_break)\(")),
    ((".go",), compile_lazily(r"^\s*(?:runtime\.Breakpoint\(\)|spew\.Dump\()")),
    ((".java", ".kt", ".kts"), compile_lazily(r"\bnew (?:Exception|Throwable)\([^)]*\)\.printStackTrace\(\)")),
    ((".sh", ".bash"), compile_lazily(r"^\s*set -x\s*(?:#.*)?$")),
)  # fmt: skip
"""File name suffixes, and a pattern of lines that are never intended. Lines that many projects intend (print,
console.log) are not included."""

_KEPT = compile_lazily(r"noqa: ?T\d+|pragma: ?keep|patchwright: ?keep")
"""A comment that marks the line as intended."""


def check_conflicts(change: Change) -> Iterator[Finding]:
    """Yield new conflict markers, in files with both opening and closing ones: a lone one may be an underline."""
    for file in change.regular_files:
        found = [
            (line, match[1]) for line, text in file.iterate_added_lines() if (match := _MARKER.match(text))
        ]
        if {mark[0] for _, mark in found} >= {"<", ">"}:
            for line, mark in found:
                yield Finding(check="conflicts", path=file.path, line=line, message=f"conflict marker {mark}")


def check_secrets(change: Change) -> Iterator[Finding]:
    """Yield each place of a new key, token or private key, and its kind, never its value."""
    removed = "\n".join(line for file in change.files for line in file.iterate_removed_lines())
    for file in change.regular_files:
        for line, kind in (each for hunk in file.hunks for each in find_new_secrets(hunk, removed)):
            message = f"looks like a secret: {kind} (`pragma: allowlist secret` on its line if it is made up)"
            yield Finding(check="secrets", path=file.path, line=line, message=message)


def find_new_secrets(hunk: Hunk, removed: str) -> Iterator[tuple[int, str]]:
    """Yield (line, kind) of each secret that is neither moved (found in `removed`) nor allowed by a comment."""
    from sandbox.secrets.redaction import find_secrets

    text = "\n".join(hunk.added)
    for each in find_secrets(text):
        before = text.count("\n", 0, each.start)
        if text[each.start : each.end] not in removed and not _ALLOWED.search(hunk.added[before]):
            yield hunk.line + before, each.kind


def check_leftovers(change: Change) -> Iterator[Finding]:
    """Yield new lines with debugging code: breakpoints, focused tests, debug output."""
    for file in change.regular_files:
        pattern = next((each for ends, each in LEFTOVERS if file.path.endswith(ends)), None)
        for line, text in file.iterate_added_lines() if pattern is not None else ():
            if pattern is not None and (match := pattern.search(text)) and not _KEPT.search(text):
                message = f"left over from debugging: {match[0].strip()}"
                yield Finding(check="leftovers", path=file.path, line=line, message=message)


def check_sizes(change: Change) -> Iterator[Finding]:
    """Yield new files above the limit, and those that grow beyond it."""
    large = [each for each in change.files if each.is_regular and each.size > LARGE]
    before = change.git.read_blob_sizes([each.old for each in large if each.old])
    for file in large:
        if before.get(file.old, 0) <= LARGE:
            message = (
                f"{format_size(file.size)}, more than {format_size(LARGE)}: leave it out, or use git LFS"
            )
            yield Finding(check="sizes", path=file.path, line=0, message=message)


def check_weakened(change: Change) -> Iterator[Finding]:
    """Yield, as warnings, the signs that a turn is judged by: whoever commits may intend each, and should know."""
    from tools.lint.honesty.scan import build_change_set, find_signs

    for sign in find_signs(build_change_set(change, root=change.git.root)):
        yield replace(sign, check="weakened", severity="warning")


def check_syntax(change: Change, confined: Callable[[], Sandbox] | None = None) -> Iterator[Finding]:
    """Yield new syntax errors, in every language that has a grammar: existing ones are not this commit's.

    confined: creates the sandbox for the project's compilers, if one is asked; without it none is
    """
    from tools.code.syntax import find_certain_problems
    from tools.code.syntax.compilers import Compilers

    compilers = Compilers(change.git.root, confined) if confined is not None else None
    for file in change.regular_files:
        after = change.read_text(file.new)
        before = change.read_text(file.old) if file.old else None
        for problem in find_certain_problems(file.path, before, after, compilers) if after else ():
            yield Finding(check="syntax", path=file.path, line=problem.line, message=problem.message)


CHECKS: Mapping[str, Callable[[Change], Iterator[Finding]]] = {
    "conflicts": check_conflicts,
    "secrets": check_secrets,
    "syntax": check_syntax,
    "leftovers": check_leftovers,
    "sizes": check_sizes,
    "weakened": check_weakened,
}
"""By the name by which people skip it; beside them are `linters`, which run programs of the project."""
