"""What a turn's end says: denials, a model's own word, failures beside it, and data that a log cannot hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.events import ObservationEvent, Prompt
from agent.session.log import read_events
from agent.verify.suite_evidence import judge_report
from sandbox.policy.decision import Approval, Decision, Mode
from sandbox.policy.effects import Effect
from tests.support.bench import bench
from tests.support.cli import call
from tests.support.invariants import list_unanswered_calls
from tests.support.repo import remember_original
from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.session.finish import finish
from tools.shell.shell_tool import shell


@tool("write")
async def put(name: str, *, at: Workspace) -> Observation:
    """Write a file."""
    remember_original(at, name)
    at.files.write(name, b"x")
    return Observation(text=f"put {name}")


@tool("execute")
async def run_tests(*, at: Workspace) -> Observation:
    """Fail, then pass."""
    at.facts["runs"] = runs = at.facts.get("runs", 0) + 1
    if runs == 1:
        report = {"outcome": "failed", "passed": 0, "failures": [{"id": "t"}], "targets": []}
        raise ToolFailure("1 failed", report=report)
    return Observation(text="1 passed", data={"report": {"outcome": "passed", "passed": 1}})


TOOLS = [put, run_tests, finish]


@pytest.mark.parametrize("status", ["done", "not achieved"])
def test_a_finish_after_a_denial_still_ends_as_denied(tmp_path: Path, status: str) -> None:
    turns = [{"calls": [call("put", name="a")]}, {"calls": [call("finish", summary="no", status=status)]}]
    end = bench(tmp_path, turns, TOOLS, mode=Mode.READ_ONLY).turn("go")
    assert (end.outcome, end.exit_code) == ("denied", 5)


def test_a_check_that_is_refused_is_told_as_that(tmp_path: Path) -> None:
    """It is not the want of a test runner."""

    class Person:
        async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
            return Decision(verdict="deny", reason="the user refused it")

    turns = [{"calls": [call("put", name="a")]}, {"text": "Done."}]
    it = bench(tmp_path, turns, TOOLS, mode=Mode.WORKSPACE, approval=Approval.AUTO, approver=Person())
    end = it.turn("go")
    assert end.outcome == "no-test-runner"
    assert end.verification == "unverified: the tests were refused"


def test_a_denial_is_forgotten_with_its_turn(tmp_path: Path) -> None:
    turns = [{"calls": [call("put", name="a")]}, {"text": "I may not"}, {"text": "four"}]
    it = bench(tmp_path, turns, TOOLS, mode=Mode.READ_ONLY)
    assert it.turn("go").outcome == "denied"
    assert it.turn("how many files?").outcome == "done"


def test_a_word_given_before_a_recheck_does_not_outlive_it(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("put", name="a")]},
        {"calls": [call("finish", summary="stuck", status="not achieved")]},
        {"calls": [call("put", name="b")], "expect": ["The tests were run after your changes, and fail"]},
        {"text": "found it"},
    ]
    end = bench(tmp_path, turns, TOOLS).turn("go")
    assert (end.outcome, end.verification) == ("done", "passed: 1 passed")


def test_a_finish_beside_a_failed_action_does_not_end_the_turn(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("put", nam="a"), call("finish", summary="all written")]},
        {"text": "it was not", "expect": ["there is no such argument", "The turn has not ended"]},
    ]
    assert bench(tmp_path, turns, TOOLS).turn("go").summary == "it was not"


def test_data_that_json_cannot_hold_does_not_end_the_session(tmp_path: Path) -> None:
    @tool("read")
    async def odd(*, at: Workspace) -> Observation:
        """Return what no log line can hold."""
        return Observation(text="x", data={"set": {2, 1}, "bytes": b"x", "nan": float("nan"), (1, 2): [1]})

    it = bench(tmp_path, [{"calls": [call("odd")]}, {"text": "ok"}], [odd])
    assert it.turn("go").outcome == "done"
    line = next(
        line for line in (it.runtime.session.folder / "log.jsonl").read_text().splitlines() if '"set"' in line
    )
    data = json.loads(line, parse_constant=pytest.fail)["data"]
    assert data == {"set": [1, 2], "bytes": "b'x'", "nan": "nan", "(1, 2)": [1]}


def test_text_that_utf8_cannot_hold_is_said_and_logged(tmp_path: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")

    @tool("read")
    async def echo(*, at: Workspace) -> Observation:
        """Say a name that is not UTF-8, often enough to be kept as an artifact."""
        return Observation(text=name * 200)

    it = bench(tmp_path, [{"calls": [call("echo")]}, {"text": "ok"}], [echo])
    assert it.turn(f"what is {name}?").outcome == "done"
    log = list(read_events(it.runtime.session.folder))
    assert next(event.text for event in log if isinstance(event, Prompt)) == "what is caf??"
    assert next(event.ref for event in log if isinstance(event, ObservationEvent)) == "out:1"


def test_a_batch_that_breaks_in_the_middle_leaves_no_action_unanswered(tmp_path: Path) -> None:
    """Also when it is our own machinery that breaks, and not a tool: the next turn goes on."""
    turns = [
        {"calls": [call("put", name="a"), call("put", name="b")]},
        {"text": "still here", "expect": ["2"]},
    ]
    it = bench(tmp_path, turns, [put])

    def fail_once(event: object) -> None:
        if isinstance(event, ObservationEvent) and not it.runtime.workspace.facts.get("failed"):
            it.runtime.workspace.facts["failed"] = True
            raise ZeroDivisionError("a view of ours")

    it.runtime.session.subscribe(fail_once)
    assert it.turn("one").outcome == "internal"
    assert list_unanswered_calls(list(read_events(it.runtime.session.folder))) == []
    assert it.turn("2").summary == "still here"


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("ln -s /etc/passwd leak", ["leak"]),
        (
            "mkdir -p venv/bin; ln -s /usr/bin/env venv/bin/python; ln -s nowhere gone",
            ["gone", "venv/bin/python"],
        ),
        ("ln -s b a; ln -s a b", ["a", "b"]),
        ("rm -r pkg; ln -s /etc pkg", ["pkg", "pkg/hosts"]),
        ("chmod +x tool", ["tool"]),
        ("chmod +x tool; chmod -x tool; echo x > y; rm y", []),
    ],
)
def test_a_turn_counts_what_a_command_made_of_links_and_modes(
    tmp_path: Path, command: str, changed: list[str]
) -> None:
    root = tmp_path / "root"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg/hosts").write_text("one\n")
    (root / "tool").write_text("#!/bin/sh\n")
    it = bench(tmp_path, [{"calls": [call("shell", command=command)]}, {"text": "ok"}], [shell])
    end = it.turn("go")
    assert end.files == changed
    assert end.outcome == ("no-test-runner" if changed else "done")


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"passed": 2}, "2 passed"),
        ({"passed": 0, "skipped": 3}, "0 passed, 3 skipped"),
        ({"passed": 0}, "exit 0, tests not counted"),
        ({}, "exit 0, tests not counted"),
    ],
)
def test_tests_that_a_command_did_not_count_are_not_told_as_none(counts: dict[str, int], told: str) -> None:
    assert judge_report({"outcome": "passed", **counts}, None).detail == told
