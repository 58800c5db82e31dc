"""Command lines and files of checkers by tests that share a process with the program under test.

Such a program can end the process as it likes, so that no exit code alone counts: see the two scripts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packages.evaluation.suites import report_judge
from packages.evaluation.suites.programs import tests_judge

TESTS_JUDGE = "patchwright_tests.py"
REPORT_JUDGE = "patchwright_report.py"
REPORT = "patchwright-report.xml"
"""Files of the worktree while a checker runs."""


def build_tests_check(kind: str, names: Sequence[str], python: str = "python3") -> str:
    """Return the command line for published tests in Python. kind: one of `tests_judge.KINDS`; python: as in a shell"""
    import shlex

    return f"{python} -I -B {TESTS_JUDGE} {kind} {shlex.join(names)}"


def read_tests_judge() -> dict[str, bytes]:
    """Return the file that the command line of `build_tests_check` needs."""
    return {TESTS_JUDGE: Path(tests_judge.__file__).read_bytes()}


def add_report_check(command: str, least: int) -> str:
    """Return the command line of a pytest run that counts by its report. least: tests that have to pass"""
    report = f"rm -f {REPORT} && {command} --junitxml={REPORT}"
    return f"{report} && python3 -I -B {REPORT_JUDGE} {REPORT} {least}"


def read_report_judge() -> dict[str, bytes]:
    """Return the file that the command line of `add_report_check` needs."""
    return {REPORT_JUDGE: Path(report_judge.__file__).read_bytes()}
