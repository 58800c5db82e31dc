"""All ends of a turn: the verdict agrees with the files, the tests, the commit and what was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from agent.exit_codes import Exit
from agent.prompt.prompt_intent import PromptIntent
from agent.prompt.prompt_reader import read_intent
from agent.turn.turn_verdict import TurnFacts, explain_verdict, judge_turn

REPAIR = read_intent("make the failing tests pass")
CHANGE = read_intent("add a function two")
COMMITTED = read_intent("add a function two and commit it")
QUESTION = read_intent("what does f do?")
UNCLEAR = read_intent("the tests are failing")
COMMIT = read_intent("commit my changes")
RUN = read_intent("run the tests and tell me which fail")

DONE_WORK = {"is_modified": True, "changed": True, "looked": True}

ENDS: list[tuple[PromptIntent, dict[str, Any], Exit, str]] = [
    # (what is wanted, what is known, exit code, reason)
    (CHANGE, {**DONE_WORK, "tests": "passed", "commit": "made"}, Exit.DONE, ""),
    (CHANGE, {**DONE_WORK, "tests": "failed"}, Exit.TESTS_FAIL, ""),
    (CHANGE, {**DONE_WORK, "tests": "unverified"}, Exit.NO_TEST_RUNNER, ""),
    (CHANGE, {**DONE_WORK, "tests": "passed", "objected": True}, Exit.NOT_ACHIEVED, "a check objects"),
    (
        CHANGE,
        {**DONE_WORK, "tests": "passed", "commit": "withheld"},
        Exit.NOT_ACHIEVED,
        "the changes wait for you to commit them",
    ),
    (CHANGE, {**DONE_WORK, "tests": "passed", "commit": "failed"}, Exit.NOT_ACHIEVED, "the commit failed"),
    (CHANGE, {**DONE_WORK, "tests": "passed", "claimed": "not achieved"}, Exit.NOT_ACHIEVED, ""),
    (CHANGE, {}, Exit.NOT_ACHIEVED, "no file was changed"),
    (CHANGE, {"looked": True}, Exit.NOT_ACHIEVED, "no file was changed"),
    (CHANGE, {"says_needless": True}, Exit.NOT_ACHIEVED, "no file was changed"),
    (CHANGE, {"tried": True, "looked": True, "says_needless": True}, Exit.NOT_ACHIEVED, "no edit succeeded"),
    (CHANGE, {"looked": True, "says_needless": True}, Exit.DONE, ""),
    (CHANGE, {"claimed": "nothing to do"}, Exit.NOTHING_TO_DO, ""),
    (CHANGE, {"claimed": "nothing to do", "tried": True}, Exit.NOT_ACHIEVED, "no edit succeeded"),
    (CHANGE, {"denied": True}, Exit.DENIED, ""),
    (CHANGE, {"claimed": "proposed"}, Exit.NOT_ACHIEVED, ""),
    (CHANGE, {"gave_up": True}, Exit.NOT_ACHIEVED, ""),
    (CHANGE, {"is_modified": True, "tests": "passed"}, Exit.NOT_ACHIEVED, "no file was changed"),
    (
        COMMITTED,
        {**DONE_WORK, "tests": "passed", "can_commit": True},
        Exit.NOT_ACHIEVED,
        "no commit was made",
    ),
    (COMMITTED, {**DONE_WORK, "tests": "passed", "commit": "made", "can_commit": True}, Exit.DONE, ""),
    (REPAIR, {**DONE_WORK, "tests": "passed", "commit": "made"}, Exit.DONE, ""),
    (REPAIR, {**DONE_WORK, "tests": "passed", "gave_up": True}, Exit.DONE, ""),
    (REPAIR, {**DONE_WORK, "tests": "passed", "claimed": "not achieved"}, Exit.DONE, ""),
    (REPAIR, {**DONE_WORK, "tests": "failed", "gave_up": True}, Exit.TESTS_FAIL, ""),
    (REPAIR, {"tests": "passed"}, Exit.DONE, ""),
    (REPAIR, {"tests": "failed"}, Exit.TESTS_FAIL, ""),
    (REPAIR, {"claimed": "not achieved", "last_run": "failed"}, Exit.TESTS_FAIL, ""),
    (REPAIR, {"claimed": "not achieved", "last_run": "no-runner"}, Exit.NO_TEST_RUNNER, ""),
    (COMMIT, {"uncommitted": True}, Exit.NOT_ACHIEVED, "no commit was made"),
    (
        COMMIT,
        {"uncommitted": True, "looked": True, "says_needless": True},
        Exit.NOT_ACHIEVED,
        "no commit was made",
    ),
    (COMMIT, {"claims_commit": True}, Exit.NOT_ACHIEVED, "no commit was made"),
    (COMMIT, {"commit": "failed", "uncommitted": True}, Exit.NOT_ACHIEVED, "the commit failed"),
    (COMMIT, {"commit": "made"}, Exit.DONE, ""),
    (COMMIT, {}, Exit.DONE, ""),
    (RUN, {}, Exit.NOT_ACHIEVED, "no tests were run"),
    (RUN, {"looked": True, "says_needless": True}, Exit.NOT_ACHIEVED, "no tests were run"),
    (RUN, {"last_run": "no-runner"}, Exit.NO_TEST_RUNNER, ""),
    (RUN, {"ran": True}, Exit.DONE, ""),
    (QUESTION, {"claims_run": True}, Exit.NOT_ACHIEVED, "no tests were run"),
    (QUESTION, {"claims_commit": True, "uncommitted": True}, Exit.DONE, ""),
    (QUESTION, {}, Exit.DONE, ""),
    (QUESTION, {"tried": True}, Exit.DONE, ""),
    (UNCLEAR, {}, Exit.DONE, ""),
    (UNCLEAR, {"tried": True, "looked": True}, Exit.DONE, ""),
    (PromptIntent(), {}, Exit.DONE, ""),
]


@pytest.mark.parametrize(("intent", "known", "outcome", "reason"), ENDS)
def test_each_documented_end(intent: PromptIntent, known: dict[str, Any], outcome: Exit, reason: str) -> None:
    verdict = judge_turn(TurnFacts(intent=intent, **known))
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def list_all_facts() -> Iterator[TurnFacts]:
    """Yield every combination of facts that a turn can end with."""
    flags = (False, True)
    for intent, claimed, tests, commit, gave_up, has_changed, objected, tried, needless, denied in product(
        (REPAIR, CHANGE, COMMITTED, QUESTION, UNCLEAR, COMMIT, RUN),
        ("done", "nothing to do", "not achieved", "proposed"),
        ("passed", "failed", "unverified", "not-needed"),
        ("none", "made", "failed", "withheld"),
        *[flags] * 6,
    ):
        if commit != "none" and not has_changed:
            continue
        yield TurnFacts(
            intent=intent,
            claimed=claimed,  # type: ignore[arg-type]
            tests=tests,  # type: ignore[arg-type]
            commit=commit,  # type: ignore[arg-type]
            gave_up=gave_up,
            is_modified=has_changed,
            changed=has_changed,
            objected=objected,
            tried=tried,
            looked=needless,
            says_needless=needless,
            denied=denied,
            can_commit=True,
            ran=tests in ("passed", "failed"),
            uncommitted=has_changed and commit == "none",
        )


def test_a_success_has_everything_on_its_side_in_all_ends() -> None:
    for facts in list_all_facts():
        verdict = judge_turn(facts)
        if verdict.outcome is not Exit.DONE:
            continue
        assert facts.tests != "failed", facts
        assert not facts.objected, facts
        assert facts.commit not in ("failed", "withheld"), facts
        if facts.intent.wants_change and facts.tests != "passed":
            assert facts.changed or (facts.says_needless and not facts.tried), facts
        if facts.intent.wants_commit and facts.changed:
            assert facts.commit == "made", facts
        if facts.intent.wants_test_run:
            assert facts.ran, facts


def test_a_question_or_an_unclear_prompt_never_lacks_a_change() -> None:
    for facts in list_all_facts():
        if not facts.intent.wants_change and not facts.is_modified:
            assert judge_turn(facts) == judge_turn(replace(facts, tried=False, says_needless=False)), facts


def test_tests_that_were_to_pass_and_do_are_a_success_whatever_a_model_says() -> None:
    for facts in list_all_facts():
        if facts.has_mended and not facts.objected and facts.commit == "made":
            verdict = judge_turn(facts)
            assert verdict.outcome is Exit.DONE, facts
            if facts.claimed == "not achieved" or facts.gave_up:
                assert explain_verdict(facts, verdict), "the words before it say otherwise"


def test_what_is_not_achieved_says_why_unless_the_model_does() -> None:
    for facts in list_all_facts():
        verdict = judge_turn(facts)
        if verdict.outcome is Exit.NOT_ACHIEVED and not verdict.reason:
            assert facts.gives_up or facts.claimed == "proposed", facts
