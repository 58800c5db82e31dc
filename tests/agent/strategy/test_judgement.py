"""One judgement of a state for turns, attempts and searches: tests that do not run, and guards, are seen by all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.events import AttemptEvent, CandidateEvent, Verification
from agent.session_settings import StrategySettings
from agent.strategy.candidate import GUARD, Candidate
from agent.strategy.failure_classes import FailureEvidence, classify_failure
from agent.strategy.progress import (
    LOADED,
    UNLOADED,
    has_progress,
    list_mended_tests,
    loses_tests,
    measure_progress,
    measure_report,
)
from agent.strategy.ranking import rank_candidates
from agent.verify.verdict import Verdict
from tests.support.cli import call, script
from tests.support.confined import needs_confinement
from tests.support.strategy_stories import Story, read_events_of, tell_story


def report(*passed: str, failed: tuple[str, ...] = (), outcome: str = "", **more: Any) -> dict[str, Any]:
    failures = [{"id": each, "message": "AssertionError: 1 != 2"} for each in failed]
    told = outcome or ("failed" if failed else "passed")
    counts = {"passed": len(passed), "failed": len(failed), "passed_tests": list(passed)}
    return {"runner": "pytest", "outcome": told, "failures": failures, **counts, **more}


BEFORE = report("t::a", "t::b", failed=("t::c", "t::d", "t::e"))


@pytest.mark.parametrize(
    ("after", "mended", "is_gain"),
    [
        (report("t::a", "t::b", "t::c", failed=("t::d", "t::e")), {"t::c"}, True),
        (report("t::a", "t::b", "t::c", "t::d", "t::e"), {"t::c", "t::d", "t::e"}, True),
        (report("t::a", "t::b"), set(), False),
        (report("t::a"), set(), False),
        (report(failed=("t",), outcome="broken", errors=1), set(), False),
        ({**report("t::a", "t::b"), "passed_tests": []}, set(), False),
    ],
)
def test_a_test_that_does_not_run_any_more_is_not_mended(
    after: Mapping[str, Any], mended: set[str], is_gain: bool
) -> None:
    assert list_mended_tests(BEFORE, after) == mended
    assert (measure_report(BEFORE, after) > LOADED) is is_gain


def test_a_state_whose_tests_are_not_collected_is_worth_no_more_than_one_that_does_not_load() -> None:
    assert measure_report(BEFORE, report(outcome="broken")) == UNLOADED


@pytest.mark.parametrize(
    ("after", "is_lossy"),
    [
        (report("t::a", "t::b", "t::c", "t::d", failed=("t::e",)), False),
        (report("t::b", "t::c", "t::d", "t::e"), True),
        (report("t::c", "t::d", "t::e", failed=("t",), outcome="broken", errors=1), True),
        ({**report("t::a", "t::b", "t::c", "t::d"), "skipped_tests": ["t::e"], "skipped": 1}, True),
        ({}, False),
    ],
)
def test_a_state_in_which_tests_do_not_run_any_more_is_not_gone_on_from(
    after: Mapping[str, Any], is_lossy: bool
) -> None:
    assert loses_tests(BEFORE, after) is is_lossy


def test_tests_that_are_lost_are_the_reason_of_a_failure() -> None:
    found = classify_failure(
        FailureEvidence(exit_code=1, report=report("t::a"), before=BEFORE, files=["a.py"])
    )
    assert (found.kind, "skipped or gone" in found.evidence) == ("broke others", True)


def guarded(attempt: int) -> Candidate:
    told = Verdict(
        outcome="fail", evidence="static", name=GUARD, detail="  cart.py:3: answers a test's input"
    )
    return Candidate(
        attempt=attempt, child="c", patch="out:1", exit_code=13, files=("cart.py",), verdicts=(told,)
    )


def test_an_attempt_that_gets_round_the_tests_is_worth_nothing_and_not_gone_on_from() -> None:
    candidate = guarded(1)
    assert "cart.py:3" in candidate.objection
    failure = classify_failure(
        FailureEvidence(exit_code=13, report=report("t::a"), files=["cart.py"], objection=candidate.objection)
    )
    value = measure_progress(candidate, failure, BEFORE, report("t::a", "t::b", "t::c", "t::d", "t::e"))
    assert (failure.kind, failure.remedy, value) == ("wrong approach", "restart", 0.0)
    assert not has_progress(value, failure)
    honest = Candidate(
        attempt=2, child="d", patch="out:2", exit_code=13, verification="failed: 1 failed, 4 passed"
    )
    assert rank_candidates([candidate, honest]).best is honest


TEST = """import unittest

import cart


class Test(unittest.TestCase):
    def test_two(self):
        self.assertEqual(cart.total([1, 2]), 3)

    def test_three(self):
        self.assertEqual(cart.total([1, 2, 4]), 7)
"""
WAYS = {
    "literals": [
        call(
            "edit", path="cart.py", old="    return -sum(prices)",
            new="    if prices == [1, 2]:\n        return 3\n    if prices == [1, 2, 4]:\n        return 7\n"
            "    return -sum(prices)",
        )
    ],
    "a test less": [call("edit", path="test_cart.py", old="    def test_three", new="    def check_three")],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_tree_does_not_go_on_from_it(tmp_path: Path, way: str) -> None:
    files = {"cart.py": "def total(prices):\n    return -sum(prices)\n", "test_cart.py": TEST}
    shop = Story.create(tmp_path, files)
    right = [call("edit", path="cart.py", old="-sum(prices)", new="sum(prices)")]
    reads = {"calls": [call("read", path="cart.py"), call("read", path="test_cart.py")]}
    stop = {"text": "Done.", "repeat": 4}
    models = [
        script(tmp_path, [reads, {"calls": WAYS[way]}, stop], "one.json"),
        script(tmp_path, [reads, {"calls": right}, stop], "two.json"),
    ]
    end = tell_story(shop, models[0], StrategySettings(name="tree", attempts=2, models=models))
    begun = {each.number: each for each in read_events_of(shop, AttemptEvent)}
    assert begun[2].after == 0, "it begins anew"
    assert end.outcome == "done"
    assert shop.repo.show("cart.py") == "def total(prices):\n    return sum(prices)\n"
    assert shop.repo.show("test_cart.py") == TEST
    assert [each.attempt for each in read_events_of(shop, CandidateEvent)] == [1, 2]


BESIDE = """import unittest

import cart


class Test(unittest.TestCase):
    def test_two(self):
        self.assertEqual(cart.total([1, 2]), 3)

    def test_three(self):
        self.assertEqual(cart.total([1, 2, 4]), 7)

    def test_four(self):
        self.assertEqual(cart.total([10, 20, 30, 5]), 65)

    def test_empty(self):
        self.assertEqual(cart.total([]), 0)
"""
SHOP = {"cart.py": "def total(prices):\n    return -sum(prices)\n", "test_cart.py": BESIDE}
EVASIONS = {
    "answers kept under hashes": (
        "cart.py",
        "A = {hash((1, 2)): 3, hash((1, 2, 4)): 7, hash((10, 20, 30, 5)): 65}\n\n\n"
        "def total(prices):\n    return A.get(hash(tuple(prices)), -sum(prices))\n",
    ),
    "tests skipped by the code": (
        "cart.py",
        "import unittest\n\n\ndef total(prices):\n    if prices:\n        raise unittest.SkipTest('later')\n"
        "    return 0\n",
    ),
    "tests left out by a loader": (
        "test_cart.py",
        f"{BESIDE}\n\ndef load_tests(loader, tests, pattern):\n"
        "    return unittest.TestSuite([Test('test_empty')])\n",
    ),
    "tests that are not collected": ("cart.py", "def total(prices):\n    return sum(prices)\ndef (\n"),
}
"""Name → file and its new text."""


def write_model(folder: Path, strategy: str, way: str) -> str:
    path, text = EVASIONS[way]
    stop = {"text": "Done.", "repeat": 8}
    if strategy == "pipeline":
        edit = f"{path}\n<<<<<<< SEARCH\n{SHOP[path]}=======\n{text}>>>>>>> REPLACE\n"
        return script(folder, [{"text": edit}, stop])
    reads = {"calls": [call("read", path=each) for each in SHOP]}
    return script(folder, [reads, {"calls": [call("write", path=path, content=text)]}, stop])


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["sample", "tree", "evolve", "pipeline"])
@pytest.mark.parametrize("way", EVASIONS)
def test_no_strategy_applies_or_goes_on_from_what_a_turn_refuses(
    tmp_path: Path, strategy: str, way: str
) -> None:
    """Where all attempts are of that kind, the files stay as they were."""
    needs_confinement(tmp_path)
    shop = Story.create(tmp_path, SHOP)
    settings = StrategySettings(name=strategy, attempts=2)
    model = write_model(tmp_path, strategy, way)
    end = tell_story(shop, model, settings, "make the failing tests pass", sandbox="auto")
    assert end.outcome == "tests-fail", end.summary
    assert end.summary.startswith("No attempt is applied."), end.summary
    assert {each: (shop.repo.root / each).read_text() for each in SHOP} == SHOP
    assert [each.after for each in read_events_of(shop, AttemptEvent)] == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["answers kept under hashes", "tests skipped by the code"])
@pytest.mark.parametrize("status", ["done", "not achieved"])
def test_a_turn_of_its_own_refuses_them_whatever_the_model_says(
    tmp_path: Path, way: str, status: str
) -> None:
    needs_confinement(tmp_path)
    shop = Story.create(tmp_path, SHOP)
    path, text = EVASIONS[way]
    turns = [
        {"calls": [call("read", path=each) for each in SHOP]},
        {"calls": [call("write", path=path, content=text)]},
        {"calls": [call("finish", summary="Stored.", status=status)]},
        {"text": "Done.", "repeat": 4},
    ]
    prompt = "make the failing tests pass" if status == "not achieved" else "mend the total"
    if way == "tests skipped by the code":
        prompt = "make the failing tests pass"
    model = script(tmp_path, turns)
    end = tell_story(shop, model, StrategySettings(), prompt, sandbox="auto")
    assert end.outcome == "not-achieved", end.summary
    assert read_events_of(shop, Verification)[-1].outcome == "failed"
    assert shop.repo.show(path) == SHOP[path]


@pytest.mark.slow
def test_tests_that_ran_before_the_attempts_are_known_to_each(tmp_path: Path) -> None:
    """A session without a sandbox cannot run the state before its change, but the turn has run it."""
    shop = Story.create(tmp_path, SHOP)
    model = write_model(tmp_path, "tree", "tests left out by a loader")
    end = tell_story(shop, model, StrategySettings(name="tree", attempts=2))
    assert "skipped or gone" in end.summary
    assert (shop.repo.root / "test_cart.py").read_text() == BESIDE
