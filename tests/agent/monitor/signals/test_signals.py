"""Signals of a session that goes wrong: planted ones are found, clean work is left alone, the model is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agent.events import (
    ActionEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    Signal,
    SnapshotEvent,
    Steer,
)
from agent.events.event_base import AskedAction, UsageRecord
from agent.session_settings import DisciplineSettings, SessionSettings
from benchmarks.signals.__main__ import Alarms, create_clean_sessions, measure_planted
from benchmarks.signals.planted_sessions import read_files
from benchmarks.signals.simulated_worker import Worker
from benchmarks.signals.steps import Step, iterate_events, iterate_signals
from tests.support.bench import bench
from tests.support.cli import call
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace


def list_signals(events: Sequence[Event] | Iterator[Event]) -> list[str]:
    return [each.name for each in iterate_signals(events)]


@pytest.mark.slow
def test_what_is_planted_is_seen_within_two_periods() -> None:
    results = list(measure_planted(96, seed=31))
    missed = [(kind, period) for kind, period, rounds in results if rounds is None]
    assert len(missed) <= 1, missed
    assert all(rounds > 0 for *_, rounds in results if rounds is not None), "not before anything is repeated"


@pytest.mark.slow
def test_clean_sessions_show_next_to_nothing() -> None:
    alarms = Alarms()
    for name, steps in create_clean_sessions(30, seed=32):
        alarms.add_session(name, steps)
    assert len(alarms.flagged) * 200 <= alarms.steps, alarms.flagged


def create_tries(*commands: str, output: str, failed: bool = False) -> list[str]:
    steps = [Step("shell", {"command": each}, "execute", output, failed) for each in commands]
    return [f"{each.name}: {each.detail}" for each in iterate_signals(iterate_events(steps))]


def test_a_loop_may_differ_in_options_and_fail() -> None:
    missing = "exit 1\nNo module named shop"
    found = create_tries(
        "python -m shop", "python -m shop -v", "python -m shop --help", output=missing, failed=True
    )
    assert found == ["loop: the same step came 3 times with hardly any difference (shell)"]
    passed = create_tries("make test", "make test -v", "make test --tb=short", output="40 passed in 0.2 s")
    assert passed == found
    assert create_tries("touch a.txt", "touch b.txt", "touch c.txt", "touch d.txt", output="exit 0") == []


def test_the_same_result_of_other_actions_is_a_loop_at_its_third_time() -> None:
    text = "\n".join(f"def work_{word}(): ..." for word in "abcdef")
    numbered = "\n".join(f"{place}\t{line}" for place, line in enumerate(text.splitlines(), 41))
    steps = [
        Step("read", {"path": "a.py", "start": 41}, "read", numbered),
        Step("shell", {"command": "sed -n 41,46p a.py"}, "execute", text),
        Step("shell", {"command": "head -46 ./a.py | tail -6"}, "execute", text),
    ]
    [found] = iterate_signals(iterate_events(steps))
    assert (found.name, found.detail, found.place) == (
        "loop",
        "the same result came 3 times by other actions (shell)",
        "e3",
    )
    assert list_signals(iterate_events(steps[:2])) == []
    refused = [Step("edit", {"path": "a.py", "new": word}, "write", text, failed=True) for word in "abc"]
    assert "loop" not in list_signals(iterate_events(refused))
    changed = steps[1]._replace(effect="write")
    assert list_signals(iterate_events([steps[0], changed, steps[2]])) == []


def test_a_file_that_is_read_page_by_page_is_no_loop() -> None:
    pages = [
        Step(
            "read",
            {"path": "a.py", "start": 100 * page},
            "read",
            f"def work_{'abcdefgh'[page]}():\n    pass\nend",
        )
        for page in range(8)
    ]
    assert list_signals(iterate_events(pages)) == []


def test_the_same_change_of_many_files_is_no_loop() -> None:
    changes = [
        Step("edit", {"path": f"src/{name}.py", "old": "mean(", "new": "average("}, "write", "edited")
        for name in "abcdefghij"
    ]
    assert list_signals(iterate_events(changes)) == []


def test_a_poll_whose_answer_changes_is_no_loop() -> None:
    polls = [
        Step("shell", {"command": "gh run view"}, "execute", f"job {name}: running\nwaiting for {name}")
        for name in ("build", "lint", "test", "package", "deploy")
    ]
    assert list_signals(iterate_events(polls)) == []


def test_steps_that_only_show_what_is_known_are_stagnation() -> None:
    known = Step("read", {"path": "a.py"}, "read", "\n".join(f"line {word}" for word in "abcdefghijkl"))
    steps: list[Step] = [known]
    steps += [Step("search", {"pattern": word}, "read", f"line {word}") for word in "abcdefghijkl"]
    assert list_signals(iterate_events(steps)) == ["stagnation"]


def test_different_attempts_with_one_error_are_told_once() -> None:
    events: list[Event] = []
    for number in range(5):
        events += [
            MessageEvent(
                actions=[
                    AskedAction(
                        id=f"c{number}", tool="shell", arguments={"command": f"try {'abcde'[number]}"}
                    )
                ]
            ),
            ActionEvent(call=f"c{number}", tool="shell", effect="execute"),
            ObservationEvent(
                call=f"c{number}", tool="shell", failed=True, text=f"no module named yaml\nat {number} s"
            ),
        ]
    assert list_signals(events) == ["same-error"]


def test_ten_failures_of_which_most_differ_are_told() -> None:
    events: list[Event] = []
    for number, word in enumerate("abcdefghij"):
        events += [
            MessageEvent(actions=[AskedAction(id=f"c{number}", tool=f"tool_{word}")]),
            ActionEvent(call=f"c{number}", tool=f"tool_{word}", effect="read"),
            ObservationEvent(
                call=f"c{number}", tool=f"tool_{word}", failed=True, text=f"error of kind {word}"
            ),
        ]
    assert list_signals(events) == ["failures"]


def test_files_that_come_back_to_an_earlier_state_twice_are_thrash() -> None:
    events: list[Event] = []
    for number, tree in enumerate("abcabdabd"):
        events += [
            MessageEvent(
                actions=[AskedAction(id=f"c{number}", tool="edit", arguments={"number": "x" * number})]
            ),
            ActionEvent(call=f"c{number}", tool="edit", effect="write"),
            ObservationEvent(call=f"c{number}", tool="edit", text=f"edited {'abcdefghi'[number]}"),
            SnapshotEvent(tree=tree, when="after"),
        ]
    assert set(list_signals(events)) == {"thrash"}
    one_way = [each for each in events if not (isinstance(each, SnapshotEvent) and each.tree in "a")]
    assert list_signals(one_way[:12]) == []


@pytest.mark.parametrize("text", ["All tests pass now.", "I ran it and it works.", "The tests now pass."])
@pytest.mark.parametrize("is_run", [False, True])
def test_a_claim_needs_a_run_after_the_last_change(text: str, is_run: bool) -> None:
    steps = [Step("edit", {"path": "a.py"}, "write", "edited a.py")]
    if is_run:
        steps.append(Step("shell", {"command": "pytest"}, "execute", "2 passed"))
    events = [*iterate_events(steps), MessageEvent(text=text)]
    assert list_signals(events) == ([] if is_run else ["claim"])


@pytest.mark.parametrize(("outcome", "signals"), [("no-runner", ["claim"]), ("failed", [])])
def test_a_claim_is_not_shown_by_tests_that_were_not_run(outcome: str, signals: list[str]) -> None:
    events = [
        *iterate_events([Step("edit", {"path": "a.py"}, "write", "edited a.py")]),
        MessageEvent(actions=[AskedAction(id="t1", tool="run_tests", arguments={})]),
        ActionEvent(call="t1", tool="run_tests", effect="execute"),
        ObservationEvent(call="t1", tool="run_tests", text="…", data={"report": {"outcome": outcome}}),
        MessageEvent(text="All tests pass now."),
    ]
    assert list_signals(events) == signals


def test_an_answer_without_a_claim_is_no_claim() -> None:
    steps = [Step("edit", {"path": "a.py"}, "write", "edited a.py")]
    events = [*iterate_events(steps), MessageEvent(text="I changed a.py. The tests were not run.")]
    assert list_signals(events) == []


def test_thought_without_action_is_told_at_its_second_time() -> None:
    thoughts = [MessageEvent(text="", usage=UsageRecord(reasoning=9_000)) for _ in range(2)]
    assert list_signals(thoughts) == ["overthinking"]
    assert list_signals(thoughts[:1]) == []


def test_a_result_that_the_reply_writes_itself_is_told() -> None:
    assert list_signals(
        [MessageEvent(text="I list the files.\n<tool_response>\na.py\n</tool_response>")]
    ) == ["made-up-result"]


@tool("read")
async def look(path: str, *, at: Workspace) -> Observation:
    """Look."""
    return Observation(text=f"the content of {path}\nand nothing else in {path}")


def run_circles(tmp_path: Path, signals: str, rounds: int = 3) -> list[Event]:
    turns = [
        {"text": f"Now {word}.", "calls": [call("look", path=path)]}
        for word in "rstuvw"[:rounds]
        for path in ("a.py", "b.py")
    ]
    settings = SessionSettings(discipline=DisciplineSettings(signals=signals))  # type: ignore[arg-type]
    it = bench(tmp_path, [*turns, {"text": "Done."}], [look], settings=settings)
    it.turn("look around")
    return it.events


def test_a_model_that_alternates_between_two_readings_is_told_once_per_cause(tmp_path: Path) -> None:
    events = run_circles(tmp_path, "tell")
    told = [each.detail for each in events if isinstance(each, Signal) and "loop" in each.detail]
    assert told == ["loop: the same 2 steps came 2 times (look)"]
    texts = [each.text for each in events if isinstance(each, Steer)]
    assert len(texts) == 1
    assert "Do something that you have not tried" in texts[0]


def test_a_model_that_goes_on_in_circles_has_to_plan_anew_and_then_to_end(tmp_path: Path) -> None:
    texts = [each.text for each in run_circles(tmp_path, "tell", rounds=6) if isinstance(each, Steer)]
    assert ["Change your approach now" in each for each in texts] == [False, True]


def test_signals_can_be_switched_off(tmp_path: Path) -> None:
    assert not [each for each in run_circles(tmp_path, "off") if isinstance(each, Steer)]


@pytest.mark.slow
def test_a_long_session_without_circles_shows_no_loop() -> None:
    import random

    work = Worker(random.Random(5), read_files()).work(1_500)
    found = list_signals(iterate_events(work))
    assert "loop" not in found
    assert len(found) <= 15, "it knows its twelve files by then"
