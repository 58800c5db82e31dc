"""The projection's invariants, over random logs: crashes, interruptions, rewinds and compactions at any point."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.context.ledger.session_facts import Facts
from agent.context.projection.message_slots import FoldMessage, Slot
from agent.context.projection.projection import UNANSWERED, Projection
from agent.context.restore.projection_replay import (
    find_undone,
    follow_session,
    select_needed_events,
    undo_compaction,
)
from agent.events import (
    AskedAction,
    Compaction,
    Event,
    Fold,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
    Steer,
)
from agent.model.protocol import AssistantMessage, Image, Message, ToolMessage, UserMessage
from agent.session.log import Session
from tests.support.invariants import (
    EveryActionIsAnswered,
    EveryObservationWasAskedFor,
    IdsAreDistinct,
    NothingIsEmpty,
    check_messages,
)
from tests.support.stress import count_cases
from tools.core.action import Action

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))


class Story:
    """Writes a log as the loop does, or as no loop ever should; `random` decides."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.events: list[Event] = [
            SessionStart(
                session="s",
                project="/p",
                model="m",
                mode="workspace",
                version="0",
                system="be good",
                outputs=random_.choice(["whole", "once", "outlined"]),
            )
        ]
        self.calls = 0

    def write(self, length: int, *, malformed: bool) -> list[Event]:
        kinds = ["prompt", "steer", "text", "batch", "batch", "empty", "mask", "fold", "harness"]
        kinds += ["unmatched call", "unmatched result", "twice", "wrong id"] if malformed else []
        for _ in range(length):
            getattr(self, f"add_{self.random.choice(kinds).replace(' ', '_')}")()
        for i, event in enumerate(self.events):
            event.id = f"e{i + 1}"
        return self.events

    def add_prompt(self) -> None:
        self.events.append(Prompt(text=f"please {self.random.random()}"))

    def add_steer(self) -> None:
        self.events.append(Steer(text=f"also {self.random.random()}"))

    def add_text(self) -> None:
        self.events.append(MessageEvent(text="I think so"))

    def add_empty(self) -> None:
        self.events.append(MessageEvent(partial=True))

    def add_harness(self) -> None:
        self.events.append(ObservationEvent(call="harness-1", tool="run_tests", text="3 passed"))

    def add_batch(self, lost: int = 0) -> None:
        ids = [f"c{self.calls + i}" for i in range(self.random.randint(1, 4))]
        self.calls += len(ids)
        self.events.append(MessageEvent(actions=[AskedAction(id=i, tool="read") for i in ids]))
        self.random.shuffle(ids)
        for answered in ids[lost:]:
            if self.random.random() < 0.3:
                self.add_steer()
            text, data = (
                self._view() if self.random.random() < 0.5 else ("x" * self.random.randint(0, 900), {})
            )
            self.events.append(ObservationEvent(call=answered, tool="read", text=text, data=data))

    def _view(self) -> tuple[str, dict[str, int]]:
        """Lines of a file that somebody edits: views overlap, with the same numbers or moved."""
        first, moved = self.random.randint(1, 40), self.random.choice([0, 0, 3])
        numbers = range(first, first + self.random.randint(5, 60))
        lines = [f"{n + moved}\t{'def ' if n % 9 == 0 else '    '}step_{n}(row, column)" for n in numbers]
        return "\n".join([*lines, "[the file has more]"]), {
            "first": first + moved,
            "last": numbers[-1] + moved,
        }

    def add_unmatched_call(self) -> None:
        self.add_batch(lost=1)

    def add_unmatched_result(self) -> None:
        self.events.append(ObservationEvent(call=f"c{self.random.randint(0, 99)}", tool="read", text="late"))

    def add_twice(self) -> None:
        actions = [AskedAction(id="same", tool="read"), AskedAction(id="same", tool="list")]
        self.events.append(MessageEvent(actions=actions))
        self.events += [ObservationEvent(call="same", tool="read", text=each) for each in ("one", "two")]

    def add_wrong_id(self) -> None:
        self.events.append(MessageEvent(actions=[AskedAction(id="", tool="read")]))
        self.events.append(ObservationEvent(call="other", tool="read", text="one"))

    def add_mask(self) -> None:
        ids = [f"e{self.random.randint(1, len(self.events) + 1)}" for _ in range(3)]
        self._compaction(masked=dict.fromkeys(ids, self.random.choice(["", "digest"])))

    def add_fold(self) -> None:
        first = self.random.randint(1, len(self.events))
        last = self.random.randint(first, len(self.events))
        self._compaction(folds=[Fold(first=f"e{first}", last=f"e{last}", text=f"folded {first}-{last}")])

    def _compaction(self, **fields: object) -> None:
        undoes = ""
        earlier = [f"e{i + 1}" for i, event in enumerate(self.events) if isinstance(event, Compaction)]
        if earlier and self.random.random() < 0.2:
            undoes, fields = self.random.choice(earlier), {}
        event = Compaction(stage="folding", tokens_before=9, tokens_after=1, reason="asked", undoes=undoes)
        for name, value in fields.items():
            setattr(event, name, value)
        self.events.append(event)


@st.composite
def logs(draw: st.DrawFn, *, malformed: bool = False) -> list[Event]:
    """A random log, as long as hypothesis likes."""
    story = Story(random.Random(draw(st.integers(0, 2**32))))
    return story.write(draw(st.integers(0, 12)), malformed=malformed)


def project(events: list[Event]) -> Projection:
    projection = Projection([])
    projection.clear(find_undone(event for event in events if isinstance(event, Compaction)))
    for event in events:
        projection.add_event(event)
    return projection


def shape(messages: list[Message]) -> list[object]:
    return [
        (type(m).__name__, m.text, [a.id for a in m.actions] if isinstance(m, AssistantMessage) else "")
        for m in messages
    ]


def said_by_people(messages: list[Message]) -> list[str]:
    return [m.text for m in messages if isinstance(m, UserMessage) and not isinstance(m, FoldMessage)]


@pytest.mark.slow
@given(logs(malformed=True))
@settings(max_examples=count_cases(150))
def test_no_log_makes_an_invalid_request_at_any_of_its_prefixes(events: list[Event]) -> None:
    projection = Projection([])
    projection.clear(find_undone(event for event in events if isinstance(event, Compaction)))
    for event in events:
        projection.add_event(event)
        assert check_messages(projection.messages) == []
        assert projection._bytes == sum(slot.size for slot in projection.slots)


@pytest.mark.slow
def test_a_great_many_random_prefixes_are_valid() -> None:
    """Beside hypothesis, for numbers: 1,600 prefixes here, a million under PATCHWRIGHT_STRESS=250."""
    seed = random.Random(20_25)
    prefixes = 0
    while prefixes < count_cases(4_000):
        events = Story(random.Random(seed.random())).write(25, malformed=True)
        projection = Projection([])
        for event in events:
            projection.add_event(event)
            assert check_messages(projection.messages) == [], [e.kind for e in events]
            prefixes += 1


@pytest.mark.slow
@given(logs())
def test_what_people_said_stays_whole_and_in_order(events: list[Event]) -> None:
    events = [event for event in events if not (isinstance(event, Compaction) and event.masked)]
    said = [event.text for event in events if isinstance(event, Prompt | Steer)]
    assert said_by_people(project(events).messages) == said


@pytest.mark.slow
@given(logs(malformed=True))
def test_the_same_events_give_the_same_messages(events: list[Event]) -> None:
    assert shape(project(events).messages) == shape(project(events).messages)


@pytest.mark.slow
@given(logs(), st.data())
def test_adding_events_changes_no_earlier_message_except_at_a_compaction(
    events: list[Event], data: st.DataObject
) -> None:
    events = [event for event in events if not isinstance(event, Compaction)]
    early = project(events[: data.draw(st.integers(0, len(events)))]).messages
    assert shape(project(events).messages)[: len(early)] == shape(early)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(count_cases(12)))
def test_a_resumed_forked_or_rewound_session_sends_the_same(tmp_path: Path, seed: int) -> None:
    """What a projection has become step by step is what a new one makes of the log, from its last summary on."""
    choose = random.Random(seed)
    session = Session.create(tmp_path)
    live, facts = Projection([]), Facts()
    follow_session(session, live, facts)
    for event in Story(choose).write(40, malformed=False):
        if isinstance(event, Compaction):
            event.undoes, event.folds = "", _within(event.folds, len(session.replayed))
        if choose.random() > 0.03:  # else it is lost
            session.append(event)
        if choose.random() < 0.06 and live.slots and not live._batch:
            session.append(_summary(live))
        if len(session.replayed) and choose.random() < 0.06:
            session.rewind(f"e{choose.randint(1, len(session.replayed))}")
        made = [e for e in session.replayed.select_events(Compaction) if not e.undoes]
        if made and choose.random() < 0.08:
            undo_compaction(session, live, choose.choice(made))
        assert check_messages(live.messages) == []
    written = len(session.replayed)
    session.close()
    again = Session.open(session.folder)
    for event in list(again.replayed)[written:]:  # opening answers the actions that a crash left unanswered
        live.add_event(event)
    resumed, known = Projection([]), Facts()
    follow_session(again, resumed, known)
    assert shape(resumed.messages) == shape(live.messages)
    assert resumed._bytes == live._bytes
    assert len(list(select_needed_events(again.replayed, resumed.undone))) <= len(again.replayed) + 40
    again.close()


def _within(folds: list[Fold], count: int) -> list[Fold]:
    """A log names no events that are still to come."""
    return [fold for fold in folds if int(fold.last[1:]) <= count]


def _summary(live: Projection) -> Compaction:
    first, last = min(slot.first for slot in live.slots), max(slot.last for slot in live.slots)
    fold = Fold(first=f"e{first}", last=f"e{last}", text=f"all up to {last}")
    return Compaction(stage="summary", folds=[fold], tokens_before=2, tokens_after=1, reason="long")


# ── The eight malformed histories ─────────────────────────────────────────────────────────────────


def asked(*ids: str) -> MessageEvent:
    return MessageEvent(actions=[AskedAction(id=i, tool="read") for i in ids])


def got(call: str, text: str = "") -> ObservationEvent:
    return ObservationEvent(call=call, tool="read", text=text or call.upper())


MALFORMED: dict[str, tuple[list[Event], list[str]]] = {
    "unmatched call": ([asked("a"), Prompt(text="next")], ["", UNANSWERED, "next"]),
    "unmatched result": ([Prompt(text="go"), got("a")], ["go"]),
    "interleaved messages": ([asked("a", "b"), got("b"), Steer(text="s"), got("a")], ["", "A", "B", "s"]),
    "duplicate ids": ([asked("a", "a"), got("a", "one"), got("a", "two")], ["", "one"]),
    "wrong id": ([asked("a"), got("x"), MessageEvent(text="on")], ["", UNANSWERED, "on"]),
    "missing parallel result": (
        [asked("a", "b"), got("b"), asked("c"), got("c")],
        ["", UNANSWERED, "B", "", "C"],
    ),
    "misordered parallel results": (
        [asked("a", "b", "c"), got("c"), got("a"), got("b")],
        ["", "A", "B", "C"],
    ),
    "a second result": ([asked("a"), got("a", "one"), got("a", "two"), Prompt(text="p")], ["", "one", "p"]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_history_is_sent_well_formed(name: str) -> None:
    events, expected = MALFORMED[name]
    for i, event in enumerate(events):
        event.id = f"e{i + 1}"
    messages = project(events).messages
    assert [m.text for m in messages] == expected
    assert check_messages(messages) == []


def action(call: str) -> Action:
    return Action(id=call, tool="read", arguments={})


def test_each_invariant_says_what_breaks_it() -> None:
    asks = AssistantMessage(text="", actions=(action("a"), action("b")))
    a, b = ToolMessage(call="a", name="read", text=""), ToolMessage(call="b", name="read", text="")
    assert EveryActionIsAnswered().find_breaches([asks, a, b]) == []
    assert len(EveryActionIsAnswered().find_breaches([asks, b, a])) == 1
    assert len(EveryActionIsAnswered().find_breaches([asks, a])) == 1
    assert len(EveryObservationWasAskedFor().find_breaches([a, asks, a, b, b])) == 2
    assert (
        len(IdsAreDistinct().find_breaches([AssistantMessage(text="", actions=(action("a"), action("a")))]))
        == 1
    )
    assert len(NothingIsEmpty().find_breaches([AssistantMessage(text="")])) == 1


def test_a_request_made_while_a_batch_runs_leaves_it_out() -> None:
    projection = project(
        [Prompt(text="go", id="e1"), MessageEvent(actions=[AskedAction(id="a", tool="t")], id="e2")]
    )
    assert [m.text for m in projection.messages] == ["go"]


def test_a_fold_keeps_what_was_said_and_takes_whole_steps_only() -> None:
    events: list[Event] = [
        Prompt(text="go"),
        asked("a", "b"),
        got("a"),
        Steer(text="s"),
        got("b"),
        asked("c"),
        got("c"),
    ]
    for i, event in enumerate(events):
        event.id = f"e{i + 1}"
    projection = project(events)
    projection.add_event(
        Compaction(
            id="e8", folds=[Fold(first="e2", last="e6", text="F")], tokens_before=2, tokens_after=1, reason=""
        )
    )
    assert [m.text for m in projection.messages] == ["go", "s", "F", "", "C"], (
        "the second step is not whole inside"
    )
    assert isinstance(projection.slots[0], Slot)


def test_pictures_of_results_are_sent_behind_the_batch_of_their_actions() -> None:
    projection = project([])
    projection.picture = lambda name: Image(media="image/png", data=name)
    note = Steer(text="[pictures]", by="harness", images=["a.png"])
    projection.load_events([Prompt(text="p"), asked("a", "b"), got("a", "A"), note, got("b", "B")])
    *_, first, second, behind = projection.messages
    assert [type(each) for each in (first, second)] == [ToolMessage, ToolMessage]
    assert isinstance(behind, UserMessage)
    assert [each.data for each in behind.images] == ["a.png"]
