"""Agents with `isolation: worktree`: their changes come into the session's files when they report, or are named."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.children.child import Child
from agent.children.spec import ChildSpec
from agent.events import ChildProgress, Event, ObservationEvent
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


def edit(old: str, new: str, **turn: Any) -> dict[str, Any]:
    return {"calls": [call("edit", path="cart.py", old=old, new=new)], **turn}


def list_delegated(runtime: Runtime) -> list[ObservationEvent]:
    events = read_events(runtime.session.folder)
    return [each for each in events if isinstance(each, ObservationEvent) and each.tool == "delegate"]


BOTH = {
    "calls": [
        call("delegate", agent="one", task="Make the rate 0.1"),
        call("delegate", agent="two", task="Write notes"),
    ]
}


def test_two_writers_work_at_once_and_one_undo_takes_both_back(shop: Path, tmp_path: Path) -> None:
    """Each waits for the other's file in vain: neither sees the other's before both are merged."""
    one = [
        edit("RATE = 0.2", "RATE = 0.1"),
        {"calls": [call("read", path="notes.txt")], "delay": 0.2},
        {"text": "The rate is 0.1.", "expect": ["notes.txt"]},
    ]
    two = [
        {"calls": [call("write", path="notes.txt", content="n\n")]},
        {"calls": [call("read", path="cart.py")], "delay": 0.2},
        {"text": "Noted.", "expect": ["RATE = 0.2"]},
    ]
    turns = [
        BOTH,
        {
            "text": "Done.",
            "expect": [
                "Merged into your files: cart.py.",
                "Merged into your files: notes.txt.",
                "The rate is 0.1.",
            ],
        },
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Do both")
        assert {"cart.py", "notes.txt"} <= set(end.files), end.summary
        assert end.verification.startswith("passed"), end.verification
        assert (shop / "cart.py").read_text().count("RATE = 0.1") == 1
        assert (shop / "notes.txt").read_text() == "n\n"
        merges = read_merges(runtime)
        assert sorted(merges) == [
            ("merged", ["cart.py"]), ("merged", ["notes.txt"]), ("reported", []), ("reported", []),
        ]  # fmt: skip
        assert show_agents(team).count("merged 1 file") == 2
        assert git(shop, "worktree", "list").count("\n") == 1
        snapshots = Snapshots(shop, Home.from_environment().get_project_folder(shop) / "snapshots")
        undo_last_turn(snapshots, Timeline.from_events(read_events(runtime.session.folder)))
        assert "RATE = 0.2" in (shop / "cart.py").read_text()
        assert not (shop / "notes.txt").exists()

    play_team(shop, team_settings(tmp_path, turns, {"one": one, "two": two}), story)


def test_agents_are_numbered_in_the_order_of_their_calls(shop: Path, tmp_path: Path) -> None:
    """The model names them by these numbers later, so they must not depend on which one starts sooner."""
    turns = [BOTH, {"text": "Done."}]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        start, begun = team.team.children.start, []

        async def start_first_late(spec: ChildSpec) -> Child:
            begun.append(spec.agent)
            if len(begun) == 1:
                await asyncio.sleep(0.2)
            return await start(spec)

        team.team.children.start = start_first_late  # type: ignore[method-assign]
        await runtime.run_turn("Do both")
        assert sorted(row.name for row in team.team.activity.rows.values()) == ["one-1", "two-2"]

    agents = {"one": [{"text": "Nothing to do."}], "two": [{"text": "Nothing to do."}]}
    play_team(shop, team_settings(tmp_path, turns, agents), story)


def rewrite(text: str) -> dict[str, Any]:
    old = "The total is the sum of the items, with tax."
    return {"calls": [call("edit", path="REQUIREMENTS.md", old=old, new=text)]}


def conflict(shop: Path, solution: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Two agents that change one line; the second waits for the merge of the first, and solves the conflict as told."""
    write_agent("two", "tools: Read, Edit, Write, Bash", "isolation: worktree")
    waiting = f"until grep -q gross {shop / 'REQUIREMENTS.md'}; do sleep 0.02; done"
    one = [rewrite("gross"), {"text": "It is gross."}]
    two = [rewrite("net"), {"calls": [call("shell", command=waiting)]}, {"text": "It is net."}, *solution]
    return one, two


def test_a_conflict_is_solved_by_the_agent(shop: Path, tmp_path: Path) -> None:
    one, two = conflict(
        shop,
        [
            {
                "expect": ["REQUIREMENTS.md: both changed it", "Files with marks: REQUIREMENTS.md"],
                "text": "I forgot to look.",
            },
            {"expect": ["still have marks"], "calls": [call("read", path="REQUIREMENTS.md")]},
            {
                "expect": ["<<<<<<< yours"],
                "calls": [
                    call("write", path="REQUIREMENTS.md", content="both\n"),
                    call("write", path="more.txt", content="m\n"),
                ],
            },
            {"text": "Solved: both."},
        ],
    )
    turns = [BOTH, {"text": "Done.", "expect": ["Solved: both."]}]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Do both")
        assert end.summary.startswith("Done."), end.summary
        assert (shop / "REQUIREMENTS.md").read_text() == "both\n"
        assert not any(each.failed for each in list_delegated(runtime))
        assert read_merges(runtime)[-1] == ("merged", ["REQUIREMENTS.md", "more.txt"])

    play_team(shop, team_settings(tmp_path, turns, {"one": one, "two": two}), story)


def test_a_conflict_is_left_to_the_session_with_the_work_kept(shop: Path, tmp_path: Path) -> None:
    """Also asked again in a later process, the agent has its work, and the conflict comes back with it."""
    one, two = conflict(shop, [{"text": "I cannot."}, {"text": "I cannot, really."}])
    again = [
        {"expect": ["as you reported them last"], "calls": [call("read", path="REQUIREMENTS.md")]},
        {"expect": ["<<<<<<< yours"], "calls": [call("write", path="REQUIREMENTS.md", content="both\n")]},
        {"text": "Now it is solved."},
    ]
    turns = [
        BOTH,
        {
            "text": "It conflicts.",
            "expect": [
                "Nothing of it is merged: you and the agent changed the same places of REQUIREMENTS.md",
                "git diff",
            ],
        },
        {"calls": [call("delegate", child="two-2", task="Take the mean")]},
        {"text": "Done.", "expect": ["Now it is solved."]},
    ]
    settings = team_settings(tmp_path, turns, {"one": one, "two": [*two, *again]})

    async def first(runtime: Runtime, team: SessionTeam) -> str:
        await runtime.run_turn("Do both")
        assert (shop / "REQUIREMENTS.md").read_text() == "gross\n"
        left = next(each for each in list_delegated(runtime) if each.failed)
        assert left.data["conflicts"] == ["REQUIREMENTS.md"]
        named = left.text.partition("Its work: git diff ")[2].split()[:2]
        assert "+<<<<<<< yours" in git(shop, "diff", *named)
        assert "not merged: 1 conflict" in show_agents(team)
        return runtime.session.id

    async def second(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Solve it")
        assert (shop / "REQUIREMENTS.md").read_text() == "both\n", end.summary
        assert "merged 1 file" in show_agents(team)

    session = play_team(shop, settings, first)
    play_team(shop, settings, second, session=session)


@pytest.mark.parametrize(
    ("moment", "is_changed"),
    [
        ("event.kind == 'merge' and event.outcome == 'reported'", False),
        ("event.kind == 'action' and event.tool == 'merge_changes'", False),
        ("event.kind == 'observation' and event.tool == 'merge_changes'", True),
    ],
    ids=("before", "begun", "done"),
)
def test_a_kill_around_a_merge_loses_nothing(
    shop: Path, tmp_path: Path, moment: str, is_changed: bool
) -> None:
    """What the kill prevented is done when the session asks for it; what was done is known to be."""
    agents = {"one": [edit("RATE = 0.2", "RATE = 0.1"), {"text": "The rate is 0.1."}]}
    turns = [
        {"calls": [call("delegate", agent="one", task="Make the rate 0.1")]},
        {
            "calls": [call("delegate", child="one-1")],
            "expect": ["one-1 had reported, but its changes are not merged"],
        },
        {
            "text": "Merged.",
            "expect": ["All is merged." if is_changed else "Merged into your files: cart.py."],
        },
    ]
    session = play_until_killed(shop, tmp_path, moment, turns, agents)
    assert ("RATE = 0.1" in (shop / "cart.py").read_text()) is is_changed

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        assert not list((Home.from_environment().cache / "worktrees").glob("*"))
        assert git(shop, "worktree", "list").count("\n") == 1
        assert "not merged yet" in show_agents(team)
        end = await runtime.run_turn(None)
        assert end.summary.startswith("Merged."), end.summary
        assert "RATE = 0.1" in (shop / "cart.py").read_text()
        assert "cart.py" in end.files

    play_team(shop, team_settings(tmp_path, turns, agents), story, session=session)


def test_a_kill_amid_the_work_removes_the_worktree_and_says_so(shop: Path, tmp_path: Path) -> None:
    change = edit("RATE = 0.2", "RATE = 0.1")
    again = {**change, "expect": ["Your files are the present ones"]}
    agents = {"one": [change, again, {"text": "The rate is 0.1."}]}
    turns = [
        {"calls": [call("delegate", agent="one", task="Make the rate 0.1")]},
        {
            "calls": [call("delegate", child="one-1")],
            "expect": ["What it had changed is gone with its worktree"],
        },
        {
            "calls": [call("delegate", child="one-1", task="Make the rate 0.1")],
            "expect": ["one-1 was cut off, and its worktree is gone"],
        },
        {"text": "Merged.", "expect": ["Merged into your files: cart.py."]},
    ]
    moment = "event.kind == 'child-progress' and event.event['kind'] == 'observation'"
    session = play_until_killed(shop, tmp_path, moment, turns, agents)
    assert list((Home.from_environment().cache / "worktrees").glob("*"))

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        assert not list((Home.from_environment().cache / "worktrees").glob("*"))
        end = await runtime.run_turn(None)
        assert end.summary.startswith("Merged."), end.summary
        assert "RATE = 0.1" in (shop / "cart.py").read_text()

    play_team(shop, team_settings(tmp_path, turns, agents), story, session=session)


def test_what_did_not_finish_is_kept_apart(shop: Path, tmp_path: Path) -> None:
    """A limit ends the agent; the session takes over what it has done so far."""
    one = [edit("RATE = 0.2", "RATE = 0.1"), {"calls": [call("read", path="cart.py")], "repeat": 9}]
    turns = [
        {"calls": [call("delegate", agent="one", task="Make the rate 0.1")]},
        {
            "calls": [call("delegate", child="one-1")],
            "expect": [
                "Nothing of it is merged, since it has ended with 'limit'",
                "To take it over as it is",
            ],
        },
        {"text": "Taken.", "expect": ["Merged into your files: cart.py."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Do it")
        assert end.summary.startswith("Taken."), end.summary
        assert "RATE = 0.1" in (shop / "cart.py").read_text()

    play_team(shop, team_settings(tmp_path, turns, {"one": one}, max_steps=3), story)


def test_an_interruption_keeps_what_was_done(shop: Path, tmp_path: Path) -> None:
    """Ctrl-C ends the step with the agent; the session takes over what it has done so far."""
    one = [edit("RATE = 0.2", "RATE = 0.1"), {"text": "Never said.", "delay": 60}]
    turns = [
        {"calls": [call("delegate", agent="one", task="Make the rate 0.1")]},
        {"calls": [call("delegate", child="one-1")]},
        {"text": "Taken.", "expect": ["Merged into your files: cart.py."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        def interrupt(event: Event) -> None:
            if isinstance(event, ChildProgress) and event.event["kind"] == "observation" and not seen:
                seen.append(event)
                runtime.interrupt()

        seen: list[Event] = []
        runtime.session.subscribe(interrupt)
        end = await runtime.run_turn("Do it")
        assert [outcome for outcome, _ in read_merges(runtime)] == ["kept", "merged"], end.summary
        assert "RATE = 0.1" in (shop / "cart.py").read_text()

    play_team(shop, team_settings(tmp_path, turns, {"one": one}), story)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("no git", "a worktree needs a git repository"),
        ("no commit", "a worktree needs a commit to begin with"),
        ("nested", "no worktree could be made: lib has git of its own"),
    ],
)
def test_one_line_says_why_there_is_no_worktree(shop: Path, tmp_path: Path, case: str, told: str) -> None:
    if case == "no git":
        (shop / ".git").rename(tmp_path / "gone")
    elif case == "no commit":
        git(shop, "update-ref", "-d", "HEAD")
    elif case == "nested":
        (shop / "lib").mkdir()
        git(shop / "lib", "init", "-q")
        git(shop / "lib", "commit", "-q", "--allow-empty", "-m", "Start")
    turns = [
        {"calls": [call("delegate", agent="one", task="Do it")]},
        {"text": "Over.", "expect": [told]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Do it")
        assert end.summary.startswith("Over."), end.summary

    play_team(shop, team_settings(tmp_path, turns, {"one": [{"text": "never"}]}), story, offer_commit=False)
