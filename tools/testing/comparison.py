"""Two runs of one suite compared: only a test that passes is passed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def count_lost(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return how many tests of the earlier run neither pass nor fail in the later one: they are skipped, expected to
    fail, deselected, or not collected any more.

    before, after: reports of the whole suite as plain data. Runs that were not counted, or were made by different
    runners, cannot be compared: 0. Tests that are new may hide as many that are lost.
    """
    reports = (before, after)
    if before.get("runner") != after.get("runner") or any(_is_uncounted(each) for each in reports):
        return 0
    known = _passed(before) + _bad(before)
    return max(0, known - _passed(after) - _bad(after))


def describe_loss(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return one sentence that names the tests that were lost between two runs; "" if none was."""
    lost = count_lost(before, after)
    if not lost:
        return ""
    tests = "1 test that was run before is" if lost == 1 else f"{lost} tests that were run before are"
    return f"{tests} skipped or gone: only a test that passes is passed"


def _is_uncounted(report: Mapping[str, Any]) -> bool:
    return (
        not report.get("counted", True)
        or bool(report.get("targets"))
        or report.get("outcome") not in ("passed", "failed", "no-tests")
    )


def _passed(report: Mapping[str, Any]) -> int:
    return int(report.get("passed") or 0)


def _bad(report: Mapping[str, Any]) -> int:
    return int(report.get("failed") or 0) + int(report.get("errors") or 0)
