"""Turns with requirements: back to the model, outcome, resume, and what an untrusted file cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.events import Event, ObservationEvent, Prompt, RequirementsEvent, VerdictEvent
from agent.verify.optional_checks import attach_requirements, find_requirements
from agent.verify.requirement import Requirement, RequirementFile
from agent.verify.verdict import Claim
from packages.search.requirements.requirement_file import parse_checklist
from sandbox.policy.decision import Mode
from tests.support.bench import Bench, bench
from tests.support.cli import call
from tests.support.repo import remember_original
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.shell.shell_tool import shell


@tool("write")
async def put(name: str, text: str = "x", *, at: Workspace) -> Observation:
    """Write a file."""
    remember_original(at, name)
    at.files.write(name, text.encode())
    return Observation(text=f"put {name}")


@tool("write")
async def drop(name: str, *, at: Workspace) -> Observation:
    """Remove a file."""
    remember_original(at, name)
    at.files.remove(name)
    return Observation(text=f"dropped {name}")


@tool("execute")
async def run_tests(targets: list[str] = [], *, at: Workspace) -> Observation:  # noqa: B006
    """Pass."""
    return Observation(
        text="1 passed", data={"report": {"outcome": "passed", "passed": 1, "targets": targets}}
    )


def start(
    tmp_path: Path, turns: list[dict[str, Any]], file: str = "", *, inside: bool = True, trusted: bool = False
) -> Bench:
    it = bench(tmp_path, turns, [put, drop, run_tests, shell])
    (it.runtime.workspace.root / "order.py").write_text("STATUS = 1\n")
    found = None
    if file:
        made = tuple(parse_checklist(file, "file:task.md"))
        found = RequirementFile(name="task.md", requirements=made, inside=inside)
    attach_requirements(it.runtime, found, is_trusted=trusted)
    return it


def results(events: Sequence[Event]) -> list[list[tuple[str, str, str]]]:
    """Return (id, state, evidence) of the requirements, each time they were checked."""
    return [
        [(item["id"], item["state"], item["evidence"]) for item in event.items]
        for event in events
        if isinstance(event, RequirementsEvent) and event.stage == "checked"
    ]


def test_an_unmet_requirement_goes_back_to_the_model(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("put", name="a.txt"), call("put", name="order.py")]},
        {"text": "Done."},
        {
            "calls": [call("put", name="order.py", text="STATUS = 1\n")],
            "expect": ["r3: order.py is not changed: order.py was changed"],
        },
        {"text": "Now it is."},
    ]
    it = start(tmp_path, turns)
    end = it.turn("Create a.txt and do not touch order.py")
    assert end.outcome == "done"
    assert results(it.events) == [
        [("r1", "not met", "static"), ("r2", "met", "static"), ("r3", "not met", "static")],
        [("r1", "met", "static"), ("r2", "met", "static"), ("r3", "met", "static")],
    ]
    known = next(e for e in it.events if isinstance(e, RequirementsEvent))
    assert known.stage == "known"
    assert (
        it.events.index(known)
        == next(place for place, e in enumerate(it.events) if isinstance(e, Prompt)) + 1
    )


@pytest.mark.slow
def test_what_stays_unmet_decides_the_outcome(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("put", name="order.py")]},
        {"text": "Done."},
        {"text": "I leave it.", "expect": ["order.py was changed"]},
    ]
    it = start(tmp_path, turns)
    end = it.turn("Do not touch order.py. `exit 3; true` must succeed.")
    assert (end.outcome, end.exit_code) == ("not-achieved", 13)
    assert "order.py was changed" in end.summary
    verdicts = [
        (e.outcome, e.evidence) for e in it.events if isinstance(e, VerdictEvent) and e.name == "requirements"
    ]
    assert verdicts == [("fail", "executed")] * 2
    assert results(it.events)[-1] == [("r1", "not met", "static"), ("r2", "not met", "executed")]


def test_a_command_of_an_untrusted_file_does_not_run(tmp_path: Path) -> None:
    text = "- `touch made-by-command; true` must succeed\n- do not touch order.py\n"
    it = start(tmp_path, [{"calls": [call("put", name="a.txt")]}, {"text": "Done."}], text)
    assert it.turn("go on").outcome == "done"
    assert results(it.events) == [[("r1", "not checked", ""), ("r2", "met", "static")]]
    assert not (it.runtime.workspace.root / "made-by-command").exists()
    # resumed without the file: its source is known, its trust is not
    again = attach_requirements(it.runtime, None, is_trusted=True)
    for event in it.events:
        again.track_event(event)
    assert [each.source for each in again.requirements] == ["file:task.md"] * 2
    assert again.trusted.isdisjoint({"file:task.md"})


def test_a_trusted_file_runs_its_command(tmp_path: Path) -> None:
    text = "- `touch made-by-command; true` must succeed\n"
    it = start(tmp_path, [{"text": "Done."}], text, trusted=True)
    assert it.turn("go").outcome == "done"
    assert results(it.events) == [[("r1", "met", "executed")]]
    assert (it.runtime.workspace.root / "made-by-command").exists()


def test_what_no_code_can_check_changes_nothing(tmp_path: Path) -> None:
    it = start(tmp_path, [{"calls": [call("put", name="a.txt")]}, {"text": "Done."}], "- it reads well\n")
    assert it.turn("go on").outcome == "done"
    assert results(it.events) == [[("r1", "not checked", "")]]
    assert [e.outcome for e in it.events if isinstance(e, VerdictEvent) and e.name == "requirements"] == [
        "unknown"
    ]


def test_a_prompt_without_requirements_logs_nothing(tmp_path: Path) -> None:
    it = start(tmp_path, [{"calls": [call("put", name="a.txt")]}, {"text": "Done."}])
    assert it.turn("improve it").outcome == "done"
    assert "requirements" not in it.kinds()


def test_a_user_adds_and_drops_requirements(tmp_path: Path) -> None:
    it = start(tmp_path, [{"calls": [call("put", name="order.py")]}, {"text": "Done."}, {"text": "No."}])
    verifier = find_requirements(it.runtime)
    assert verifier is not None
    verifier.add([Requirement(id="r1", text="a", kind="file-unchanged", check="order.py", source="user")])
    verifier.add([Requirement(id="r1", text="b", kind="file-exists", check="b.txt", source="user")])
    assert verifier.drop("r2")
    assert not verifier.drop("r7")
    assert it.turn("change something").outcome == "not-achieved"
    assert results(it.events)[-1] == [("r1", "not met", "static")]


def test_the_changes_of_an_earlier_turn_do_not_count(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("put", name="order.py")]},
        {"text": "Done."},
        {"calls": [call("put", name="b.txt")]},
        {"text": "Done."},
    ]
    it = start(tmp_path, turns)
    it.turn("go")
    assert it.turn("Do not touch order.py, create b.txt. Change at most one file.").outcome == "done"
    assert {state for _, state, _ in results(it.events)[-1]} == {"met"}


def test_a_resumed_turn_has_its_requirements_and_its_earlier_changes(tmp_path: Path) -> None:
    it = start(tmp_path, [{"calls": [call("put", name="order.py")]}, {"text": "Done."}, {"text": "No."}])
    it.turn("Do not touch order.py")
    logged = list(it.events)
    again = attach_requirements(
        it.runtime, None, is_trusted=False
    )  # as in the process that goes on after a kill
    again.begin_turn()
    for event in logged:
        again.track_event(event)
    assert [each.check for each in again.requirements] == ["order.py"]
    verdict = asyncio.run(again.verify(Claim(prompt="Do not touch order.py")))
    assert verdict is not None
    assert (verdict.outcome, verdict.evidence) == ("fail", "static")


def test_a_session_that_changes_nothing_has_no_requirements(tmp_path: Path) -> None:
    it = start(tmp_path, [{"text": "I would change order.py."}])
    it.runtime.policy.mode = it.runtime.workspace.mode = Mode.READ_ONLY
    end = it.turn("Update order.py")
    assert end.outcome == "done", end
    assert "requirements" not in it.kinds()


@pytest.mark.slow
def test_all_tests_are_those_of_the_suite_and_named_ones_are_run(tmp_path: Path) -> None:
    it = start(tmp_path, [{"calls": [call("put", name="a.txt")]}, {"text": "Done."}, {"text": "No."}])
    (it.runtime.workspace.root / "test_b.py").write_text(
        "class TestB:\n    def test_b(self):\n        pass\n"
    )
    verifier = find_requirements(it.runtime)
    assert verifier is not None
    for check in ("tests/test_a.py", "-x"):
        verifier.add([Requirement(id="", text=check, kind="tests", check=check, source="user")])
    prompt = "All tests must pass, test_b must pass, test_missing must pass"
    assert it.turn(prompt).outcome == "not-achieved"
    [*_, last] = [e for e in it.events if isinstance(e, RequirementsEvent)]
    assert {e["check"]: (e["state"], e["evidence"]) for e in last.items if e["kind"] == "tests"} == {
        "tests/test_a.py": ("met", "executed"),
        "-x": ("not checked", ""),
        "": ("met", "executed"),
        "test_b": ("met", "executed"),
        "test_missing": ("not met", "static"),
    }
    reports = [e.data["report"] for e in it.events if isinstance(e, ObservationEvent) and "report" in e.data]
    ran = [each["targets"] for each in reports]
    assert ["test_b.py::TestB::test_b"] in ran
    assert ran.count([]) == 1  # the whole suite was not run again for it
