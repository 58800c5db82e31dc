"""Comparison of two runs of one suite: only a test that passes counts as passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.lazy_pattern import compile_lazily
from tools.core.text import join_names

MOST_NAMED = 5
"""Lost tests that are named: the first show the kind of change."""

_SUBTEST = compile_lazily(r" [(\[].*")
"""Suffix that unittest adds to the id of a test whose subtest failed."""

_RESULTS = ("passed", "failed", "errors", "skipped", "xfailed", "xpassed")

_FIXTURE = compile_lazily(r"\.(?:setUp|tearDown)(?:Class|Module)$")
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
    fewer = _count_run_tests(before) - _count_run_tests(after)
    return max(0, fewer, _count_newly_skipped(before, after), len(_list_gone(before, after)))


def describe_loss(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return one sentence that names the tests that were lost between two runs; "" if none was."""
    lost = count_lost_tests(before, after)
    if not lost:
        return ""
    names = (
        list_lost_tests(_list_run_tests(before), _list_run_tests(after)) if _is_named(before, after) else []
    )
    tests = "1 test that was run before is" if lost == 1 else f"{lost} tests that were run before are"
    named = f" ({join_names(names, MOST_NAMED)})" if len(names) == lost else ""
    return f"{tests} skipped or gone{named}: only a test that passes is passed"


def list_lost_tests(before: Iterable[str], ran: Iterable[str]) -> list[str]:
    """Return the names of tests that are not among those that ran, without parameters, one for each that is missing.

    A test that runs under another path, as in a file that was moved, is not missing. As many tests may have another
    name as there are new ones in their file: whether one of them is weaker is for those to judge who see its text.
    """
    known, now = _count_by_function(before), _count_by_function(ran)
    lost, new = list((known - now).elements()), Counter((now - known).elements())
    for get_key in (_get_last_name, _get_place):
        others: dict[str, list[str]] = {}
        for name in reversed(list(new.elements())):
            others.setdefault(get_key(name), []).append(name)
        left = []
        for name in lost:
            if same := others.get(get_key(name)):
                new.subtract([same.pop()])
            else:
                left.append(name)
        lost = left
    return sorted(lost)


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


def _count_run_tests(report: Mapping[str, Any]) -> int:
    """Count the tests that passed or failed: one that did both, in a subtest or its teardown, is one."""
    results = sum(int(report.get(kind) or 0) for kind in _RESULTS)
    repeated = results - int(report.get("collected") or results)
    failed = int(report.get("failed") or 0) + int(report.get("errors") or 0)
    return _count_passed(report) + min(failed - repeated, _count_failed(report))


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
    if not _is_named(before, after):
        return 0
    ran, runs = (_count_by_function(_list_run_tests(each)) for each in (before, after))
    was_skipped, skipped = (_count_by_function(each.get("skipped_tests", ())) for each in (before, after))
    return ((ran - runs) & (skipped - was_skipped)).total()


def _list_gone(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the tests that are not there any more under any path, if all are named: new ones hide none of them."""
    if not _is_named(before, after):
        return []
    return list_lost_tests(
        _list_run_tests(before), [*_list_run_tests(after), *after.get("skipped_tests", ())]
    )


def _is_named(*reports: Mapping[str, Any]) -> bool:
    """Return whether all tests that passed are named, except for those that failed as well."""
    return all(
        len(each.get("passed_tests", ()))
        in (_count_passed(each), _count_run_tests(each) - len(_list_failing_tests(each)))
        for each in reports
    )


def _list_run_tests(report: Mapping[str, Any]) -> list[str]:
    return [*report.get("passed_tests", ()), *_list_failing_tests(report)]


def _get_last_name(name: str) -> str:
    """Return the name of a test without the file or package that it is in."""
    return name.partition("::")[2] or name.rpartition("#")[2]


def _get_place(name: str) -> str:
    """Return the file or the package that a test is in."""
    return name.partition("::")[0] if "::" in name else name.rpartition("#")[0] or name.rpartition(".")[0]


def _count_by_function(names: Iterable[str]) -> Counter[str]:
    """Count the tests of each function: ids of parameters may differ between runs."""
    return Counter(name.partition("[")[0] for name in names)
