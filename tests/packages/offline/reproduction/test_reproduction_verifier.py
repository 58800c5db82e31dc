"""A turn with `verify.reproduce`: the script is made before it, and has to pass at its end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.events import Signal, VerdictEvent
from agent.session_settings import SessionSettings, VerifySettings
from packages.offline.reproduction.reproduction_verifier import ReproductionVerifier
from sandbox.backends.selection import choose_sandbox
from sandbox.policy.decision import Mode
from tests.support.bench import Bench, bench
from tests.support.cli import call
from tests.support.repo import remember_original
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.fs.file_tools import write
from tools.testing.project_copies import create_copies

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CART = "def average(prices):\n    return sum(prices) / len(prices)\n"
REPORT = """\
Fix this bug:

>>> from cart import average
>>> average([])
Traceback (most recent call last):
  File "cart.py", line 2, in average
ZeroDivisionError: division by zero
"""


@tool("write")
async def put(text: str, *, at: Workspace) -> Observation:
    """Write the module."""
    remember_original(at, "cart.py")
    at.files.write("cart.py", text.encode())
    return Observation(text="written")


@tool("execute")
async def run_tests(*, at: Workspace) -> Observation:
    """Pass."""
    return Observation(text="1 passed", data={"report": {"outcome": "passed", "passed": 1}})


def start(tmp_path: Path, turns: list[dict[str, Any]], **verify: bool) -> Bench:
    settings = SessionSettings(verify=VerifySettings(reproduce=True, **verify))
    it = bench(tmp_path, turns, [put, run_tests, write], settings=settings)
    at = it.runtime.workspace
    (at.root / "cart.py").write_text(CART)
    at.sandbox = choose_sandbox(at.root, spill=tmp_path / "sessions")
    return it


TOLD = "Fix this bug: average([]) raises a ZeroDivisionError."
FIXED = CART.replace("/ len(prices)", "/ (len(prices) or 1)")
SCRIPT = "from cart import average\n\nassert average([]) == 0\n"


def test_a_model_shows_the_bug_by_a_script_of_its_own(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("reproduce", script="import carts\n\ncarts.average([])\n")]},
        {"calls": [call("reproduce", script=SCRIPT)], "expect": ["reproduce: not made"]},
        {"calls": [call("put", text=CART + "\n")], "expect": ["The reported bug is reproduced"]},
        {"text": "It works now."},  # a claim that is not so
        {"calls": [call("put", text=FIXED)], "expect": ["the reported bug is still there"]},
        {"text": "Done."},
    ]
    it = start(tmp_path, turns)
    assert "reproduce" not in [each.name for each in it.request().tools], "it is offered with the first turn"
    end = it.turn(TOLD)
    assert end.outcome == "done"
    assert list_verdicts(it) == [("fail", "executed"), ("pass", "executed")]
    assert end.files == ["cart.py"]


def test_a_script_that_passes_is_no_reproduction(tmp_path: Path) -> None:
    script = "from cart import average\n\nassert average([1, 3]) == 2\n"
    turns = [
        {"calls": [call("reproduce", script=script)]},
        {"text": "No.", "expect": ["reproduce: not made"]},
    ]
    it = start(tmp_path, turns)
    it.turn(TOLD)
    assert list_verdicts(it) == []


def test_the_script_is_kept_as_a_test_where_the_settings_want_it(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("reproduce", script=SCRIPT)]},
        {"calls": [call("put", text=FIXED)]},
        {"text": "Done."},
    ]
    it = start(tmp_path, turns, keep_reproduction=True)
    end = it.turn(TOLD)
    assert (end.outcome, end.files) == ("done", ["cart.py", "test_reproduction.py"])
    assert "assert average([]) == 0" in (it.runtime.workspace.root / "test_reproduction.py").read_text()


def list_verdicts(it: Bench) -> list[tuple[str, str]]:
    return [
        (e.outcome, e.evidence) for e in it.events if isinstance(e, VerdictEvent) and e.name == "reproduction"
    ]


def test_a_turn_that_does_not_fix_the_reported_bug_goes_back_to_the_model(tmp_path: Path) -> None:
    other = CART.replace("average(prices)", "average(prices, unused=0)")
    fixed = CART.replace("/ len(prices)", "/ (len(prices) or 1)")
    it = start(
        tmp_path,
        [
            {"calls": [call("put", text=other)], "expect": ["reported bug is reproduced", "average([])"]},
            {"text": "It works now."},  # a claim that is not so
            {"calls": [call("put", text=fixed)], "expect": ["the reported bug is still there"]},
            {"text": "Done."},
        ],
    )
    end = it.turn(REPORT)
    assert end.outcome == "done"
    assert list_verdicts(it) == [("fail", "executed"), ("pass", "executed")]
    [told] = [e.detail for e in it.events if isinstance(e, Signal) and e.name == "reproduction"]
    resumed = ReproductionVerifier(workspace=it.runtime.workspace)
    for event in it.events:
        resumed.track_event(event)
    assert resumed.kept is not None
    assert told.startswith(resumed.kept.ref)
    assert "average([])" in resumed.kept.script


def test_another_failure_than_the_told_one_is_no_verdict(tmp_path: Path) -> None:
    other = "def average(prices):\n    raise NotImplementedError\n"
    it = start(tmp_path, [{"calls": [call("put", text=other)]}, {"text": "Done."}])
    it.turn(REPORT)
    assert list_verdicts(it) == [("unknown", "executed")]


def test_a_prompt_without_a_report_costs_nothing(tmp_path: Path) -> None:
    it = start(tmp_path, [{"calls": [call("put", text=CART + "\n")]}, {"text": "Done."}])
    it.turn("add an empty line to cart.py")
    assert list_verdicts(it) == []
    assert not [e for e in it.events if isinstance(e, Signal) and e.name == "reproduction"]


def test_a_copy_with_another_change_is_judged_by_the_same_script(tmp_path: Path) -> None:
    it = start(tmp_path, [])
    at = it.runtime.workspace
    verifier = it.runtime.conclusion.reproduction
    assert verifier is not None

    async def judge(*changes: str) -> list[str]:
        await verifier.reproduce_prompt(REPORT)
        async with create_copies(at, len(changes)) as copies:
            found = []
            for copy, text in zip(copies, changes, strict=True):
                copy.at.files.write("cart.py", text.encode())
                verdict = await verifier.judge_copy(copy.at)
                assert verdict is not None
                found.append(verdict.outcome)
            return found

    assert asyncio.run(judge(CART, CART.replace("/ len(prices)", "/ (len(prices) or 1)"))) == ["fail", "pass"]


def test_a_session_that_changes_nothing_reproduces_nothing(tmp_path: Path) -> None:
    it = start(tmp_path, [{"text": "An empty list is divided by zero."}])
    it.runtime.policy.mode = it.runtime.workspace.mode = Mode.READ_ONLY
    it.turn(REPORT)
    assert not [e for e in it.events if isinstance(e, Signal) and e.name == "reproduction"]
