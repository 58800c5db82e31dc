"""Results that agents share: of the same files, command and environment, and of nothing that may differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.events import ObservationEvent
from agent.session.log import read_events
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from tests.support.cli import call
from tests.support.team_sessions import play_team, team_settings

pytestmark = pytest.mark.slow


DONE = {"calls": [call("report", answer="Seen.", findings=[])]}


def review(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [*({"calls": [each]} for each in calls), DONE]


def observe(runtime: Runtime, tool: str) -> list[ObservationEvent]:
    """The observations of a tool, of all children in the order in which they began."""
    found = []
    for folder in sorted(runtime.session.folder.parent.iterdir(), key=lambda each: each.stat().st_ctime):
        if folder != runtime.session.folder:
            events = [each for each in read_events(folder) if isinstance(each, ObservationEvent)]
            found += [each for each in events if each.tool == tool]
    return found


def test_a_second_agent_gets_the_tests_and_searches_of_the_first(shop: Path, tmp_path: Path) -> None:
    calls = [call("run_tests"), call("search", pattern="secret_sum"), call("read", path="cart.py")]
    one = call("delegate", agent="reviewer", task="Review")
    turns = [
        {"calls": [one]},
        {"calls": [one, one]},
        {"calls": [call("write", path="new.py", content="x = 1\n"), one]},
        {"text": "Done."},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Review")
        assert "Done." in end.summary, end.summary
        tests = observe(runtime, "run_tests")
        assert [each.data.get("shared", False) for each in tests] == [False, True, True, False]
        assert "1 passed" in tests[1].text
        assert "not run again: the same files" in tests[1].text
        assert tests[1].data["report"]["passed"] == 1
        for name in ("search", "read"):
            found = observe(runtime, name)
            assert [each.data.get("shared", False) for each in found] == [False, True, True, False]
            assert len({each.text for each in found}) == 1
        assert tests[1].seconds < tests[0].seconds / 4

    settings = team_settings(tmp_path, turns, {"reviewer": review(*calls)}, sandbox="auto")
    play_team(shop, settings, story)


def test_siblings_at_work_at_the_same_time_run_the_tests_once(shop: Path, tmp_path: Path) -> None:
    one = call("delegate", agent="reviewer", task="Review")
    turns = [{"calls": [one] * 4}, {"text": "Done."}]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        await runtime.run_turn("Review")
        shared = [each.data.get("shared", False) for each in observe(runtime, "run_tests")]
        assert sorted(shared) == [False, True, True, True]

    play_team(
        shop, team_settings(tmp_path, turns, {"reviewer": review(call("run_tests"))}, sandbox="auto"), story
    )


def test_a_flaky_test_is_run_afresh(shop: Path, tmp_path: Path) -> None:
    """It comes out otherwise on the same files: alone it passes, with all others it fails."""
    (shop / "test_cart.py").write_text(
        "import sys\n\n\ndef test_total():\n    assert any('test_cart.py' in each for each in sys.argv)\n"
    )
    runs = [
        call("run_tests"),
        call("run_tests", targets=["test_cart.py"]),
        call("run_tests"),
        call("run_tests"),
    ]
    turns = [{"calls": [call("delegate", agent="reviewer", task="Review")]}, {"text": "Done."}]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        await runtime.run_turn("Review")
        assert not any(each.data.get("shared") for each in observe(runtime, "run_tests"))
        assert [each.data["report"]["outcome"] for each in observe(runtime, "run_tests")] == [
            "failed",
            "passed",
            "failed",
            "failed",
        ]

    play_team(shop, team_settings(tmp_path, turns, {"reviewer": review(*runs)}, sandbox="auto"), story)


def test_a_session_verifies_its_own_work_afresh(shop: Path, tmp_path: Path) -> None:
    turns = [
        {"calls": [call("write", path="new.py", content="x = 1\n")]},
        {"calls": [call("delegate", agent="reviewer", task="Review")]},
        {"calls": [call("run_tests")]},
        {"text": "Done."},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Review")
        assert end.verification.startswith("passed")
        own = [each for each in read_events(runtime.session.folder) if isinstance(each, ObservationEvent)]
        runs = [each for each in own if each.tool == "run_tests"]
        assert runs
        assert not any(each.data.get("shared") for each in runs)
        assert len(observe(runtime, "run_tests")) == 1

    play_team(
        shop, team_settings(tmp_path, turns, {"reviewer": review(call("run_tests"))}, sandbox="auto"), story
    )
