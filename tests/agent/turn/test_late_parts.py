"""Parts of a session that are built after its first request hear of all that was logged before."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from agent.events import Event, MessageEvent, Prompt, Signal
from agent.monitor.monitor import Monitor
from agent.monitor.monitors import LateMonitors, Monitors
from agent.prompt.prompt_reader import read_intent
from agent.turn import late_parts
from agent.turn.late_parts import LateFollower
from tests.support.cli import CHECKOUT


class Heard(Monitor):
    """Remembers the events that it was handed."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def handle_event(self, event: Event) -> None:
        self.events.append(event)


def test_a_follower_is_built_with_the_first_reply_and_handed_what_came_before() -> None:
    late = LateFollower(Heard, Heard.handle_event)
    events = [Prompt(text="go"), Signal(name="model"), MessageEvent(text="Done."), Prompt(text="more")]
    for event in events[:2]:
        late.handle_event(event)
    assert late.built is None
    for event in events[2:]:
        late.handle_event(event)
    assert late.built is not None
    assert late.built.events == events


def test_a_follower_that_is_used_early_has_heard_of_everything() -> None:
    late = LateFollower(Heard, Heard.handle_event)
    late.handle_event(Prompt(text="go"))
    assert late.part.events == [Prompt(text="go")]


def test_what_a_follower_logs_while_it_is_built_comes_last() -> None:
    class Answering(Heard):
        def handle_event(self, event: Event) -> None:
            super().handle_event(event)
            if isinstance(event, Prompt):
                late.handle_event(Signal(name="answer"))

    late = LateFollower(Answering, Answering.handle_event)
    late.handle_event(Prompt(text="go"))
    late.handle_event(MessageEvent(text="Done."))
    assert late.built is not None
    assert late.built.events == [Prompt(text="go"), Signal(name="answer"), MessageEvent(text="Done.")]


def test_late_monitors_take_their_place_and_hear_of_everything() -> None:
    first, early, late, last = (Heard() for _ in range(4))
    built: list[str] = []

    def build() -> list[Monitor]:
        built.append("late")
        return [late]

    monitors = Monitors([early, LateMonitors(build=build)], lambda event: None)
    monitors.add_monitor(last)
    monitors.prepend_monitor(LateMonitors(build=lambda: [first]))
    monitors.handle_event(Prompt(text="go"))
    assert not built
    assert early.events == [Prompt(text="go")]
    assert monitors.monitors == [first, early, late, last]
    monitors.handle_event(MessageEvent(text="Done."))
    assert first.events == early.events == late.events == last.events
    assert built == ["late"]


async def ask_before_request(monitors: Monitors) -> None:
    assert await monitors.before_request() == []


def test_late_monitors_that_are_due_are_built_before_the_request() -> None:
    waiting, due = [False], Heard()
    monitors = Monitors([LateMonitors(build=lambda: [due], is_due=lambda: waiting[0])], lambda event: None)
    monitors.handle_event(Prompt(text="go"))
    asyncio.run(ask_before_request(monitors))
    assert not due.events
    waiting[0] = True
    asyncio.run(ask_before_request(monitors))
    assert due.events == [Prompt(text="go")]


def test_what_a_reply_needs_is_imported_while_the_model_thinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_parts, "_OF_A_REPLY", ["tools.core.gateway", "tools.core.snapshot_spans"])
    monkeypatch.setattr(late_parts, "_THINKING", 0.01)
    imported: list[str] = []
    monkeypatch.setattr(late_parts, "import_module", imported.append)

    async def wait(seconds: float) -> None:
        with late_parts.preload_while_waiting():
            await asyncio.sleep(seconds)

    asyncio.run(wait(0))
    assert not imported, "a model that answers at once is not kept waiting"
    asyncio.run(wait(0.2))
    assert imported == ["tools.core.gateway", "tools.core.snapshot_spans"]
    asyncio.run(wait(0.05))
    assert len(imported) == 2
    assert not late_parts._OF_A_REPLY


def test_the_prompt_is_read_while_the_model_thinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_parts, "_OF_A_REPLY", ["tools.core.gateway"])
    monkeypatch.setattr(late_parts, "_THINKING", 0.01)
    prompt = "make test_basket.py pass, and leave the others"

    async def wait(seconds: float) -> None:
        with late_parts.preload_while_waiting(prompt):
            await asyncio.sleep(seconds)

    read = read_intent.cache_info().misses
    asyncio.run(wait(0))
    assert read_intent.cache_info().misses == read
    for _ in range(2):
        asyncio.run(wait(0.1))
        assert read_intent.cache_info().misses == read + 1


def test_nothing_heavy_is_imported_while_the_model_thinks() -> None:
    program = (
        "import sys; from agent.turn import late_parts; list(map(__import__, late_parts._OF_A_REPLY));"
        " print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=60
    )
    assert not {"pydantic", "litellm", "tree_sitter", "yaml", "rich"} & set(done.stdout.split())
