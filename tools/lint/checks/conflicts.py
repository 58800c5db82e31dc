"""Conflict markers that a merge left behind."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily
from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

_MARKER = compile_lazily(r"(<{7}|>{7}|\|{7})( |$)")


def check(change: Change) -> Iterator[Finding]:
    """Yield new conflict markers, in files with both opening and closing ones: a lone one may be an underline."""
    for file in change.regular_files:
        found = [
            (line, match[1]) for line, text in file.iterate_added_lines() if (match := _MARKER.match(text))
        ]
        if {mark[0] for _, mark in found} >= {"<", ">"}:
            for line, mark in found:
                yield Finding(check="conflicts", path=file.path, line=line, message=f"conflict marker {mark}")
