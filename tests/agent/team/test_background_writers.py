"""Writers in the background: their changes come in when their report is taken, at a step's edge, and never between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import ActionEvent, ChildProgress, Event, ObservationEvent, Steer
from agent.session.log import read_events
from agent.session.undo import Timeline, undo_last_turn
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.cli import call, git
from tests.support.team_sessions import (
    play_team,
    play_until_killed,
    read_merges,
    show_agents,
    team_settings,
    write_agent,
)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def writers(shop: Path) -> None:
    for name in ("one", "two"):
        write_agent(name, "tools: Read, Edit, Write", "isolation: worktree")
    write_agent("leased", "tools: Edit")


def begin(*names: str) -> dict[str, Any]:
    return {"calls": [call("delegate", agent=name, task=f"Do {name}", background=True) for name in names]}


def edit(old: str, new: str, path: str = "cart.py", **turn: Any) -> dict[str, Any]:
    return {"calls": [call("edit", path=path, old=old, new=new)], **turn}


RATE = [edit("RATE = 0.2", "RATE = 0.1"), {"text": "The rate is 0.1."}]


def find_leftovers(shop: Path) -> list[str]:
    left = [str(each) for each in (Home.from_environment().cache / "worktrees").glob("*")]
    return left + git(shop, "worktree", "list").splitlines()[1:]


def test_a_report_is_taken_at_a_steps_edge_and_brings_the_changes(shop: Path, tmp_path: Path) -> None:
    """The model waits for the second; the first one's report comes by itself before the next request."""
    two = [{"calls": [call("write", path="notes.txt", content="n\n")]}, {"text": "Noted.", "delay": 1.0}]
    turns = [
        begin("one"),
        {**begin("two", "leased"), "expect": ["one-1 has begun"]},
        {
            "calls": [call("delegate", child="two-2")],
            "expect": ["two-2 has begun", "with `isolation: worktree` in its file it would"],
        },
        {
            "text": "Done.",
            "expect": [
                "Merged into your files: notes.txt.",
                {"anywhere": "Merged into your files: cart.py."},
            ],
        },
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Do both")
        assert end.summary == "Done.", end.summary
        assert {"cart.py", "notes.txt"} <= set(end.files)
        assert end.verification.startswith("passed"), end.verification
        assert show_agents(team).count("merged 1 file") == 2
        assert find_leftovers(shop) == []
        events = list(read_events(runtime.session.folder))
        merged = [each for each in events if isinstance(each, ActionEvent) and each.tool == "merge_changes"]
        assert len(merged) == 2
        (by_itself,) = [n for n, each in enumerate(events) if each in merged and each.paths == ["cart.py"]]
        begun = {each.call for each in events[:by_itself] if isinstance(each, ActionEvent)}
        ended = {each.call for each in events[:by_itself] if isinstance(each, ObservationEvent)}
        assert begun == ended, "not amid a step"
        snapshots = Snapshots(shop, Home.from_environment().get_project_folder(shop) / "snapshots")
        undo_last_turn(snapshots, Timeline.from_events(read_events(runtime.session.folder)))
        assert "RATE = 0.2" in (shop / "cart.py").read_text()
        assert not (shop / "notes.txt").exists()

    play_team(shop, team_settings(tmp_path, turns, {"one": RATE, "two": two}), story)


LINE = "The total is the sum of the items, with tax."


@pytest.mark.parametrize("solves", [True, False])
def test_a_conflict_goes_to_the_agent_and_then_to_the_session(
    shop: Path, tmp_path: Path, *, solves: bool
) -> None:
    solution: list[dict[str, Any]] = [
        {
            "expect": ["REQUIREMENTS.md: both changed it", "Files with marks: REQUIREMENTS.md"],
            "text": "I forgot to look.",
        },
        {"expect": ["still have marks"], "calls": [call("read", path="REQUIREMENTS.md")]},
        {
            "expect": ["<<<<<<< yours"],
            "calls": [call("write", path="REQUIREMENTS.md", content="both\n")] if solves else [],
            "text": "Solved." if solves else "I cannot.",
        },
        *([{"text": "Both it is."}] if solves else []),
    ]
    agents = {"one": [edit(LINE, "net", "REQUIREMENTS.md"), {"text": "It is net."}, *solution]}
    told = (
        "Merged into your files: REQUIREMENTS.md." if solves else "you and the agent changed the same places"
    )
    turns = [
        {"calls": [*begin("one")["calls"], *edit(LINE, "gross", "REQUIREMENTS.md")["calls"]]},
        {"calls": [call("delegate", child="one-1")] * 2},
        {"text": "Done.", "expect": [told, "It is net."]},
        {"text": "Done."},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Do it")
        assert end.summary.startswith("Done."), end.summary
        assert (shop / "REQUIREMENTS.md").read_text() == ("both\n" if solves else "gross\n")
        outcomes = [outcome for outcome, _ in read_merges(runtime)]
        assert ("conflicts" in outcomes) is not solves
        assert find_leftovers(shop) == []

    play_team(shop, team_settings(tmp_path, turns, agents), story)


@pytest.mark.parametrize(
    ("moment", "state", "told", "task"),
    [
        ("event.kind == 'child-progress' and event.event['kind'] == 'observation'", "cut off",
         "What it had changed is gone with its worktree", "Make the rate 0.1"),
        ("event.kind == 'merge' and event.outcome == 'reported'", "not merged yet",
         "one-1 had reported, but its changes are not merged", ""),
        ("event.kind == 'action' and event.tool == 'merge_changes'", "not merged yet",
         "one-1 had reported, but its changes are not merged", ""),
    ],
    ids=("at work", "reported", "merging"),
)  # fmt: skip
def test_a_kill_leaves_nothing_and_the_resumed_session_names_it(
    shop: Path, tmp_path: Path, moment: str, state: str, told: str, task: str
) -> None:
    agents = {"one": [RATE[0], *RATE]}  # the second one is for what is begun again
    turns = [
        begin("one"),
        {"calls": [call("delegate", child="one-1")]},
        {"calls": [call("delegate", child="one-1", task=task)], "expect": [{"anywhere": told}]},
        {"text": "Merged.", "expect": ["Merged into your files: cart.py."]},
    ]
    session = play_until_killed(shop, tmp_path, moment, turns, agents)
    assert "RATE = 0.2" in (shop / "cart.py").read_text()

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        assert find_leftovers(shop) == []
        assert state in show_agents(team)
        end = await runtime.run_turn(None)
        assert end.summary.startswith("Merged."), end.summary
        assert "RATE = 0.1" in (shop / "cart.py").read_text()

    play_team(shop, team_settings(tmp_path, turns, agents), story, session=session)


def test_a_session_that_ends_first_keeps_the_work_and_tells_of_it(shop: Path, tmp_path: Path) -> None:
    """As in `patchwright run`: the model is told once, then the agent is stopped."""
    agents = {"one": [RATE[0], {"text": "Never said.", "delay": 60}]}
    turns = [
        begin("one"),
        {"calls": [call("read", path="cart.py")]},
        {"text": "Over."},
        {"text": "Over.", "expect": ["Still at work in the background", 'delegate(child="one-1")']},
        {
            "calls": [call("delegate", child="one-1")],
            "expect": ["one-1 was stopped. What it had changed is kept apart"],
        },
        {"text": "Taken.", "expect": ["Merged into your files: cart.py."]},
    ]
    settings = team_settings(tmp_path, turns, agents)

    async def first(runtime: Runtime, team: SessionTeam) -> str:
        written = asyncio.Event()

        def follow(event: Event) -> None:
            if isinstance(event, ChildProgress) and event.event["kind"] == "observation":
                written.set()

        runtime.session.subscribe(follow)
        end = await runtime.run_turn("Do it")
        await asyncio.wait_for(written.wait(), 60)
        assert end.summary.startswith("Over."), end.summary
        return runtime.session.id

    async def second(runtime: Runtime, team: SessionTeam) -> None:
        assert find_leftovers(shop) == []
        assert "RATE = 0.2" in (shop / "cart.py").read_text()
        assert "not merged" in show_agents(team)
        end = await runtime.run_turn("Take it")
        assert end.summary == "Taken.", end.summary
        assert "RATE = 0.1" in (shop / "cart.py").read_text()

    session = play_team(shop, settings, first)
    play_team(shop, settings, second, session=session)


def test_in_a_session_that_stays_open_it_works_on_and_the_next_turn_takes_its_report(
    shop: Path, tmp_path: Path
) -> None:
    turns: Sequence[Mapping[str, Any]] = [
        begin("one"),
        {"text": "It works on."},
        {"text": "Merged.", "expect": ["Merged into your files: cart.py."]},
    ]
    agents = {"one": [{**RATE[0], "delay": 1.0}, RATE[1]]}

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        team.stays_open = True
        end = await runtime.run_turn("Do it")
        assert end.summary == "It works on."
        while not team.team.background.arrived_names:
            await asyncio.sleep(0.01)
        assert "RATE = 0.2" in (shop / "cart.py").read_text(), "between turns no file changes"
        end = await runtime.run_turn("And?")
        assert end.summary == "Merged.", end.summary
        assert end.files == ["cart.py"]
        steers = [each for each in read_events(runtime.session.folder) if isinstance(each, Steer)]
        assert [each.by for each in steers if "Merged into your files" in each.text] == ["harness"]

    play_team(shop, team_settings(tmp_path, turns, agents), story)
