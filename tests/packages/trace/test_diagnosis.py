"""Failures with a planted first error, each found at its step; and what is no failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from packages.trace.diagnosis import Diagnosis, diagnose
from packages.trace.local_faults import (
    AGAINST_RULES,
    DEVIATION,
    ENVIRONMENT,
    FORMATTING,
    MADE_UP_TOOL,
    MISREAD,
    RATE,
    REPEATED,
    TIMEOUT,
    UNFOUNDED_CLAIM,
    UNREAD,
    WRONG_PLACE,
)
from packages.trace.rows.traced_sessions import read_traces
from tests.packages.trace.written_logs import Log

DIFF = "--- a/cart.py\n+++ b/cart.py\n@@ -1 +1 @@\n-a\n+b\n"
CART = {"path": "cart.py"}


def an_edit_breaks_a_test_that_passed(log: Log) -> str:
    log.step("read", CART, "a = 1")
    log.tests(2)
    planted = log.step("edit", CART, "changed", diff=DIFF)
    log.step("edit", {"path": "README.md"}, "changed", diff="--- a/README.md\n")
    log.tests(1, "test_cart.py::total", message="cart.py:3: in total")
    log.say("I could not mend it.")
    log.end("tests-fail", 1)
    return planted


def an_edit_of_a_file_that_was_not_read_breaks_a_test(log: Log) -> str:
    log.step("read", {"path": "README.md"}, "A shop.")
    log.tests(2)
    planted = log.step("edit", CART, "changed", diff=DIFF)
    log.tests(1, "test_cart.py::total")
    log.end("tests-fail", 1)
    return planted


def an_early_slip_is_recovered_and_a_later_edit_breaks_a_test(log: Log) -> str:
    log.step("read", {"path": "src/cart.py"}, "read: no such file: src/cart.py", failed=True)
    log.step("read", CART, "a = 1")
    log.tests(2)
    log.step("edit", CART, "no place matches", failed=True)
    planted = log.step("edit", CART, "changed", diff=DIFF)
    log.tests(1, "test_cart.py::total")
    log.end("tests-fail", 1)
    return planted


def the_wrong_file_is_edited(log: Log) -> str:
    log.tests(1, "test_cart.py::total", message="cart.py:3: in total")
    log.step("read", {"path": "label.py"}, "b = 1")
    planted = log.step("edit", {"path": "label.py"}, "changed", diff=DIFF)
    log.tests(1, "test_cart.py::total", message="cart.py:3: in total")
    log.end("tests-fail", 1)
    return planted


def a_tool_is_made_up(log: Log) -> str:
    log.step("read", CART, "a = 1")
    planted = log.step("magic_fix", CART, "there is no tool 'magic_fix'. Tools: read, edit", failed=True)
    log.say("I cannot go on.")
    log.end("not-achieved", 13)
    return planted


def a_path_is_made_up(log: Log) -> str:
    log.step("shell", {"command": "ls"}, "exit 0\ncart.py", exit=0)
    planted = log.step(
        "read", {"path": "src/totals/engine.py"}, "no such file: src/totals/engine.py", failed=True
    )
    log.say("The file is missing, so I stop.")
    log.end("not-achieved", 13)
    return planted


def two_readings_alternate_until_the_limit(log: Log) -> str:
    log.step("search", {"pattern": "total"}, "cart.py:3")
    log.step("read", CART, "a = 1")
    log.step("read", {"path": "label.py"}, "b = 1")
    planted = log.step("read", CART, "a = 1")
    log.step("read", {"path": "label.py"}, "b = 1")
    log.step("read", CART, "a = 1")
    log.step("read", {"path": "label.py"}, "b = 1")
    log.end("limit", 4)
    return planted


def a_package_is_missing(log: Log) -> str:
    log.step("read", CART, "import numpy")
    planted = log.step("shell", {"command": "python cart.py"}, "exit 1\nNo module named 'numpy'", exit=1)
    log.step("shell", {"command": "ls"}, "exit 0\ncart.py", exit=0)
    log.say("It cannot be run here.")
    log.end("not-achieved", 13)
    return planted


def a_command_does_not_end(log: Log) -> str:
    planted = log.step("shell", {"command": "npm start"}, "timed out after 120 s", failed=True)
    log.step("shell", {"command": "npm start --verbose"}, "timed out after 120 s", failed=True)
    log.say("It hangs.")
    log.end("not-achieved", 13)
    return planted


def a_call_cannot_be_read(log: Log) -> str:
    log.step("read", CART, "a = 1")
    asked = {"id": "x1", "tool": "edit", "raw": "{path: cart", "problem": "the arguments are no JSON"}
    planted = log.event("message", actions=[asked], model="m")
    log.event("observation", call="x1", tool="edit", text="the arguments are no JSON", failed=True)
    log.say("I give up.")
    log.end("not-achieved", 13)
    return planted


def the_end_is_claimed_without_evidence(log: Log) -> str:
    log.step("read", CART, "a = 1")
    log.step("edit", CART, "changed", diff=DIFF)
    planted = log.say("Fixed: all tests pass now.")
    log.event("verification", outcome="unverified", detail="no tests ran")
    log.end("not-achieved", 13)
    return planted


def a_provider_refuses_more_requests(log: Log) -> str:
    log.step("read", CART, "a = 1")
    planted = log.event("error", fault="model-unreachable", message="429 Too Many Requests, after 5 tries")
    log.end("model-unreachable", 7)
    return planted


def the_model_only_looks(log: Log) -> str:
    log.step("read", CART, "a = 1")
    log.tests(1, "test_cart.py::total")
    planted = log.say("The total is computed in cart.py.")
    log.end("tests-fail", 1)
    return planted


def text_of_a_file_is_sent_as_a_command(log: Log) -> str:
    log.step("read", CART, "a = 1")
    told = "bash: line 7: syntax error near unexpected token `newline'"
    planted = log.step("shell", {"command": "import cart\nconfigure("}, told, failed=True, exit=2)
    log.say("I stop.")
    log.end("not-achieved", 13)
    return planted


def it_says_goodbye_instead_of_working(log: Log) -> str:
    log.step("read", CART, "a = 1")
    log.step("shell", {"command": "ls src"}, "cart.py", exit=0)
    planted = log.step("shell", {"command": "echo 'It cannot be done here.'"}, "It cannot be …", exit=0)
    log.step("shell", {"command": "echo Goodbye."}, "Goodbye.", exit=0)
    log.say("Goodbye.")
    log.end("not-achieved", 13)
    return planted


def its_only_change_is_of_the_wrong_file_and_untested(log: Log) -> str:
    log.step("edit", {"path": "trial.py"}, "changed", diff="--- /dev/null\n+++ b/trial.py\n+import cart\n")
    log.step("read", CART, "a = 1")
    planted = log.step("edit", CART, "changed", diff=DIFF)
    log.step("edit", CART, "changed", diff=DIFF)
    log.say("The message names the right format.")
    log.end("not-achieved", 13)
    return planted


def other_edits_fail_until_the_limit(log: Log) -> str:
    log.step("read", CART, "a = 1")
    planted = log.step("edit", {**CART, "old": "b = 1"}, "no place matches", failed=True)
    log.step("edit", {**CART, "old": "c = 1"}, "found twice, at lines 3 and 9", failed=True)
    log.step("edit", {**CART, "old": "d"}, "the file would not parse", failed=True)
    log.end("limit", 4)
    return planted


def a_call_stands_in_the_words_of_the_answer(log: Log) -> str:
    log.step("read", CART, "a = 1")
    planted = log.say('```json\n{"name": "edit", "arguments": {"path": "cart.py"\n```')
    log.end("not-achieved", 13)
    return planted


def empty_replies_end_the_turn(log: Log) -> str:
    log.say("")
    log.step("read", CART, "a = 1")
    planted = log.say("")
    log.say(" ")
    log.say("")
    log.end("not-achieved", 13)
    return planted


NO_RUNNER = {"outcome": "no-runner", "passed": 0, "failed": 0, "errors": 0, "failures": []}


def a_file_is_changed_unread_and_nothing_can_be_run(log: Log) -> str:
    planted = log.step("edit", CART, "changed", diff=DIFF)
    log.step("run_tests", {}, "tests were not run: no runner found", failed=True, report=NO_RUNNER)
    log.say("The total was moved.")
    log.end("not-achieved", 13)
    return planted


def a_slip_is_made_good_by_another_tool_and_a_question_answered_by_an_edit(log: Log) -> str:
    log.step(
        "read", {**CART, "start": 50}, "read: start=50 is beyond the end: there are 5 lines", failed=True
    )
    log.step("search", {"pattern": "LIMIT", "path": "cart.py"}, "cart.py\n  4: LIMIT = 308")
    planted = log.step("edit", CART, "changed", diff=DIFF)
    log.say("")
    log.say("I did not get a response from read.")
    log.event("verification", outcome="unverified", detail="no test runner found", report=NO_RUNNER)
    log.end("not-achieved", 13)
    return planted


def a_command_that_was_asked_about_fails_and_another_does_not_end(log: Log) -> str:
    log.prompt("`python crash.py` ends with an error. What is its type?")
    log.step("shell", {"command": "python crash.py"}, "exit 1\nZeroDivisionError", failed=True, exit=1)
    text = "interrupted; it may have taken effect in part"
    planted = log.step("shell", {"command": "tail -f crash.py"}, text, failed=True)
    log.end("limit", 4)
    return planted


@pytest.mark.parametrize(
    ("story", "kind"),
    [
        (a_command_that_was_asked_about_fails_and_another_does_not_end, TIMEOUT),
        (a_file_is_changed_unread_and_nothing_can_be_run, UNREAD),
        (a_slip_is_made_good_by_another_tool_and_a_question_answered_by_an_edit, WRONG_PLACE),
        (other_edits_fail_until_the_limit, MISREAD),
        (a_call_stands_in_the_words_of_the_answer, FORMATTING),
        (empty_replies_end_the_turn, AGAINST_RULES),
        (an_edit_breaks_a_test_that_passed, WRONG_PLACE),
        (an_edit_of_a_file_that_was_not_read_breaks_a_test, UNREAD),
        (an_early_slip_is_recovered_and_a_later_edit_breaks_a_test, WRONG_PLACE),
        (the_wrong_file_is_edited, WRONG_PLACE),
        (text_of_a_file_is_sent_as_a_command, FORMATTING),
        (it_says_goodbye_instead_of_working, DEVIATION),
        (its_only_change_is_of_the_wrong_file_and_untested, WRONG_PLACE),
        (a_tool_is_made_up, MADE_UP_TOOL),
        (a_path_is_made_up, MADE_UP_TOOL),
        (two_readings_alternate_until_the_limit, REPEATED),
        (a_package_is_missing, ENVIRONMENT),
        (a_command_does_not_end, TIMEOUT),
        (a_call_cannot_be_read, FORMATTING),
        (the_end_is_claimed_without_evidence, UNFOUNDED_CLAIM),
        (a_provider_refuses_more_requests, RATE),
        (the_model_only_looks, DEVIATION),
    ],
)
def test_the_planted_first_error_is_found(tmp_path: Path, story: Callable[[Log], str], kind: str) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("Mend total, so that the tests pass.")
    planted = story(log)
    found = read(log)
    assert found is not None
    assert (found.event, found.kind, found.agent) == (planted, kind, "")
    assert len(found.evidence) >= 2
    assert found.evidence[0].startswith(("step", "error"))
    assert found.evidence[-1].startswith("end")


def read(log: Log) -> Diagnosis | None:
    return diagnose(read_traces(log.folder))


def test_the_agent_whose_error_it_was_is_named(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("Mend total.")
    log.event("child", child="s2", state="started", agent="fixer", prompt="mend it")
    child = Log(tmp_path / "s2")
    child.prompt("mend it")
    planted = an_edit_breaks_a_test_that_passed(child)
    log.event("child", child="s2", state="ended", outcome="tests-fail", exit_code=1)
    log.say("The fixer failed.")
    log.end("tests-fail", 1)
    found = read(log)
    assert found is not None
    assert (found.session, found.event, found.agent, found.step) == ("s2", planted, "fixer", 3)


def test_sessions_that_name_each_other_are_diagnosed(tmp_path: Path) -> None:
    for own, other in (("s1", "s2"), ("s2", "s1")):
        log = Log(tmp_path / own)
        log.prompt("mend it")
        log.event("child", child=other, state="ended", outcome="tests-fail", exit_code=1)
        log.end("tests-fail", 1)
    found = diagnose(read_traces(tmp_path / "s1"))
    assert found is not None
    assert found.session == "s2"


def test_a_session_that_did_not_fail_has_no_diagnosis(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.step("read", CART, "no such file: cart.py", failed=True)
    assert read(log) is None, "it has not ended"
    log.end("done", 0)
    assert read(log) is None
    log.prompt("again")
    log.end("nothing-to-do", 3)
    assert read(log) is None
    log.prompt("and again")
    log.step("edit", CART, "changed", diff=DIFF)
    log.end("no-test-runner", 10)
    assert read(log) is None, "nobody could check it"


def test_a_result_that_is_known_to_be_wrong_is_diagnosed(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("Change the limit to 5.")
    planted = log.say("The limit is 5 now. Done.")
    log.end("done", 0)
    found = diagnose(read_traces(log.folder), is_wrong=True)
    assert found is not None
    assert (found.event, found.kind) == (planted, UNFOUNDED_CLAIM)
    assert found.evidence[-1].endswith("said to be wrong")
