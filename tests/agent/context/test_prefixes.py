"""Every prefix of a great many random logs: crashes, forks, rewinds, compactions, other models, tools that are gone.

A prefix is what a log holds after any of its events: whatever comes next, this is what a model would be sent. Only
what an event may have changed is looked at again, so that a prefix costs a fraction of a millisecond.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.context.projection.message_slots import FoldMessage, Slot
from agent.context.projection.projection import Projection
from agent.context.restore.projection_replay import find_undone
from agent.events import (
    Compaction,
    Event,
    Fold,
    MessageEvent,
    ObservationEvent,
    Rewind,
)
from agent.model.protocol import AssistantMessage, Message, ToolMessage, ToolSpec, UserMessage
from agent.model.wire_formats.anthropic_messages import AnthropicWire
from agent.model.wire_formats.chat_completions import ChatWire
from agent.model.wire_formats.openai_responses import ResponsesWire
from agent.session.log import INTERRUPTED
from agent.session.log_index import LogIndex, expand_runs, parse_event_id
from tests.agent.context.projection.test_projection import Story, shape
from tests.support.invariants import (
    EveryMessageIsInTheBranch,
    NoStepIsBesideItsRecord,
    ReasoningIsReplayedAsItCame,
    StepsAreInOrder,
    UserMessagesAreInOrder,
    check_messages,
    check_view,
    list_unanswered_calls,
)
from tests.support.wires import Chat, Messages, Responses

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))

PREFIXES = 4_000 if STRESS == 1 else 100_000 * STRESS
"""A slice in every run; a million under `make stress`, which has a STRESS of 10."""

LENGTH = 90
"""Events of a log: enough for compactions of compactions."""

TOOLS = tuple(
    ToolSpec(name=name, description=name, parameters={"type": "object"}) for name in ("read", "list")
)
KEPT = (
    {"wire": "anthropic", "at": 0, "block": {"type": "thinking", "thinking": "hm", "signature": "s"}},
    {
        "wire": "openai-responses",
        "item": {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "c"},
    },
    {"wire": "of another program"},
)


KINDS = (
    *("prompt", "steer", "text", "batch", "batch", "batch", "empty", "mask", "fold", "harness"),
    *("unmatched_call", "unmatched_result", "twice", "wrong_id"),
)
"""What comes next; the last four are what no loop writes."""

WIRES = ((ChatWire("m"), Chat()), (ResponsesWire("m"), Responses()), (AnthropicWire("m"), Messages()))


class Walk:
    """A log that grows by one random event after the other, and the projection that follows it."""

    def __init__(self, seed: float) -> None:
        self.random = random.Random(seed)
        self.story = Story(self.random)
        if self.random.random() < 0.7:  # else outputs enter in a short form, which takes the longest
            self.story.events[0].outputs = "whole"  # type: ignore[attr-defined]
        self.log: list[Event] = []
        self.index = LogIndex(Path("unused"))
        self.live = Projection(TOOLS)
        self.checked: list[Message] = []
        self.branch: dict[int, Event] = {}
        for event in self.story.events:
            self.append(event)

    def events(self) -> list[Event]:
        """What comes next, as a story tells it; sometimes a step back instead."""
        self.story.events = list[Event]()
        if self.log and self.random.random() < 0.02:
            return [Rewind(to=f"e{self.random.randint(1, len(self.log))}")]
        kind = self.random.choice(KINDS)
        if kind in ("mask", "fold"):
            self.answer()  # a loop compresses between steps only
            return [self._compaction(kind)]
        getattr(self.story, f"add_{kind}")()
        for event in self.story.events:
            if isinstance(event, MessageEvent) and self.random.random() < 0.3:
                event.model = self.random.choice(["a/one", "b/two"])
                event.reasoning = f"because {self.random.random()}"
                event.kept = [self.random.choice(KEPT)]
        return self.story.events

    def append(self, event: Event) -> None:
        """The log gets it, and with it the projection."""
        event.id = f"e{len(self.log) + 1}"
        self.log.append(event)
        self.index.add_event(event, b"\n")
        if isinstance(event, Rewind):
            self.restart()
            self.answer()
        elif isinstance(event, Compaction) and event.undoes:
            self.branch[parse_event_id(event.id)] = event
            self.restart()
        else:
            self.branch[parse_event_id(event.id)] = event
            self.live.add_event(event)

    def answer(self) -> None:
        """As a session does that is opened, or goes back into a batch: each action gets its observation."""
        for call, tool in list_unanswered_calls(self._path()):
            self.append(ObservationEvent(call=call, tool=tool, text=INTERRUPTED, failed=True))

    def restart(self) -> None:
        """From the first event of the branch on, as after going back."""
        self.branch = {parse_event_id(event.id): event for event in self._path()}
        self.live = self.again()

    def again(self, *, at_once: bool = False) -> Projection:
        """Another process reads the same log."""
        events = self._path()
        projection = Projection(TOOLS)
        projection.clear(find_undone(event for event in events if isinstance(event, Compaction)))
        if at_once:
            projection.load_events(events)
            return projection
        for event in events:
            projection.add_event(event)
        return projection

    def check(self) -> None:
        """What holds of this prefix."""
        messages, slots = self.live.messages, self.live.slots
        same = 0
        for old, new in zip(self.checked, messages, strict=False):
            if old is not new:
                break
            same += 1
        while same and not isinstance(messages[min(same, len(messages) - 1)], AssistantMessage | FoldMessage):
            same -= 1
        assert check_messages(messages[same:]) == []
        records = [slot for slot in slots[:same] if isinstance(slot.message, FoldMessage)]
        assert check_view([*records, *slots[same:]], self.branch) == []
        assert self.live.verbatim_from <= len(self.log) + 1
        self.checked = messages

    def check_thoroughly(self) -> None:
        """What takes longer: a resumed and a forked session are the same, and every wire format can say it."""
        assert check_messages(self.live.messages) == []
        assert check_view(self.live.slots, self.branch) == []
        assert self.live._bytes == sum(slot.size for slot in self.live.slots)
        for other in (self.again(), self.again(at_once=True)):
            assert shape(other.messages) == shape(self.live.messages)
            assert other._bytes == self.live._bytes
        before = shape(self.live.messages)
        for tools in ((), TOOLS[:1], TOOLS):
            self.live.tools = tools
            assert shape(list(self.live.build_request().messages)) == before, (
                "no tool that is gone changes the history"
            )
        for wire, served in WIRES:
            said = served.decoded(json.loads(wire.body(self.live.build_request())))
            assert answered(said.messages) == answered(self.live.messages)

    def _compaction(self, kind: str) -> Compaction:
        event = Compaction(stage="folding", tokens_before=9, tokens_after=1, reason="asked")
        earlier = [each for each in self._path() if isinstance(each, Compaction) and not each.undoes]
        if earlier and self.random.random() < 0.1:
            event.undoes = self.random.choice(earlier).id
        elif kind == "mask":
            for _ in range(3):
                event.masked[f"e{self.random.randint(1, len(self.log) + 1)}"] = self.random.choice(
                    ["", "digest"]
                )
        elif self.log:
            first = self.random.randint(max(len(self.log) - 60, 1), len(self.log))
            last = self.random.randint(first, len(self.log))
            event.folds = [Fold(first=f"e{first}", last=f"e{last}", text=f"folded {first}-{last}")]
        return event

    def _path(self) -> list[Event]:
        return [self.log[number - 1] for number in expand_runs(self.index.list_branch_runs(len(self.log)))]


NAMELESS = "_"
"""What a format that demands ids has for an empty one."""


def answered(messages: Sequence[Message]) -> list[object]:
    """Calls and answers in their order: what no wire format may lose."""
    found: list[object] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.actions:
            found.append([action.id or NAMELESS for action in message.actions])
        elif isinstance(message, ToolMessage):
            found.append(message.call or NAMELESS)
    return found


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_a_great_many_random_prefixes_are_valid() -> None:
    seeds = random.Random(os.environ.get("PATCHWRIGHT_SEED", "20 25"))
    prefixes = thorough = 0
    while prefixes < PREFIXES:
        seed = seeds.random()
        walk = Walk(seed)
        while len(walk.log) < LENGTH:
            if walk.random.random() < 0.01:
                walk.answer()  # a crash, and the session is opened again
            for event in walk.events():
                walk.append(event)
                prefixes += 1
                walk.check()
                if walk.random.random() < 0.005:
                    thorough += 1
                    walk.check_thoroughly()
    assert thorough > PREFIXES / 400


def test_each_invariant_of_a_view_says_what_breaks_it() -> None:
    def said(number: int) -> Slot:
        return Slot(UserMessage(text="x"), number, number, 1)

    def step(number: int, reasoning: str = "") -> Slot:
        return Slot(AssistantMessage(text="x", reasoning=reasoning), number, number, 1)

    record = Slot(FoldMessage(text="F"), 3, 6, 1)
    events: dict[int, Event] = {n: MessageEvent(text="x") for n in range(1, 9)}
    assert check_view([said(1), record, step(7), said(8)], events) == []
    assert len(UserMessagesAreInOrder().find_breaches([said(8), record, said(7)], events)) == 1
    assert len(StepsAreInOrder().find_breaches([step(7), step(2)], events)) == 1
    assert len(NoStepIsBesideItsRecord().find_breaches([record, step(4)], events)) == 1
    assert len(ReasoningIsReplayedAsItCame().find_breaches([step(7, "other")], events)) == 1
    assert len(EveryMessageIsInTheBranch().find_breaches([step(9), record], events)) == 1
