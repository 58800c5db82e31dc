"""What a suite printed: cases, clusters of failures alike, and what a change gained and lost."""

from __future__ import annotations

from packages.evaluation.analysis.suite_cases import SuiteCases, cluster_failures, describe_change, read_cases

OUTPUT = """TAP version 13
1..5
ok 1 - add
not ok 2 - date 3 # ValueError: '2026-13-01' in /tmp/a.py line 7
ok subtract
not ok 4 - date 11 # ValueError: '1999-00-01' in /tmp/b.py line 9
not ok 5 - name
"""


def test_cases_are_read_and_failures_alike_are_one_cluster() -> None:
    cases = read_cases(OUTPUT)
    assert cases.passed == {"add", "subtract"}
    assert list(cases.failed) == ["date 3", "date 11", "name"]
    largest, other = cluster_failures(cases)
    assert (largest.names, other.names) == (("date 11", "date 3"), ("name",))
    assert "2 cases fail with: ValueError" in largest.describe()


def test_a_case_that_is_printed_twice_has_to_pass_twice() -> None:
    assert read_cases("not ok a # x\nok a\n").passed == frozenset()


def test_a_run_without_cases_says_nothing() -> None:
    assert read_cases("5 passed\n").problem


def test_a_gain_holds_in_each_run_and_a_loss_in_one() -> None:
    before = SuiteCases(passed=frozenset("ab"), failed={"c": "x", "d": "x"})
    runs = [
        SuiteCases(passed=frozenset("abcd"), failed={}),
        SuiteCases(passed=frozenset("bc"), failed={"d": "x"}),
    ]
    assert describe_change(before, runs) == (["c"], ["a"])


def test_a_case_that_is_skipped_did_not_pass() -> None:
    assert read_cases("ok 1 - a\nok 2 - b # SKIP no network\n").passed == {"a"}


def test_a_long_line_is_read_in_linear_time() -> None:
    assert read_cases(f"ok a{' ' * 200_000}b\n").passed == {f"a{' ' * 200_000}b"}
