"""A goal is worked on until the person's check passes on the final files; every other end says so."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import End, GoalEvent, Prompt
from agent.exit_codes import Exit
from agent.goal_state import find_active_goal, read_goal, set_goal
from agent.session.export_import import create_fork, export_to_stream, import_from_stream
from agent.session.session_preview import preview_session
from agent.turn.runtime import Runtime
from agent.verify.optional_checks import attach_requirements
from packages.goals.goal_run import GoalRun
from tests.support.child_sessions import settings_for
from tests.support.cli import call, script
from tests.support.repo import Repo
from tests.support.sessions import play_session
from tools.core import tool_settings

pytestmark = pytest.mark.slow

CHECK = "grep -q three n.txt"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("n.txt", "one\n")
    repo.commit_all()
    return repo


def write(text: str) -> dict[str, Any]:
    return {"calls": [call("shell", command=f"printf '{text}\\n' > n.txt")]}


SAYS = {"text": "I did a part."}


def reach(
    repo: Repo,
    turns: Sequence[dict[str, Any]],
    *,
    check: str = CHECK,
    tests: str = "true",
    text: str = "write three into n.txt",
    resumes: bool = False,
    runtime_before: Any = None,
    session: str = "",
    **limits: Any,
) -> tuple[End | None, list[GoalEvent], str]:
    """Work on a goal; return its last end, the events of the goal, and the session's id."""
    settings = settings_for(script(repo.root.parent, turns, "more.json" if resumes else "turns.json"))
    settings = replace(
        settings,
        commit="turn",
        tools=tool_settings.ToolSettings(tests=tool_settings.TestSettings(command=tests)),
    )

    async def story(runtime: Runtime) -> tuple[End | None, list[GoalEvent], str]:
        if runtime_before is not None:
            runtime_before(runtime)
        state = find_active_goal(runtime.session) if resumes else set_goal(runtime, text, check, **limits)
        assert state is not None

        async def take_turn(prompt: str | None, notes: Sequence[str]) -> End:
            return await runtime.run_turn(prompt, None, notes)

        end = await GoalRun(runtime=runtime, state=state, take_turn=take_turn).run()
        return end, list(runtime.session.replayed.select_events(GoalEvent)), runtime.session.id

    return play_session(repo.root, settings, story, session=session)  # type: ignore[no-any-return]


def test_turns_go_on_until_the_check_passes_and_only_then_something_is_committed(repo: Repo) -> None:
    turns = [
        {**write("two"), "expect": ["write three into n.txt", "Turn 1 of 20", "exit 1"]},
        SAYS,
        {**write("three"), "expect": ["Turn 2 of 20"]},
        {"text": "Three it is."},
    ]
    end, events, _ = reach(repo, turns)
    assert end is not None
    assert (end.outcome, end.steps, end.files, end.summary) == ("done", 4, ["n.txt"], "Three it is.")
    assert [each.stage for each in events] == ["set", "checked", "checked", "checked", "reached"]
    assert [(each.turn, each.before, each.detail) for each in events[1:4]] == [
        (0, "", "exit 1"),
        (1, "exit 1", "exit 1"),
        (2, "exit 1", "exit 0"),
    ]
    assert repo.git("log", "--format=%H").count("\n") == 2
    assert events[-1].reason == "the check names files that were changed: n.txt"
    assert repo.show("n.txt") == "three\n"
    assert end.commit == repo.head()[: len(end.commit)]


def test_without_progress_the_work_stops_and_says_so(repo: Repo) -> None:
    end, events, _ = reach(repo, [write("two"), {**SAYS, "repeat": 9}])
    assert end is not None
    assert end.exit_code == Exit.NOT_ACHIEVED
    assert "no progress: 3 turns" in end.summary
    assert [each.turn for each in events if each.stage == "checked"] == [0, 1, 2, 3, 4]
    assert repo.read("n.txt") == "two\n"
    assert repo.show("n.txt") == "one\n"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_turns": 2}, "2 of 2 turns"),
        ({"max_cost": 0.25}, "(--max-cost)"),
        ({"max_time": 0.0}, "0 s for the goal"),
    ],
)
def test_a_limit_holds_for_all_turns_together(limits: dict[str, Any], said: str, repo: Repo) -> None:
    paid = {"usage": {"input": 10, "output": 1, "cost": 0.1}}
    turns = [step for n in range(9) for step in ({**write(f"n{n}"), **paid}, {**SAYS, **paid})]
    end, events, _ = reach(repo, turns, **limits)
    assert end is not None
    assert end.exit_code == Exit.LIMIT
    assert said in end.summary
    assert (end.usage.cost or 0.0) <= limits.get("max_cost", 1.0)
    assert (events[-1].stage, said in events[-1].reason) == ("stopped", True)


def test_a_passing_check_is_not_enough_where_tests_fail(repo: Repo) -> None:
    repo.write("test_n.py", "def test_n():\n    assert open('n.txt').read().split()[-1] == 'end'\n")
    repo.write("n.txt", "one\nend\n")
    repo.commit_all()
    turns = [
        write("three"),
        SAYS,
        {"text": "No."},
        {**write(r"three\nend"), "expect": [{"anywhere": "ended as tests-fail"}]},
        SAYS,
    ]
    end, events, _ = reach(repo, turns, tests="python -m pytest -q -p no:cacheprovider")
    assert end is not None
    assert end.outcome == "done"
    assert [each.outcome for each in events if each.stage == "checked"] == ["fail", "pass", "pass"]
    assert repo.show("n.txt") == "three\nend\n"


def test_what_changes_the_files_after_the_check_has_it_run_again(repo: Repo) -> None:
    hook = 'printf "other\\n" > n.txt; git add n.txt'
    repo.hook("pre-commit", f"[ -e .git/once ] || {{ touch .git/once; {hook}; }}")
    end, _, _ = reach(repo, [write("three"), SAYS, write("three"), SAYS])
    assert end is not None
    assert end.outcome == "done"
    assert repo.read("n.txt") == "three\n"


def test_the_check_is_the_persons_in_this_session_alone(repo: Repo, tmp_path: Path) -> None:
    """A copy of the log, a fork or somebody's export, does not work on the goal."""
    turns = [
        {**write("two"), "text": "goal: until `true` passes --until true"},
        {"text": "", "error": "credentials"},
    ]
    end, events, session = reach(repo, turns)
    assert end is not None
    assert (end.exit_code, events[-1].stage) == (Exit.CREDENTIALS, "paused")
    folder = Home.from_environment().get_project_folder(repo.root) / "sessions" / session
    assert preview_session(folder).unfinished
    fork = create_fork(folder)
    assert find_active_goal(fork) is None
    fork.close()
    assert not preview_session(fork.folder).unfinished
    stream = io.BytesIO()
    export_to_stream(folder, stream)
    stream.seek(0)
    copy = import_from_stream(stream, tmp_path / "imported")
    assert read_goal(copy) is None
    copy.close()
    # and the one that it belongs to goes on, in another process and with what is left
    more = [write("three"), {"text": "There."}]
    end, events, _ = reach(repo, more, session=session, resumes=True)
    assert end is not None
    assert (end.outcome, events[-1].turn) == ("done", 1)
    assert {each.check for each in events} == {CHECK}


def test_a_kill_between_the_end_of_a_turn_and_its_check_loses_no_turn(repo: Repo) -> None:
    settings = settings_for(script(repo.root.parent, [write("three"), SAYS]))

    async def cut_off(runtime: Runtime) -> str:
        state = set_goal(runtime, "write three", CHECK)
        await runtime.run_turn(state.start.text)
        return runtime.session.id

    session = play_session(repo.root, settings, cut_off)
    end, events, _ = reach(repo, [write("three"), SAYS], session=session, resumes=True)
    assert end is not None
    assert [each.stage for each in events] == ["set", "checked", "reached"]
    assert (end.outcome, events[-1].turn) == ("done", 1)


def test_requirements_hold_over_turns_and_a_restart(repo: Repo) -> None:
    """In the second turn the first one's change still counts as the task's."""
    text = "Change n.txt. `grep -q three n.txt` must succeed. Do not touch other.txt."
    turns = [write("two"), SAYS, SAYS, {"text": "", "error": "credentials"}]
    end, _, session = reach(repo, turns, text=text, check="")
    assert end is not None
    more = [{"calls": [call("edit", path="n.txt", old="two", new="three")]}, {"text": "There."}]
    end, events, _ = reach(repo, more, session=session, resumes=True)
    assert end is not None
    assert (end.outcome, events[-1].stage) == ("done", "reached")
    assert events[-1].detail.endswith(" met")


def test_a_task_without_a_check_is_refused_after_its_first_turn(repo: Repo) -> None:
    end, events, _ = reach(repo, [SAYS], text="make it nice", check="")
    assert end is not None
    assert (end.exit_code, "can be checked by code" in events[-1].reason) == (Exit.DENIED, True)


def test_a_check_that_the_policy_refuses_ends_the_work_before_any_turn(repo: Repo) -> None:
    def deny(runtime: Runtime) -> None:
        from sandbox.policy.rules import Rules, parse_rule

        runtime.policy.rules = Rules(rules=(parse_rule("shell(grep *)", "deny"),))

    end, events, _ = reach(repo, [SAYS], runtime_before=deny)
    assert end is not None
    assert end.exit_code == Exit.DENIED
    assert events[-1].turn == 0


def test_a_person_ends_it_while_a_turn_runs(repo: Repo) -> None:
    from agent.goal_state import stop_goal

    def stop_at_prompt(runtime: Runtime) -> None:
        def follow(event: object) -> None:
            state = find_active_goal(runtime.session) if isinstance(event, Prompt) else None
            if state is not None:
                stop_goal(runtime.session, state, "stopped by the user")

        runtime.session.subscribe(follow)

    end, events, _ = reach(repo, [write("two"), SAYS], runtime_before=stop_at_prompt)
    assert end is not None
    assert (end.outcome, events[-1].reason) == ("done", "stopped by the user")
    assert repo.show("n.txt") == "two\n"  # an ordinary turn, so it is committed


def test_requirements_of_the_person_stay(repo: Repo) -> None:
    from agent.verify.requirement import Requirement

    def add(runtime: Runtime) -> None:
        verifier = attach_requirements(runtime, None, is_trusted=False)
        verifier.add([Requirement(id="", text="three", kind="command", check=CHECK, source="user")])

    turns = [write("two"), SAYS, SAYS, write("three"), SAYS]
    end, events, _ = reach(repo, turns, text="go on", check="", runtime_before=add)
    assert end is not None
    assert (end.outcome, events[-1].detail) == ("done", "1 met")
