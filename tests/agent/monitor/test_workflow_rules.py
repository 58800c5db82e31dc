"""The rules on order: for each a session that keeps it and one that breaks it; phases; what the gateway does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent, PhaseEvent, Prompt
from agent.events.event_base import AskedAction
from agent.monitor.answers import Refuse, TellModel
from agent.monitor.workflow_rules import RULES, WorkflowMonitor
from agent.session.branch_history import History
from agent.session.log_index import LogIndex
from agent.session_settings import DisciplineSettings
from tests.support.cli import call, run, script
from tests.support.repo import Repo
from tools.core.action import Action, Effect
from tools.core.action_guard import BegunAction

PASSED = {"report": {"outcome": "passed"}}
FAILED = {"report": {"outcome": "failed"}}

TRACES = {
    "read-before-edit": (
        "read:a.py edit:a.py",
        "read:a.py edit:b.py",
    ),
    "test-before-commit": (
        "read:a.py edit:a.py passed commit",
        "read:a.py edit:a.py passed edit:a.py commit",
    ),
    "check-before-finish": (
        "read:a.py edit:a.py failed finish",
        "read:a.py failed edit:a.py finish",
    ),
    "code-before-test": (
        "read:a.py read:test_a.py failed edit:a.py edit:test_a.py",
        "read:a.py read:test_a.py failed edit:test_a.py",
    ),
}
"""Per rule: one that keeps it and one that its last action breaks. Both keep all other rules."""

KEPT = [
    "read:a.py commit",
    "finish",
    "create:new.py edit:new.py passed commit finish",
    "sees:a.py edit:a.py passed finish",
    "cat:a.py edit:a.py untestable commit finish",
    "read:a.py edit:a.py passed finish prompt finish",
]


@pytest.fixture
def at(tmp_path: Path) -> Any:
    repo = Repo(tmp_path / "shop")
    for name in ("a.py", "b.py", "test_a.py"):
        repo.write(name, "")
    return repo.workspace()


def story(text: str, at: Any, discipline: WorkflowMonitor) -> Iterator[str]:
    """What is advised before each action of a session in words."""
    discipline.handle_event(Prompt(text="do"))
    for number, word in enumerate(text.split()):
        what, _, path = word.partition(":")
        if what == "prompt":
            discipline.handle_event(Prompt(text="more"))
            continue
        tool, effect, data, arguments = ACTIONS[what](path)
        asked = AskedAction(id=f"c{number}", tool=tool, arguments=arguments)
        discipline.handle_event(MessageEvent(actions=[asked]))
        paths = [path] if effect in ("read", "write") and path else []
        discipline.handle_event(ActionEvent(call=f"c{number}", tool=tool, effect=effect, paths=paths))
        yield advise(discipline, f"c{number}")
        if what == "create":
            at.files.write(path, b"")
        discipline.handle_event(ObservationEvent(call=f"c{number}", tool=tool, text="", data=data))


def advise(discipline: WorkflowMonitor, call_id: str) -> str:
    """What is said to the model before a begun action: the refusal or the reminder."""
    action = Action(id=call_id, tool="", arguments={})
    answer = discipline.before_action(BegunAction(action=action, effect=Effect(kind="none")))
    if isinstance(answer, Refuse):
        return answer.reason
    return answer.text if isinstance(answer, TellModel) else ""


ACTIONS: dict[str, Any] = {
    "read": lambda path: ("read", "read", {"path": path}, {}),
    "sees": lambda path: ("search", "read", {"places": [[path, 1]]}, {}),
    "cat": lambda path: ("shell", "execute", {}, {"command": f"head -3 ./{path} | tail -1"}),
    "edit": lambda path: ("edit", "write", {}, {}),
    "create": lambda path: ("write", "write", {}, {}),
    "passed": lambda path: ("run_tests", "execute", PASSED, {}),
    "failed": lambda path: ("run_tests", "execute", FAILED, {}),
    "untestable": lambda path: ("run_tests", "execute", {"report": {"outcome": "no-runner"}}, {}),
    "commit": lambda path: ("git_commit", "git", {}, {}),
    "finish": lambda path: ("finish", "none", {}, {}),
}


def make(at: Any, **levels: Any) -> tuple[WorkflowMonitor, list[Event]]:
    told: list[Event] = []
    return WorkflowMonitor(
        at, ends=frozenset({"finish"}), levels=DisciplineSettings(**levels), tell=told.append
    ), told


def test_every_rule_has_its_traces() -> None:
    assert {rule.name for rule in RULES} == set(TRACES)


@pytest.mark.parametrize("level", ["remind", "enforce"])
@pytest.mark.parametrize("name", TRACES)
def test_a_rule_is_kept_and_broken(name: str, level: str, at: Any) -> None:
    keeps, breaks = TRACES[name]
    rule = next(rule for rule in RULES if rule.name == name)
    discipline, _ = make(at, rules=level)
    assert [advice for advice in story(keeps, at, discipline) if advice] == []
    discipline, _ = make(at, rules=level)
    *before, last = story(breaks, at, discipline)
    assert not any(before)
    path = breaks.rpartition(":")[2]
    assert rule.message.format(key=path) in last


@pytest.mark.parametrize("trace", KEPT)
def test_what_is_in_order_is_left_alone(trace: str, at: Any) -> None:
    discipline, _ = make(at, rules="enforce")
    assert [advice for advice in story(trace, at, discipline) if advice] == []


def test_a_reminder_comes_once_a_turn_and_a_rule_can_be_off(at: Any) -> None:
    discipline, _ = make(at)
    first, second = story("edit:a.py edit:a.py", at, discipline)
    assert first
    assert not second
    discipline, _ = make(at, named={"read-before-edit": "off"})
    assert not any(story("edit:a.py", at, discipline))


def test_the_harness_is_not_told_how_to_work(at: Any) -> None:
    discipline, _ = make(at, rules="enforce")
    list(story("read:a.py edit:a.py", at, discipline))
    discipline.handle_event(ActionEvent(call="harness-1", tool="git_commit", effect="git"))
    assert not advise(discipline, "harness-1")


def test_a_turn_goes_through_its_phases(at: Any) -> None:
    discipline, told = make(at)
    list(story("read:a.py edit:a.py failed edit:a.py passed", at, discipline))
    phases = [event.phase for event in told if isinstance(event, PhaseEvent)]
    assert phases == ["plan", "edit", "verify", "edit", "verify"]
    discipline.handle_event(Prompt(text="next"))
    assert discipline.phases.name == "explore"


def test_enforced_phases_withhold_what_has_to_wait_and_guide(at: Any) -> None:
    discipline, _ = make(at, rules="off", phases="enforce")
    first, *_ = story("edit:a.py", at, discipline)
    assert first == "this is the explore phase: look first: search and read what the task touches"
    discipline, _ = make(at, rules="off", phases="guide")
    _, second, third = story("read:a.py edit:a.py passed", at, discipline)
    assert second.startswith("[plan: ")
    assert third.startswith("[edit: ")


@pytest.mark.slow
def test_the_gateway_refuses_what_is_out_of_order_and_reminds(tmp_path: Path, isolated: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a.txt", "one\n")
    repo.commit_all()
    edit = call("edit", path="a.txt", old="one", new="two")
    settings = isolated / "patchwright" / "config"
    told = "a.txt was changed without having been read in this session"
    turns = [{"calls": [edit]}, {"text": "Done.", "expect": [f"[read-before-edit: {told}"]}]
    result = run("run", "x", "--no-commit", "--model", script(tmp_path, turns), cwd=repo.root)
    assert "Done." in result.out, result.err
    repo.write("a.txt", "one\n")
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "settings.toml").write_text('[discipline]\nrules = "enforce"\n')
    turns = [
        {"calls": [edit]},
        {"calls": [call("read", path="a.txt")], "expect": [f"edit: not done: {told}"]},
        {"calls": [edit]},
        {"text": "Done.", "expect": ["changed 1 place"]},
    ]
    result = run("run", "x", "--no-commit", "--model", script(tmp_path, turns, "b.json"), cwd=repo.root)
    assert "Done." in result.out, result.err
    assert repo.read("a.txt") == "two\n"


@pytest.mark.slow
def test_a_rule_that_does_not_exist_is_a_clear_error(tmp_path: Path, isolated: Path) -> None:
    repo = Repo(tmp_path / "shop")
    settings = isolated / "patchwright" / "config"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "settings.toml").write_text('[discipline.named]\nno-such-rule = "off"\n')
    result = run("run", "x", "--model", "offline", cwd=repo.root)
    assert result.code == 6
    assert "there is no rule 'no-such-rule'" in result.err


def test_a_session_that_is_taken_up_again_keeps_the_rules(at: Any) -> None:
    from agent.context.ledger.session_facts import Facts

    facts = Facts()
    facts.handle_event(
        ObservationEvent(id="e3", call="a", tool="read", text="", data={"path": "a.py", "first": 1})
    )
    facts.handle_event(
        ObservationEvent(id="e5", call="b", tool="edit", text="", data={"path": "a.py", "diff": "+"})
    )

    def advised(known: Facts, *actions: str) -> list[str]:
        discipline = WorkflowMonitor(at, ends=frozenset({"finish"}), levels=DisciplineSettings())
        discipline.restore(History(Path(), LogIndex(Path())), known)
        return [note for note in story(" ".join(actions), at, discipline) if note]

    assert advised(facts, "edit:a.py", "passed") == [], "it was read before"
    assert "read before you edit" in advised(facts, "edit:b.py")[0]
    assert "tests last passed" in advised(facts, "commit")[0]
    facts.handle_event(
        ObservationEvent(
            id="e7", call="c", tool="run_tests", text="2 passed", data={"report": {"failures": []}}
        )
    )
    assert advised(facts, "commit") == []
