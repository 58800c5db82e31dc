"""Tests that were there before a turn and do not run at its end: a change of files that decides which tests run.

The tests of the state before the turn are listed in a copy of it, and only where a change could have narrowed them:
a file of tests, of expected results or of the setup of tests, or a mark that makes or skips a test.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.testing.run_comparison import list_lost_tests

MOST_RERUN = 60
"""Skipped tests that are run in the state before the turn, to see whether they ran there."""

_MARK = compile_lazily(
    r"#\[(?:\w+::)*(?:test|ignore|cfg\(test)|\bTEST(?:_F|_P)?\(|@(?:Test|Disabled|Ignore|ParameterizedTest)\b|^\s*>>> "
    r"|\b(?:it|test|describe)(?:\.\w+)?\(|\bt\.Skip|\b(?:importorskip|skipif?|SkipTest|__test__|collect_ignore\w*)\b",
    re.MULTILINE,
)
"""Marks that make a test of code, or leave one out."""

_SETTINGS = compile_lazily(
    r"\.(?:ini|cfg|toml|json|ya?ml|mk|sh|cmake|gradle|kts|xml|env|pth)$|(?:^|/)[\w.]*[Mm]akefile$"
)


def decides_tests(sides: Mapping[str, tuple[bytes | None, bytes | None]]) -> bool:
    """Return whether one of the changes could leave tests out. sides: contents before and after, by path"""
    return any(map(_decides_tests, sides, sides.values()))


def _decides_tests(path: str, sides: tuple[bytes | None, bytes | None]) -> bool:
    from tools.lint.honesty.file_changes import find_role

    before, after = sides
    role = find_role(path)
    if role == "test":
        return before is not None or PurePosixPath(path).name in ("__init__.py", "conftest.py")
    if role in ("setup", "expected") or _SETTINGS.search(path):
        return True
    counts = [len(_MARK.findall((each or b"").decode("utf-8", "replace"))) for each in sides]
    return counts[0] != counts[1] and (counts[0] > 0 or b"skip" in (after or b""))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedTests:
    """Tests of the state before a turn, from a report of that state in which all are named.

    is_listing: they were collected and not run, so that those that were skipped are among them
    """

    report: Mapping[str, Any]
    is_listing: bool

    def list_lost(self, report: Mapping[str, Any], ran: Sequence[str], skipped: Sequence[str]) -> list[str]:
        """Return the tests that do not run any more; for a listing, those that are skipped now are not among them.

        report: of the whole suite now; ran, skipped: all names of its tests
        """
        before, now = self._list_names(), [*ran, *(skipped if self.is_listing else ())]
        if before and now and self.report.get("runner") == report.get("runner"):
            return list_lost_tests(before, now)
        if not self._is_counted(self.report) or (before and not now and report.get("runner") == ""):
            return []
        fewer = self._count(self.report) - (self._count(report) if self._is_counted(report) else 0)
        return before[:fewer] or [f"{fewer} tests of {self.report.get('command')}"] if fewer > 0 else []

    def list_skipped(self, skipped: Collection[str]) -> list[str]:
        """Return the tests of a listing that are skipped now, and may have run before."""
        return [each for each in skipped if each in set(self._list_names())] if self.is_listing else []

    def _list_names(self) -> list[str]:
        failed = [str(each.get("id", "")) for each in self.report.get("failures", ())]
        return [*self.report.get("passed_tests", ()), *dict.fromkeys(failed)]

    @staticmethod
    def _is_counted(report: Mapping[str, Any]) -> bool:
        return bool(report.get("counted", True)) and report.get("outcome") in ("passed", "failed")

    @staticmethod
    def _count(report: Mapping[str, Any]) -> int:
        return sum(int(report.get(each) or 0) for each in ("passed", "failed", "errors"))
