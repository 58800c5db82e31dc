"""`delegate`: real child sessions with scripted models, in a real repository."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import ChildEvent, ChildProgress, Event, ObservationEvent, SessionStart
from agent.session.log import read_events
from agent.session_settings import LimitSettings
from agent.team.person import UserQuestion
from agent.team.report import LONGEST
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from sandbox.process.watchdog import start_watchdog
from tests.support.cli import call, git
from tests.support.team_sessions import play_team, team_settings, write_agent

LOOK: list[dict[str, Any]] = [
    {"calls": [call("read", path="cart.py")], "expect": [{"tools": ["read", "search", "report", "ask"]}]},
    {
        "calls": [
            call(
                "report",
                answer="The total has tax.",
                findings=[{"place": "cart.py:12", "note": "It is computed here."}],
            )
        ]
    },
]


class Customer:
    """A person who wants net prices."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, question: UserQuestion) -> str:
        self.asked.append(question.question)
        return "net"


def observations(runtime: Runtime) -> list[ObservationEvent]:
    return [each for each in read_events(runtime.session.folder) if isinstance(each, ObservationEvent)]


@pytest.mark.slow
def test_an_agent_reports_places_and_only_its_report_comes_back(shop: Path, tmp_path: Path) -> None:
    turns = [
        {"calls": [call("delegate", agent="explore", task="Where is the total?")]},
        {
            "text": "In cart.py.",
            "expect": ["cart.py:12: It is computed here.", {"not_contains": "secret_sum"}],
        },
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Where is the total computed?")
        assert (end.outcome, end.summary) == ("done", "In cart.py.")
        (seen,) = observations(runtime)
        assert len(seen.text.encode()) <= LONGEST
        assert seen.text.startswith('<agent-report child="explore-1" session="')
        assert seen.data["findings"] == [{"place": "cart.py:12", "note": "It is computed here."}]
        whole = runtime.workspace.artifacts.find_file(seen.ref)
        assert whole is not None
        assert "It is computed here." in whole.read_text()
        log = list(read_events(runtime.session.folder.parent / seen.data["session"]))
        assert isinstance(log[0], SessionStart)
        assert (log[0].started_by, log[0].mode) == (runtime.session.id, "read-only")
        own = [each for each in read_events(runtime.session.folder) if isinstance(each, ChildEvent)]
        assert [(each.state, each.agent) for each in own] == [("started", "explore"), ("ended", "")]

    play_team(shop, team_settings(tmp_path, turns, {"explore": LOOK}), story)


@pytest.mark.slow
def test_a_place_that_is_none_is_sent_back(shop: Path, tmp_path: Path) -> None:
    wrong = [{"place": "cart.py:900", "note": "here"}, {"place": "nowhere.py:1", "note": "there"}]
    look = [
        {"calls": [call("report", answer="There.", findings=wrong)]},
        {
            "calls": [call("report", answer="Nowhere.", findings=[])],
            "expect": ["cart.py has 15 lines", "no file"],
        },
    ]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Where?")]},
        {"text": "Nowhere.", "expect": ["Nowhere."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Where?")
        assert end.outcome == "done", end.summary

    play_team(shop, team_settings(tmp_path, turns, {"explore": look}), story)


@pytest.mark.slow
def test_several_agents_run_at_once(shop: Path, tmp_path: Path) -> None:
    slow = [{"calls": [call("report", answer="Seen.", findings=[])], "delay": 0.3}]
    turns = [
        {"calls": [call("delegate", agent="explore", task=f"Look {n}") for n in range(6)]},
        {"text": "Done."},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        order: list[str] = []
        runtime.session.subscribe(
            lambda event: order.append(event.state) if isinstance(event, ChildEvent) else None
        )
        end = await runtime.run_turn("Look")
        assert end.outcome == "done", end.summary
        assert order == ["started"] * 6 + ["ended"] * 6
        assert len({each.data["child"] for each in observations(runtime)}) == 6

    play_team(shop, team_settings(tmp_path, turns, {"explore": slow}), story)


@pytest.mark.slow
def test_a_question_goes_up_and_its_answer_comes_down(shop: Path, tmp_path: Path) -> None:
    """The child asks its parent, which asks the person; the child goes on with all that it knows."""
    child = [
        {"calls": [call("read", path="cart.py")]},
        {"calls": [call("ask", question="Gross or net?")]},
        {
            "calls": [call("report", answer="Net.", findings=[])],
            "expect": ["The customer wants net.", {"anywhere": "secret_sum"}],
        },
    ]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Which total?")]},
        {
            "calls": [call("ask_user", question="Gross or net?")],
            "expect": ["Gross or net?", "delegate(child="],
        },
        {
            "calls": [call("delegate", child="explore-1", task="The customer wants net.")],
            "expect": ["answers: net"],
        },
        {"text": "Net.", "expect": ["Net."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        team.person = person = Customer()
        end = await runtime.run_turn("Which total?")
        assert end.outcome == "done", end.summary
        assert person.asked == ["Gross or net?"]
        first, asked, second = observations(runtime)
        assert first.data["question"] == "Gross or net?"
        assert asked.text == "The user answers: net"
        assert second.data["session"] == first.data["session"]

    play_team(shop, team_settings(tmp_path, turns, {"explore": child}), story)


def test_nobody_is_asked_where_nobody_is(shop: Path, tmp_path: Path) -> None:
    turns = [{"calls": [call("ask_user", question="Red?")]}, {"text": "Blue.", "expect": ["nobody is here"]}]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Which colour?")
        assert end.outcome == "done", end.summary

    play_team(shop, team_settings(tmp_path, turns, {}), story)


@pytest.mark.slow
def test_a_tester_works_in_the_background_and_its_report_comes_by_itself(shop: Path, tmp_path: Path) -> None:
    tests = [{"path": "test_more.py", "content": "def test_more():\n    assert True\n"}]
    tester = [{"calls": [call("report", answer="One test.", tests=tests)], "delay": 0.2}]
    turns = [
        {"calls": [call("delegate", agent="tester", task="Test the total", background=True)]},
        {"text": "Meanwhile, all is done.", "expect": ["tester-1 has begun"]},
        {
            "calls": [call("delegate", child="tester-1")],
            "expect": ["Still at work", 'delegate(child="tester-1")'],
        },
        {"text": "Tests are there.", "expect": ["test_more.py: out:"]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Test it")
        assert (end.outcome, end.summary) == ("done", "Tests are there.")
        first, second = observations(runtime)
        assert first.seconds < 0.2
        assert second.data["outcome"] == "done"

    play_team(shop, team_settings(tmp_path, turns, {"tester": tester}), story)


@pytest.mark.slow
def test_a_report_from_the_background_comes_before_the_next_request(shop: Path, tmp_path: Path) -> None:
    look = [{"calls": [call("report", answer="All seen.", findings=[])]}]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look", background=True)]},
        {"calls": [call("shell", command="sleep 0.5")]},
        {"text": "Done.", "expect": ["All seen."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Look")
        assert end.outcome == "done", end.summary

    play_team(shop, team_settings(tmp_path, turns, {"explore": look}), story)


@pytest.mark.slow
def test_a_limit_inside_an_agent_ends_honestly_in_its_report(shop: Path, tmp_path: Path) -> None:
    look = [
        {"calls": [call("read", path="cart.py")], "text": "I begin with the cart.", "repeat": 9},
    ]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look")]},
        {"text": "It did not finish.", "expect": ["Not finished (limit)", "step", "I begin with the cart."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Look")
        assert end.outcome == "done", end.summary
        (seen,) = observations(runtime)
        assert seen.failed
        assert seen.data["outcome"] == "limit"

    play_team(shop, team_settings(tmp_path, turns, {"explore": look}, max_steps=3), story)


@pytest.mark.slow
def test_steps_of_agents_are_not_the_sessions_own(shop: Path, tmp_path: Path) -> None:
    look = [{"calls": [call("read", path="cart.py")]}] * 3 + [
        {"calls": [call("report", answer="Seen.", findings=[])]}
    ]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look")]},
        {"text": "Done.", "expect": ["Seen."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Look")
        assert (end.outcome, end.summary) == ("done", "Done.")

    settings = team_settings(tmp_path, turns, {"explore": look})
    play_team(shop, replace(settings, limits=LimitSettings(max_steps=2)), story)


def test_agents_of_a_turn_have_a_number_and_unknown_ones_are_named(shop: Path, tmp_path: Path) -> None:
    look = [{"calls": [call("report", answer="Seen.", findings=[])]}]
    turns = [
        {
            "calls": [
                call("delegate", agent="explore", task="Look"),
                call("delegate", agent="wizard", task="x"),
            ]
        },
        {
            "calls": [call("delegate", agent="explore", task="Look")],
            "expect": ["Agents: explore, plan, tester"],
        },
        {"calls": [call("delegate", child="explore-9", task="x")], "expect": ["agents.most"]},
        {"text": "Done.", "expect": ["no agent 'explore-9' was started here: explore-1"]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Look")
        assert end.outcome == "done", end.summary

    play_team(shop, team_settings(tmp_path, turns, {"explore": look}, most=1), story)


def test_a_long_report_is_cut_and_kept_whole(shop: Path, tmp_path: Path) -> None:
    findings = [{"place": "cart.py:1", "note": f"Sentence {n}, " + "é" * 200} for n in range(60)]
    look = [{"calls": [call("report", answer="Much. " + "é" * 3000, findings=findings)]}]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look")]},
        {"text": "Done.", "expect": [{"regex": r"\[… \d+ more\]"}]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Look")
        assert end.outcome == "done", end.summary
        (seen,) = observations(runtime)
        assert len(seen.text.encode()) <= LONGEST
        whole = runtime.workspace.artifacts.find_file(seen.ref)
        assert whole is not None
        assert "Sentence 59" in whole.read_text()

    play_team(shop, team_settings(tmp_path, turns, {"explore": look}), story)


def list_processes() -> set[str]:
    """The children of this process, with their command lines."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # the thread, or the child, has ended meanwhile
            for pid in (task / "children").read_text().split():
                found.add(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes()!r}")
    return found


@pytest.mark.slow
def test_many_agents_leave_nothing_behind(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process, no worktree, no temporary file; a part writes in the background. `make stress` starts 300."""
    count, writers = (240, 60) if os.environ.get("PATCHWRIGHT_STRESS") else (27, 3)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    start_watchdog()  # one for this process, whatever it runs
    descriptors, processes = len(os.listdir("/proc/self/fd")), list_processes()
    write_agent("writer", "tools: Read, Edit", "isolation: worktree")
    write_agent("slow", "tools: Read, Edit", "isolation: worktree")
    edit = {"calls": [call("edit", path="cart.py", old="RATE = 0.2", new="RATE = 0.1")]}
    agents = {
        "explore": LOOK,
        "writer": [edit, {"text": "Written."}],
        "slow": [edit, {"text": "Never said.", "delay": 60}],
    }
    kinds = ["writer"] * (writers - 1) + ["slow"]
    turns = [
        {
            "calls": [
                *(
                    call("delegate", agent=kind, task=f"Write {n}", background=True)
                    for n, kind in enumerate(kinds)
                ),
                *(call("delegate", agent="explore", task=f"Look {n}") for n in range(count)),
            ]
        },
        {"text": "Done.", "repeat": writers + 2},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Look")
        assert end.summary == "Done.", end.summary
        assert not any(each.failed for each in observations(runtime))
        assert len(team.team.activity.rows) == count + writers
        assert set(runtime.running_children) == {child.id for child in team.team.children.open_children}

    settings = team_settings(tmp_path, turns, agents, most=count + writers)
    play_team(shop, replace(settings, limits=LimitSettings(max_steps=10_000)), story)
    assert list_processes() <= processes
    assert git(shop, "worktree", "list").count("\n") == 1
    assert list((Home.from_environment().cache / "worktrees").glob("*")) == []
    assert list(temporary.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 5


@pytest.mark.slow
def test_an_agent_at_work_is_steered(shop: Path, tmp_path: Path) -> None:
    look = [
        {"calls": [call("read", path="cart.py")]},
        {"calls": [call("search", pattern="total")], "delay": 0.3},
        {"calls": [call("report", answer="Done.", findings=[])], "expect": ["look at the rate, too"]},
    ]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look")]},
        {"text": "Done.", "expect": ["Done."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        def steer(event: Event) -> None:
            if isinstance(event, ChildProgress) and event.event["kind"] == "observation" and not steered:
                steered.append(event.child)
                asyncio.get_running_loop().call_later(
                    0.1, team.team.steer, "explore-1", "look at the rate, too"
                )

        steered: list[str] = []
        runtime.session.subscribe(steer)
        end = await runtime.run_turn("Look")
        assert end.outcome == "done", end.summary

    play_team(shop, team_settings(tmp_path, turns, {"explore": look}), story)


@pytest.mark.slow
def test_an_agent_is_asked_again_in_a_later_process(shop: Path, tmp_path: Path) -> None:
    """It is known by its name, and knows what it did."""
    look = [
        {"calls": [call("read", path="cart.py")]},
        {"calls": [call("report", answer="It has tax.", findings=[])]},
        {
            "calls": [call("report", answer="The rate is 0.2.", findings=[])],
            "expect": ["And the rate?", {"anywhere": "RATE = 0.2"}],
        },
    ]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look")]},
        {"text": "It has tax."},
        {"calls": [call("delegate", child="explore-1", task="And the rate?")]},
        {"text": "0.2", "expect": ["The rate is 0.2."]},
    ]
    settings = team_settings(tmp_path, turns, {"explore": look})

    async def first(runtime: Runtime, team: SessionTeam) -> str:
        assert (await runtime.run_turn("Look")).outcome == "done"
        return runtime.session.id

    async def second(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Which rate?")
        assert end.outcome == "done", end.summary

    session = play_team(shop, settings, first)
    play_team(shop, settings, second, session=session)


def test_what_works_in_the_background_ends_with_the_session(shop: Path, tmp_path: Path) -> None:
    slow = [{"calls": [call("report", answer="Late.", findings=[])], "delay": 60}]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look", background=True)]},
        {"text": "I do not wait."},
        {"text": "Over.", "expect": ["stopped when you end again"]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> Path:
        end = await runtime.run_turn("Look")
        assert (end.outcome, end.summary) == ("done", "Over.")
        return runtime.session.folder

    folder = play_team(shop, team_settings(tmp_path, turns, {"explore": slow}), story)
    own = [each for each in read_events(folder) if isinstance(each, ChildEvent)]
    assert [(each.state, each.outcome) for each in own] == [("started", ""), ("ended", "interrupted")]


@pytest.mark.slow
def test_an_agent_starts_others_only_if_its_file_says_so(shop: Path, tmp_path: Path) -> None:
    write_agent("lead", "tools: Read, Task")
    lead = [
        {
            "calls": [call("Task", subagent_type="explore", prompt="Look")],
            "expect": [{"tools": ["delegate"]}],
        },
        {"text": "Led.", "expect": ["Seen below."]},
    ]
    look = [
        {"calls": [call("delegate", agent="explore", task="Deeper")]},
        {
            "calls": [call("report", answer="Seen below.", findings=[])],
            "expect": ["there is no tool 'delegate'"],
        },
    ]
    turns = [{"calls": [call("delegate", agent="lead", task="Lead")]}, {"text": "Done.", "expect": ["Led."]}]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Lead")
        assert end.outcome == "done", end.summary
        tree = [(depth, row.name) for depth, row in team.team.activity.list_tree()]
        assert tree == [(0, "lead-1"), (1, "lead-1.explore-1")]

    play_team(shop, team_settings(tmp_path, turns, {"lead": lead, "explore": look}), story)


@pytest.mark.slow
def test_an_agent_starts_only_those_that_its_file_names(shop: Path, tmp_path: Path) -> None:
    write_agent("lead", "tools: Read, Agent(explore)")
    write_agent("other")
    lead = [
        {"calls": [call("delegate", agent="other", task="Look")], "expect": [{"tools": ["delegate"]}]},
        {
            "calls": [call("delegate", agent="explore", task="Look")],
            "expect": ["there is no agent 'other'. Agents: explore"],
        },
        {"text": "Led.", "expect": ["Seen."]},
    ]
    look = [{"calls": [call("report", answer="Seen.", findings=[])]}]
    turns = [{"calls": [call("delegate", agent="lead", task="Lead")]}, {"text": "Done.", "expect": ["Led."]}]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Lead")
        assert end.outcome == "done", end.summary
        tree = [(depth, row.name) for depth, row in team.team.activity.list_tree()]
        assert tree == [(0, "lead-1"), (1, "lead-1.explore-1")]

    play_team(shop, team_settings(tmp_path, turns, {"lead": lead, "explore": look}), story)


def test_an_error_inside_an_agent_is_no_result(shop: Path, tmp_path: Path) -> None:
    look = [{"error": {"fault": "credentials", "message": "no key"}}]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Look")]},
        {"text": "Done.", "expect": ["Not finished (credentials)", "no key"]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Look")
        assert end.outcome == "done", end.summary
        assert observations(runtime)[0].failed

    play_team(shop, team_settings(tmp_path, turns, {"explore": look}), story)
