"""The projection's invariants, over random logs: crashes, interruptions and compactions at any point."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.context.projection import Projection, compaction
from agent.events import (
    AskedAction,
    Compaction,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
    Steer,
)
from agent.model.base import AssistantMessage, Message, ToolMessage, UserMessage


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """A log as the loop writes it: batches answered in any order, people talking at any time, kills repaired."""
    events: list[Event] = [
        SessionStart(session="s", project="/p", model="m", mode="workspace", version="0", system="be good")
    ]
    calls = 0
    for _ in range(draw(st.integers(0, 8))):
        what = draw(st.sampled_from(["prompt", "steer", "text", "batch", "empty", "compaction", "harness"]))
        if what == "prompt":
            events.append(Prompt(text=draw(st.text(max_size=20))))
        elif what == "steer":
            events.append(Steer(text=draw(st.text(max_size=20))))
        elif what == "text":
            events.append(MessageEvent(text=draw(st.text(min_size=1, max_size=20))))
        elif what == "empty":
            events.append(MessageEvent(partial=True))
        elif what == "compaction":
            ids = [f"e{i + 1}" for i, event in enumerate(events) if isinstance(event, ObservationEvent)]
            masked = draw(st.lists(st.sampled_from(ids), unique=True)) if ids else []
            events.append(Compaction(masked=masked, tokens_before=9, tokens_after=1, reason="asked"))
        elif what == "harness":
            events.append(ObservationEvent(call="harness-1", tool="run_tests", text="3 passed"))
        else:
            size = draw(st.integers(1, 4))
            ids = [f"c{calls + i}" for i in range(size)]
            calls += size
            events.append(MessageEvent(actions=[AskedAction(id=i, tool="read") for i in ids]))
            for answered in draw(st.permutations(ids)):
                if draw(st.booleans()):
                    events.append(Steer(text="meanwhile"))
                events.append(
                    ObservationEvent(call=answered, tool="read", text="x" * draw(st.integers(0, 900)))
                )
    for i, event in enumerate(events):
        event.id = f"e{i + 1}"
    return events


def project(events: list[Event]) -> list[Message]:
    projection = Projection([])
    for event in events:
        projection.add(event)
    return projection.messages


def shape(messages: list[Message]) -> list[object]:
    return [
        (type(m).__name__, m.text, [a.id for a in m.actions] if isinstance(m, AssistantMessage) else "")
        for m in messages
    ]


@given(logs())
def test_an_action_never_stands_without_its_observation(events: list[Event]) -> None:
    messages = project(events)
    for i, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.actions:
            answers = messages[i + 1 : i + 1 + len(message.actions)]
            assert [a.id for a in message.actions] == [m.call for m in answers if isinstance(m, ToolMessage)]


@given(logs())
def test_an_observation_never_stands_without_its_action(events: list[Event]) -> None:
    asked = answered = 0
    for message in project(events):
        if isinstance(message, AssistantMessage):
            asked += len(message.actions)
        answered += isinstance(message, ToolMessage)
        assert answered <= asked
    assert answered == asked


@given(logs())
def test_what_a_person_said_stays_whole_and_in_order(events: list[Event]) -> None:
    said = [event.text for event in events if isinstance(event, Prompt | Steer)]
    assert [m.text for m in project(events) if isinstance(m, UserMessage)] == said


@given(logs())
def test_the_same_events_give_the_same_messages(events: list[Event]) -> None:
    assert shape(project(events)) == shape(project(events))


@given(logs(), st.data())
def test_adding_events_changes_no_earlier_message_except_at_a_compaction(
    events: list[Event], data: st.DataObject
) -> None:
    events = [event for event in events if not isinstance(event, Compaction)]
    early = project(events[: data.draw(st.integers(0, len(events)))])
    assert shape(project(events))[: len(early)] == shape(early)


def test_steering_said_during_a_batch_is_delivered_after_all_of_it() -> None:
    events: list[Event] = [
        Prompt(text="go"),
        MessageEvent(actions=[AskedAction(id="a", tool="read"), AskedAction(id="b", tool="read")]),
        ObservationEvent(call="b", tool="read", text="B"),
        Steer(text="also the other"),
        ObservationEvent(call="a", tool="read", text="A"),
    ]
    assert [m.text for m in project(events)] == ["go", "", "A", "B", "also the other"]


def test_compaction_masks_the_oldest_in_one_batch_and_keeps_the_way_back() -> None:
    projection = Projection([])
    number = 0

    def add(event: Event) -> None:
        nonlocal number
        number += 1
        event.id = f"e{number}"
        projection.add(event)

    add(Prompt(text="go, and never touch vendor/"))
    for i in range(40):
        add(MessageEvent(actions=[AskedAction(id=f"c{i}", tool="read")]))
        add(ObservationEvent(call=f"c{i}", tool="read", text=f"file {i} " + "x" * 1000, ref=f"out:{i}"))
    window = 12_000
    before = projection.tokens
    event = compaction(projection, window)
    assert event is not None
    assert before > window * 3 // 4
    add(event)
    assert projection.tokens <= window // 2 + 100
    assert projection.tokens == event.tokens_after or abs(projection.tokens - event.tokens_after) < 400
    texts = [m.text for m in projection.messages]
    assert texts[0] == "go, and never touch vendor/"
    assert 'recall(ref="out:0")' in texts[2]
    assert texts[-1].startswith("file 39 "), "the newest observations stand in full"
    assert compaction(projection, window) is None, "one batch was enough"
