"""Classes of failures, from reports of real kinds, and the remedy that follows each."""

from __future__ import annotations

from typing import Any

import pytest

from agent.exit_codes import Exit
from agent.strategy.failure_classes import Failure, FailureEvidence, classify_failure
from agent.strategy.refinement import choose_remedy
from tools.testing.failure_signature import FailureSignature


def report(outcome: str = "failed", **messages: str) -> dict[str, Any]:
    failures = [{"id": name, "message": message} for name, message in messages.items()]
    return {"outcome": outcome, "failed": len(failures), "failures": failures}


BEFORE = report(test_total="assert -3 == 3")


def classify(after: dict[str, Any], code: Exit = Exit.TESTS_FAIL, **more: Any) -> Failure:
    given: dict[str, Any] = {"before": BEFORE, "files": ["cart.py"], "modules": {"cart"}, **more}
    return classify_failure(FailureEvidence(exit_code=int(code), report=after, **given))


@pytest.mark.parametrize(
    ("after", "kind", "remedy"),
    [
        (report("broken", test_cart="SyntaxError: '(' was never closed"), "does not parse", "mend"),
        (report("broken", test_cart="ImportError: cannot import name 'x'"), "does not import", "mend"),
        (report("broken", test_cart="No module named 'cart.tax'"), "does not import", "mend"),
        (report("broken", test_cart="NameError: name 'Y' is not defined"), "does not import", "mend"),
        (
            report("broken", test_cart="ModuleNotFoundError: No module named 'numpy'"),
            "environment",
            "fix the environment",
        ),
        (report(test_total="assert -3 == 3"), "wrong place", "replan"),
        (report(test_total="assert 4 == 3"), "wrong behaviour", "mend"),
        (report(test_mail="KeyError: 'to'"), "broke others", "mend"),
        (report(test_total="assert -3 == 3", test_mail="KeyError: 'to'"), "broke others", "mend"),
        (report("timeout"), "wrong behaviour", "mend"),
    ],
)
def test_each_stage_has_its_class_and_remedy(after: dict[str, Any], kind: str, remedy: str) -> None:
    found = classify(after)
    assert (found.kind, found.remedy) == (kind, remedy)


def test_an_obstacle_says_nothing_about_the_change() -> None:
    assert classify({}, Exit.NO_TEST_RUNNER).remedy == "fix the environment"
    assert classify({}, Exit.DENIED).remedy == "ask"
    assert classify({}, Exit.LIMIT).kind == classify({}, Exit.INTERRUPTED).kind == "cut off"
    assert classify(report(test_total="assert 4 == 3"), Exit.LIMIT).kind == "wrong behaviour", "tests ran"
    assert classify({}, Exit.NOT_ACHIEVED, files=[]).kind == "wrong approach"


def test_the_same_failure_after_another_change_is_a_wrong_approach() -> None:
    first = classify(report(test_total="assert 4 == 3"))
    again = classify(report(test_total="assert 4 == 3"), known=[first.signatures])
    assert (again.kind, again.remedy) == ("wrong approach", "restart")
    other = classify(report(test_total="assert 5 == 3"), known=[first.signatures])
    assert other.kind == "wrong behaviour", "something new was learnt"


def test_a_retry_needs_new_evidence() -> None:
    signs = frozenset({FailureSignature(id="test_total", exception="", message="4")})
    mend = Failure(kind="wrong behaviour", remedy="mend", evidence="4", signatures=signs)
    restart = Failure(kind="wrong approach", remedy="restart", evidence="4 again", signatures=signs)
    assert choose_remedy(mend, []) == "mend"
    assert choose_remedy(restart, [mend]) == "restart"
    assert choose_remedy(restart, [mend, restart]) is None, "a new beginning was made, and said the same"
    ask = Failure(kind="environment", remedy="ask", evidence="the attempt ended as denied")
    assert choose_remedy(ask, [ask, ask]) == "ask"
