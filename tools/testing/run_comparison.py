"""Comparison of two runs of one suite: only a test that passes counts as passed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

_SUBTEST = re.compile(r" [(\[].*")
"""Suffix that unittest adds to the id of a test whose subtest failed."""

_FIXTURE = re.compile(r"\.(?:setUp|tearDown)(?:Class|Module)$")
"""unittest's names of class and module fixtures, which are reported as failures but are not tests."""


def count_lost_tests(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return how many tests of the earlier run neither pass nor fail in the later one: they are skipped, expected to
    fail, deselected, or not collected any more.

    before, after: reports of the whole suite as plain data. Runs that were not counted, or were made by different
    runners, cannot be compared: 0. Where tests are not named, those that are new may hide as many that are lost.
    """
    reports = (before, after)
    if before.get("runner") != after.get("runner") or any(_is_uncounted(each) for each in reports):
        return 0
    fewer = _count_passed(before) + _count_failed(before) - _count_passed(after) - _count_failed(after)
    return max(0, fewer, _count_newly_skipped(before, after))


def describe_loss(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return one sentence that names the tests that were lost between two runs; "" if none was."""
    lost = count_lost_tests(before, after)
    if not lost:
        return ""
    tests = "1 test that was run before is" if lost == 1 else f"{lost} tests that were run before are"
    return f"{tests} skipped or gone: only a test that passes is passed"


def strip_subtest(name: str) -> str:
    """Return the id of a test without the suffix of a subtest."""
    return _SUBTEST.sub("", name)


def _is_uncounted(report: Mapping[str, Any]) -> bool:
    return (
        not report.get("counted", True)
        or bool(report.get("targets"))
        or report.get("outcome") not in ("passed", "failed", "no-tests")
    )


def _count_passed(report: Mapping[str, Any]) -> int:
    return int(report.get("passed") or 0)


def _count_failed(report: Mapping[str, Any]) -> int:
    """Count the failed tests: one may fail in several subtests, or again in its teardown."""
    number = int(report.get("failed") or 0) + int(report.get("errors") or 0)
    names = [str(each.get("id", "")) for each in report.get("failures", ())]
    return len(_list_failing_tests(report)) if number and len(names) >= number else number


def _list_failing_tests(report: Mapping[str, Any]) -> set[str]:
    names = {strip_subtest(str(each.get("id", ""))) for each in report.get("failures", ())}
    return {name for name in names if not _FIXTURE.search(name)}


def _count_newly_skipped(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Count the tests that passed or failed before and are skipped now, if all are named."""
    if any(len(each.get("passed_tests", ())) != _count_passed(each) for each in (before, after)):
        return 0
    ran, runs = (
        _count_by_function([*each.get("passed_tests", ()), *_list_failing_tests(each)])
        for each in (before, after)
    )
    was_skipped, skipped = (_count_by_function(each.get("skipped_tests", ())) for each in (before, after))
    return ((ran - runs) & (skipped - was_skipped)).total()


def _count_by_function(names: Iterable[str]) -> Counter[str]:
    """Count the tests of each function: ids of parameters may differ between runs."""
    return Counter(name.partition("[")[0] for name in names)
