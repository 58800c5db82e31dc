"""The loop: order, concurrency, limits, steering and interruption, told through a scripted model."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.budget.limits import Limit, MaxCost, MaxSteps, MaxTime, MaxTokens
from agent.events import End, ErrorEvent, Event, MessageEvent, ObservationEvent, Signal, Steer
from agent.model.protocol import ToolMessage, UserMessage
from agent.session.log import read_events
from agent.turn.runtime import Runtime
from agent.turn.turn_end import TurnConclusion
from tests.support.bench import Bench, bench
from tests.support.cli import call
from tests.support.invariants import list_unanswered_calls
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.session.finish import finish


@tool("read")
async def look(name: str, *, at: Workspace) -> Observation:
    """Look, for a moment."""
    at.facts.setdefault("log", []).append(f"+{name}")
    await asyncio.sleep(0.02)
    at.facts["log"].append(f"-{name}")
    return Observation(text=f"saw {name}")


@tool("write")
async def put(name: str, *, at: Workspace) -> Observation:
    """Write a file."""
    at.facts.setdefault("log", []).append(f"!{name}")
    at.files.write(name, b"x")
    return Observation(text=f"put {name}")


@tool("execute")
async def wait(*, at: Workspace) -> Observation:
    """Wait for a long time."""
    at.facts["waiting"] = True
    await asyncio.sleep(30)
    return Observation(text="waited")


TOOLS = [look, put, wait, finish]


async def until_waiting(runtime: Runtime) -> None:
    """Until the tool `wait` runs."""
    while not runtime.workspace.facts.get("waiting"):
        await asyncio.sleep(0.005)


def observations(it: Bench) -> list[str]:
    return [event.text for event in it.events if isinstance(event, ObservationEvent)]


def test_an_answer_without_actions_ends_the_turn(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"text": "It is a flat's ledger."}], TOOLS)
    end = it.turn("what is this?")
    assert (end.outcome, end.summary, end.steps) == ("done", "It is a flat's ledger.", 1)
    assert it.kinds() == ["prompt", "message", "verification", "end"]


def test_neighbouring_reads_run_at_once_and_writes_in_order(tmp_path: Path) -> None:
    calls = [call("look", name="a"), call("look", name="b"), call("put", name="c"), call("look", name="d")]
    it = bench(tmp_path, [{"calls": calls}, {"text": "ok"}], TOOLS, snapshots=False)
    it.turn("go")
    assert it.runtime.workspace.facts["log"] == ["+a", "+b", "-a", "-b", "!c", "+d", "-d"]
    sent = [m.text for m in it.request().messages if isinstance(m, ToolMessage)]
    assert sent == ["saw a", "saw b", "put c", "saw d"], "in the order of the actions"


def test_finish_ends_the_turn_with_its_summary(tmp_path: Path) -> None:
    it = bench(
        tmp_path, [{"calls": [call("finish", summary="nothing was wrong", status="nothing to do")]}], TOOLS
    )
    end = it.turn("fix it")
    assert (end.outcome, end.exit_code, end.summary) == ("nothing-to-do", 3, "nothing was wrong")


def test_steering_arrives_after_the_whole_batch(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("look", name="a"), call("put", name="b")]},
        {"text": "both", "expect": ["look at the field as well"]},
    ]
    it = bench(tmp_path, turns, TOOLS)

    async def steer(runtime: Runtime) -> None:
        while not runtime.workspace.facts.get("log"):
            await asyncio.sleep(0.001)
        runtime.loop.inbox.append("look at the field as well")

    assert it.turn("go on", steer).outcome == "done"
    messages = [type(m).__name__ for m in it.request().messages]
    assert messages == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "ToolMessage",
        "UserMessage",
        "AssistantMessage",
    ]


def test_steering_during_the_last_answer_is_not_lost(tmp_path: Path) -> None:
    turns = [{"text": "done", "delay": 0.1}, {"text": "that too", "expect": ["and the tests"]}]
    it = bench(tmp_path, turns, TOOLS)

    async def steer(runtime: Runtime) -> None:
        runtime.loop.inbox.append("and the tests")

    assert it.turn("go", steer).summary == "that too"


def test_the_first_interrupt_stops_the_step_and_the_model_is_told(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("wait"), call("put", name="never")]},
        {"text": "What instead?", "expect": ["I stopped that step"]},
    ]
    it = bench(tmp_path, turns, TOOLS)

    async def interrupt(runtime: Runtime) -> None:
        await until_waiting(runtime)
        runtime.interrupt()

    end = it.turn("go", interrupt)
    assert end.summary == "What instead?"
    assert observations(it) == [
        "interrupted; it may have taken effect in part",
        "not run: the step was interrupted",
    ]
    assert not (it.runtime.workspace.root / "never").exists()
    assert [event.name for event in it.events if isinstance(event, Signal)] == ["interrupt"]


def test_the_second_interrupt_ends_the_turn_and_the_log_stays_whole(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"calls": [call("wait")]}, {"text": "thinking …", "delay": 30}], TOOLS)

    async def interrupt_twice(runtime: Runtime) -> None:
        await until_waiting(runtime)
        runtime.interrupt()
        while not any(isinstance(event, Steer) for event in it.events):
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        runtime.interrupt()

    end = it.turn("go", interrupt_twice)
    assert (end.outcome, end.exit_code) == ("interrupted", 130)
    log = list(read_events(it.runtime.session.folder))
    assert list_unanswered_calls(log) == []
    assert isinstance(log[-1], End)
    partial = [event for event in log if isinstance(event, MessageEvent) and event.partial]
    assert len(partial) == 1


def test_two_interrupts_end_the_turn_though_a_step_ended_between_them(tmp_path: Path) -> None:
    look = {"calls": [call("look", name="a")], "delay": 0.05}
    it = bench(tmp_path, [{"calls": [call("wait")]}, look, {**look, "repeat": 100}, {"text": "done"}], TOOLS)

    async def interrupt_twice(runtime: Runtime) -> None:
        await until_waiting(runtime)
        runtime.interrupt()
        while len(observations(it)) < 3:  # a whole step went by
            await asyncio.sleep(0.001)
        runtime.interrupt()

    assert it.turn("go", interrupt_twice).outcome == "interrupted"


@pytest.mark.parametrize("later", range(8))
def test_an_interrupt_at_the_end_of_a_step_is_not_lost(tmp_path: Path, later: int) -> None:
    it = bench(tmp_path, [{"calls": [call("look", name="a")], "repeat": 5}, {"text": "done"}], TOOLS)

    def interrupt_after(passes: int) -> None:
        if passes:
            asyncio.get_running_loop().call_soon(interrupt_after, passes - 1)
        else:
            it.runtime.interrupt()

    def follow(event: Event) -> None:
        if isinstance(event, ObservationEvent) and len(observations(it)) == 1:
            interrupt_after(later)

    async def watch(runtime: Runtime) -> None:
        runtime.session.subscribe(follow)

    end = it.turn("go", watch)
    stopped = [event.name for event in it.events if isinstance(event, Signal) and event.name == "interrupt"]
    assert stopped or end.outcome == "interrupted"


@pytest.mark.parametrize("phase", ["prepare", "conclude"])
def test_the_limit_of_time_holds_before_and_after_the_loop(
    tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = bench(tmp_path, [{"text": "done"}], TOOLS, limits=[MaxTime(0.3)])

    async def hang(*arguments: object, **options: object) -> None:
        await asyncio.sleep(30)

    if phase == "prepare":
        monkeypatch.setattr(Runtime, "start_mcp_servers", hang)
    else:
        monkeypatch.setattr(TurnConclusion, "collect_verdicts", hang)
    end = it.turn("go")
    assert (end.outcome, end.exit_code) == ("limit", 4)
    assert "--max-time" in end.summary


def test_what_had_streamed_before_an_interrupt_is_kept(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"text": "half a thought", "delay": 0}, {"text": "yes"}], TOOLS)

    async def stop(runtime: Runtime) -> None:
        runtime.on_delta = lambda delta: runtime.loop.stop()

    end = it.turn("go", stop)
    kept = [event.text for event in it.events if isinstance(event, MessageEvent)]
    assert end.outcome == "interrupted"
    assert kept
    assert "half a thought".startswith(kept[0].strip()) or kept[0] == "half a thought"


@pytest.mark.parametrize(("steering", "requests"), [("", 1), ("in French, please", 2)])
def test_an_interrupted_answer_ends_the_turn_unless_the_user_has_said_more(
    steering: str, requests: int, tmp_path: Path
) -> None:
    it = bench(tmp_path, [{"text": "half a thought"}, {"text": "oui"}, {"text": "again"}], TOOLS)

    async def interrupt(runtime: Runtime) -> None:
        def stop_once(delta: object) -> None:
            runtime.on_delta = lambda delta: None
            if steering:
                runtime.loop.inbox.append(steering)
            runtime.interrupt()

        runtime.on_delta = stop_once

    end = it.turn("go", interrupt)
    assert (end.outcome, end.exit_code) == (("done", 0) if steering else ("interrupted", 130))
    assert len([event for event in it.events if isinstance(event, MessageEvent)]) == requests
    assert it.turn("again").outcome == "done"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (MaxSteps(2), "2 steps taken"),
        (MaxTokens(150), "200 tokens used of 150"),
        (MaxCost(0.025), "$0.0200 spent of $0.025"),
        (MaxTime(0.0), "s passed of 0 s"),
    ],
)
def test_a_limit_stops_before_the_step_that_would_pass_it(tmp_path: Path, limit: Limit, said: str) -> None:
    usage = {"input": 90, "output": 10, "cost": 0.01}
    it = bench(
        tmp_path, [{"calls": [call("look", name="a")], "usage": usage, "repeat": 9}], TOOLS, limits=[limit]
    )
    end = it.turn("go")
    assert (end.outcome, end.exit_code) == ("limit", 4)
    assert said in end.summary
    assert end.steps <= 2


@pytest.mark.slow
def test_the_time_limit_stops_a_step_in_its_middle(tmp_path: Path) -> None:
    it = bench(tmp_path, [{"calls": [call("wait")]}, {"text": "no"}], TOOLS, limits=[MaxTime(0.3)])
    end = it.turn("go")
    assert (end.outcome, end.exit_code, end.steps) == ("limit", 4, 1)
    assert list_unanswered_calls(list(read_events(it.runtime.session.folder))) == []


def test_an_unknown_tool_and_arguments_that_do_not_fit_are_answered(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("lok", name="a"), call("look", nam="a"), {"tool": "look", "raw": '{"name": '}]},
        {"text": "I see", "expect": ["Did you mean look?", "nam: there is no such argument", "look(name)"]},
    ]
    it = bench(tmp_path, turns, TOOLS)
    assert it.turn("go").outcome == "done"
    assert all(event.failed for event in it.events if isinstance(event, ObservationEvent))


def test_a_fault_in_one_tool_is_an_observation_and_not_the_end(tmp_path: Path) -> None:
    @tool("read")
    async def broken(*, at: Workspace) -> Observation:
        """Break."""
        raise ZeroDivisionError("of ours")

    it = bench(tmp_path, [{"calls": [call("broken")]}, {"text": "noted", "expect": ["of ours"]}], [broken])
    assert it.turn("go").summary == "noted"


def test_a_model_that_cannot_be_reached_ends_the_turn_with_its_work_kept(tmp_path: Path) -> None:
    turns = [{"calls": [call("put", name="kept.txt")]}, {"error": "model-unreachable"}]
    it = bench(tmp_path, turns, TOOLS)
    end = it.turn("go")
    assert (end.outcome, end.exit_code) == ("model-unreachable", 7)
    assert (it.runtime.workspace.root / "kept.txt").exists()
    errors = [event for event in it.events if isinstance(event, ErrorEvent)]
    assert [event.fault for event in errors] == ["model-unreachable"]


def test_a_long_output_is_bounded_and_the_whole_can_be_had(tmp_path: Path) -> None:
    @tool("read")
    async def flood(*, at: Workspace) -> Observation:
        """Say a lot."""
        return Observation(text="".join(f"line {i}\n" for i in range(20_000)))

    it = bench(
        tmp_path, [{"calls": [call("flood")]}, {"text": "ok", "expect": ['recall(ref="out:1")']}], [flood]
    )
    it.turn("go")
    shown = next(m for m in it.request().messages if isinstance(m, ToolMessage))
    assert len(shown.text) < 25_000
    path = it.runtime.workspace.artifacts.find_file("out:1")
    assert path is not None
    assert path.read_text().endswith("line 19999\n")


def test_the_same_log_projects_to_the_same_messages(tmp_path: Path) -> None:
    turns = [{"calls": [call("look", name="a"), call("put", name="b")]}, {"text": "ok"}]
    it = bench(tmp_path, turns, TOOLS)
    it.turn("go")
    from agent.context.projection.projection import Projection

    again = Projection(it.runtime.projection.tools)
    for event in read_events(it.runtime.session.folder):
        again.add_event(event)
    assert [(type(m), m.text) for m in again.messages] == [(type(m), m.text) for m in it.request().messages]
    assert isinstance(again.messages[0], UserMessage)
