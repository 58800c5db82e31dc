"""Two failures are the same failure if only what varies from run to run differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools.testing.failure_signature import collect_signatures, has_complete_failures

ONE, OTHER = Path("/projects/shop"), Path("/cache/copies-1/0/shop")


def report(message: str, **changes: Any) -> dict[str, Any]:
    failure = {"id": "test_a.py::test_a", "message": message}
    return {"outcome": "failed", "failed": 1, "errors": 0, "failures": [failure], **changes}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("AssertionError: <Cart at 0x7f0aa1> is empty", "AssertionError: <Cart at 0x55d0b2> is empty"),
        ("TimeoutError: after 1.02 s", "TimeoutError: after 1.10 s"),
        (f"OSError: {OTHER}/data.csv is missing", f"OSError: {ONE}/data.csv is missing"),
        ("OSError: /tmp/pytest-of-me/pytest-0/x1", "OSError: /tmp/pytest-of-me/pytest-7/x1"),
        ("SyntaxError: cart.py:12 is wrong", "SyntaxError: cart.py:14 is wrong"),
        ("assert 5 == 6\n  +  where 5 = f()", "assert 5 == 6\n +  where 5 = f()"),
    ],
)
def test_what_varies_from_run_to_run_makes_no_difference(before: str, after: str) -> None:
    assert collect_signatures(report(before), OTHER) == collect_signatures(report(after), ONE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert 5 == 6", "assert 4 == 6"),
        ("KeyError: 'a'", "KeyError: 'b'"),
        ("KeyError: 'a'", "LookupError: 'a'"),
        ("assert None is True", "AttributeError: 'NoneType' object has no attribute 'total'"),
    ],
)
def test_another_message_or_type_is_another_failure(before: str, after: str) -> None:
    assert collect_signatures(report(before), ONE) != collect_signatures(report(after), ONE)


def test_the_type_of_the_exception_is_part_of_the_signature() -> None:
    [found] = collect_signatures(report("requests.exceptions.Timeout: no answer"), ONE)
    assert found.exception == "requests.exceptions.Timeout"


@pytest.mark.parametrize(
    "incomplete",
    [
        report("x", outcome="broken"),
        report("x", outcome="timeout"),
        report("x", failed=3),
        report(""),
        report("x", failures=[]),
    ],
)
def test_a_report_that_does_not_say_which_test_failed_and_why_has_no_baseline(
    incomplete: dict[str, Any],
) -> None:
    assert not has_complete_failures(incomplete)
    assert has_complete_failures(report("x"))
