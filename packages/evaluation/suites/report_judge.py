"""Checker of a pytest report, in the sandbox, as a script without imports of ours, for Python 3.8 and later.

    report_judge.py REPORT LEAST

The exit code of pytest is the program's to choose: one that calls `os._exit(0)` ends it with success. pytest writes its
report (JUnit's XML) after the last test, so that the report has to be there, with as many passed tests as ever before.
"""

from __future__ import annotations

import sys
from xml.etree import ElementTree

COUNTS = ("tests", "failures", "errors", "skipped")


def judge_report(path: str, least: int) -> str:
    """Return why a report does not count, "" if it does. least: tests that have to pass"""
    try:
        suites = list(ElementTree.parse(path).getroot().iter("testsuite"))
        counts = {name: sum(int(each.get(name, "0")) for each in suites) for name in COUNTS}
    except (OSError, ValueError, ElementTree.ParseError):
        return "the tests did not come to their end: there is no report"
    # Not its elements: a test that stopped the run has one, too.
    passed = counts.pop("tests") - sum(counts.values())
    if counts["failures"] + counts["errors"]:
        return "%d tests failed" % (counts["failures"] + counts["errors"])
    if passed < max(least, 1):
        return "only %d tests passed, where %d should" % (passed, max(least, 1))
    return ""


if __name__ == "__main__":
    problem = judge_report(sys.argv[1], int(sys.argv[2]))
    if problem:
        print(problem)
    sys.exit(1 if problem else 0)
