"""The order of the evidence, the groups of behaviour, the opinions of a model, and when nothing is chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from agent.verify.verdict import Verdict, VerdictOutcome
from packages.search.select.agreement import (
    BehaviourTable,
    GeneratedTest,
    find_distinguishing_call,
    form_groups,
    keep_discriminating,
)
from packages.search.select.levels import BEHAVIOUR_CURVE, BehaviourLevel, SizeLevel, VerdictLevel, calibrate
from packages.search.select.patch_trials import PatchTrial
from packages.search.select.selection import UNTESTED_CONFIDENCE, Choice, Level, choose_candidate
from packages.search.select.tournament import OpinionLevel
from tools.core.workspace import Workspace
from tools.testing.report import Outcome, TestFailure, TestReport


def choose(number: int, *levels: Level, least: float = 0.0) -> Choice:
    return asyncio.run(choose_candidate(number, levels, least_confidence=least))


def suite(
    *outcomes: VerdictOutcome, progress: Sequence[float] = (), sure: float | None = 0.75
) -> VerdictLevel:
    verdicts = [Verdict(outcome=each, evidence="executed", name="suite") for each in outcomes]
    return VerdictLevel(name="suite", verdicts=verdicts, progress=progress, confidence=sure)


def behave(*rows: str, tests: Sequence[GeneratedTest] = ()) -> BehaviourLevel:
    table = BehaviourTable(
        calls=[f"([{n}], {{}})" for n in range(len(rows[0]))], keys=[list(each) for each in rows]
    )
    return BehaviourLevel(table=table, tests=tests)


def test_the_suite_comes_before_behaviour_and_size() -> None:
    choice = choose(3, suite("fail", "fail", "pass"), behave("a", "a", "b"), SizeLevel(sizes=[1, 1, 9]))
    assert (choice.winner, choice.decided_by, choice.confidence) == (2, "suite", 0.75)
    assert [each.name for each in choice.levels] == ["suite"]


def test_behaviour_comes_before_size_and_size_decides_among_equals() -> None:
    choice = choose(3, suite("pass", "pass", "pass"), behave("aa", "bb", "bb"), SizeLevel(sizes=[1, 9, 8]))
    assert (choice.winner, choice.decided_by) == (2, "size")
    assert list(choice.ranking) == [2, 1, 0]
    assert choice.confidence == calibrate(form_groups(*_table("aa", "bb", "bb"))[0].share, BEHAVIOUR_CURVE)


def _table(*rows: str) -> tuple[BehaviourTable, list[GeneratedTest], range]:
    return behave(*rows).table, [], range(len(rows))


def test_a_group_that_passes_more_tests_beats_a_larger_one() -> None:
    tests = [GeneratedTest(text=str(n), passed=[False, False, True]) for n in range(5)]
    assert choose(3, behave("aa", "aa", "bb", tests=tests)).winner == 2
    assert choose(3, behave("aa", "aa", "bb")).winner == 0


def test_tests_that_all_or_none_pass_are_left_out() -> None:
    useless = [GeneratedTest(text="all", passed=[True] * 3), GeneratedTest(text="none", passed=[False] * 3)]
    useful = GeneratedTest(text="some", passed=[True, False, True])
    assert keep_discriminating([*useless, useful], range(3)) == [useful]


def test_nothing_is_chosen_if_all_fail_and_the_one_with_the_most_progress_is_first() -> None:
    choice = choose(2, suite("fail", "fail", progress=[-3, -1]), SizeLevel(sizes=[1, 2]))
    assert (choice.winner, choice.best, choice.is_refused) == (None, 1, True)
    assert "no candidate passes" in choice.abstained


def test_progress_orders_what_is_unknown_and_leads_past_no_verdict() -> None:
    halfway = suite("unknown", "unknown", progress=[0, 0.5])
    assert choose(2, halfway, SizeLevel(sizes=[1, 2])).winner == 1
    choice = choose(3, suite("fail", "unknown", "pass", progress=[9, 5, -9]), SizeLevel(sizes=[1, 1, 1]))
    assert list(choice.ranking) == [2, 1, 0]


def test_a_suite_that_did_not_run_makes_a_choice_less_sure() -> None:
    idle = replace(suite("unknown", "unknown", "unknown"), caution="the suite did not run: no-runner")
    levels = (behave("a", "a", "b"), SizeLevel(sizes=[1, 2, 3]))
    assert choose(3, *levels).confidence > UNTESTED_CONFIDENCE
    choice = choose(3, idle, *levels)
    assert (choice.best, choice.confidence) == (0, UNTESTED_CONFIDENCE)
    assert choice.caution == "the suite did not run: no-runner"


def report(outcome: Outcome, *, passed: str = "", failed: str = "", skipped: str = "") -> TestReport:
    """Report of a run of tests that are named by letters."""
    return TestReport(
        outcome=outcome,
        runner="pytest",
        command="pytest",
        passed=len(passed),
        failed=len(failed),
        skipped=len(skipped),
        passed_tests=tuple(f"t::{each}" for each in passed),
        skipped_tests=tuple(f"t::{each}" for each in skipped),
        failures=tuple(TestFailure(id=f"t::{each}") for each in failed),
        collected=len(passed + failed + skipped),
    )


BEFORE = report("failed", passed="ab", failed="cd")


@pytest.mark.parametrize(
    ("after", "outcome", "detail", "progress"),
    [
        (report("passed", passed="abcd"), "pass", "mends t::c, t::d; 4 passed, 0 failed", 1.0),
        (
            report("failed", passed="abc", failed="d"),
            "unknown",
            "mends t::c; 3 passed, 1 failed, all of",
            0.5,
        ),
        (report("failed", passed="acd", failed="b"), "fail", "mends t::c, t::d; breaks t::b; 3 passed", 0.5),
        (
            report("passed", passed="ab", skipped="cd"),
            "fail",
            "2 passed, 0 failed; 2 tests that were run",
            -1.0,
        ),
        (report("failed", passed="ab", failed="c", skipped="d"), "fail", "2 passed, 1 failed; 1 test", -0.5),
        (report("broken"), "fail", "the suite did not run: broken", -1000.0),
        (report("no-runner"), "unknown", "the suite did not run: no-runner", -1000.0),
    ],
)
def test_a_patch_is_judged_by_the_names_of_tests(
    after: TestReport, outcome: str, detail: str, progress: float
) -> None:
    trial = PatchTrial(text="", at=cast(Workspace, None), report=after)
    verdict = trial.build_verdict(BEFORE)
    assert (verdict.outcome, verdict.detail[: len(detail)]) == (outcome, detail)
    assert trial.measure_progress(BEFORE) == progress


def test_a_suite_that_runs_neither_without_the_patch_refuses_none() -> None:
    trial = PatchTrial(text="", at=cast(Workspace, None), report=report("broken"))
    assert trial.build_verdict(report("broken")).outcome == "unknown"
    assert trial.measure_progress(report("broken")) == 0.0


def test_nothing_is_chosen_below_the_wanted_confidence() -> None:
    levels = (behave("a", "b", "c"), SizeLevel(sizes=[3, 2, 1]))
    choice = choose(3, *levels, least=0.5)
    assert (choice.winner, choice.best, choice.is_refused) == (None, 2, False)
    assert "too weak" in choice.abstained
    assert choose(3, *levels, least=0.1).winner == 2


def test_the_clearest_difference_is_shown() -> None:
    table = BehaviourTable(
        calls=["([1], {})", "([22], {})", "([3], {})"],
        keys=[["<fails>", '"a"', '"a"'], ['"x"', '"b"', '"a"']],
    )
    assert find_distinguishing_call(table, 0, 1) == 1
    assert find_distinguishing_call(table, 0, 0) is None


@pytest.mark.parametrize(("share", "low", "high"), [(0.0, 0.0, 0.4), (0.5, 0.3, 0.9), (1.0, 0.7, 1.0)])
def test_confidence_grows_with_the_share(share: float, low: float, high: float) -> None:
    assert low <= calibrate(share, BEHAVIOUR_CURVE) <= high
    assert calibrate(share, BEHAVIOUR_CURVE) <= calibrate(min(1.0, share + 0.1), BEHAVIOUR_CURVE)


def judge(answer: str | dict[str, str]) -> OpinionLevel:
    """A model with one answer, or one that prefers what holds the word."""

    async def ask(prompt: str) -> str:
        if isinstance(answer, str):
            return answer
        first, second = prompt.split("Candidate B:")
        return next((letter for word, letter in answer.items() if word in first), "B" if second else "")

    return OpinionLevel(texts=["plain", "good", "plain too"], ask=ask, task="do it")


def test_an_opinion_counts_only_if_it_stays_the_same_when_the_order_is_swapped() -> None:
    steady = choose(3, judge({"good": "A"}), SizeLevel(sizes=[1, 5, 1]))
    assert (steady.best, steady.decided_by) == (1, "opinions")
    swayed = choose(3, judge("A"), SizeLevel(sizes=[3, 5, 1]))
    assert (swayed.best, swayed.decided_by) == (2, "size")
    assert swayed.levels[0].note == "3 of 3 answers followed the order and were dropped"


@pytest.mark.parametrize("answer", ["", "I prefer not to say"])
def test_without_an_answer_there_is_no_opinion(answer: str) -> None:
    choice = choose(3, judge(answer), SizeLevel(sizes=[3, 5, 1]))
    assert [each.name for each in choice.levels] == ["size"]


def test_an_opinion_never_outweighs_what_was_executed() -> None:
    choice = choose(3, suite("pass", "fail", "fail"), judge({"good": "A"}))
    assert (choice.best, choice.decided_by) == (0, "suite")
