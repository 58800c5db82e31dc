"""Events as spans and metrics: their tree, times, names and attributes, as the conventions have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import StatusCode

from agent.events import (
    ActionEvent,
    ChildEvent,
    End,
    ErrorEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SideCall,
)
from agent.events.child_events import ChildProgress
from agent.events.event_base import UsageRecord
from agent.events.serialization import collect_fields
from packages.telemetry.session_spans import SessionSpans

NAMES = {
    *(value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")),
    error_attributes.ERROR_TYPE,
    "gen_ai.usage.cache_write.input_tokens",
}
"""The registry's names, and one that has come since it moved to a repository of its own."""


class Played:
    """What a list of events became."""

    def __init__(self, events: Sequence[Event], *, has_content: bool = False) -> None:
        memory, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracing = TracerProvider()
        tracing.add_span_processor(SimpleSpanProcessor(memory))
        meter = MeterProvider([self.reader]).get_meter("test")
        spans = SessionSpans(tracing.get_tracer("test"), meter, "s1", has_content=has_content)
        for number, event in enumerate(events, 1):
            event.time = event.time or float(number)
            spans.handle_event(event)
        spans.close()
        self.spans: dict[str, ReadableSpan] = {each.name: each for each in memory.get_finished_spans()}

    def above(self, name: str) -> str:
        parent = self.spans[name].parent
        return next(
            (
                each.name
                for each in self.spans.values()
                if parent is not None and each.context is not None and each.context.span_id == parent.span_id
            ),
            "",
        )

    def attributes(self, name: str) -> dict[str, Any]:
        return dict(self.spans[name].attributes or {})


USAGE = UsageRecord(input=100, cached=40, output=7, seconds=0.5, written=20, reasoning=3, wait=0.2)
CHILD = MessageEvent(text="seen", model="openai/small", usage=UsageRecord(input=3, output=1))


def story() -> list[Event]:
    return [
        Prompt(text="mend it"),
        MessageEvent(text="I look.", model="anthropic/claude", usage=USAGE, stop="actions"),
        ActionEvent(call="c1", tool="delegate", effect="none", arguments={"task": "look"}),
        ChildEvent(child="k1", state="started", agent="explore"),
        ChildProgress(child="k1", event={**collect_fields(CHILD), "time": 5.0}),
        ChildEvent(child="k1", state="ended"),
        ObservationEvent(call="c1", tool="delegate", text="found"),
        ActionEvent(call="c2", tool="shell", effect="execute"),
        ObservationEvent(call="c2", tool="shell", text="exit 1", failed=True),
        SideCall(purpose="title", role="fast", model="gemini/flash", problem="no answer"),
        End(outcome="done", exit_code=0, summary="Mended."),
    ]


def test_a_turn_is_a_tree_of_calls_and_children() -> None:
    played = Played(story())
    turn, child = "invoke_agent patchwright", "invoke_agent explore"
    assert [played.above(each) for each in played.spans if each not in (turn, "chat openai/small")] == [
        turn if each != child else "execute_tool delegate"
        for each in played.spans
        if each not in (turn, "chat openai/small")
    ]
    assert played.above("chat openai/small") == child
    assert played.above(child) == "execute_tool delegate"
    assert played.spans[turn].start_time == 1_000_000_000
    assert played.spans[turn].end_time == 11_000_000_000
    chat = played.spans["chat anthropic/claude"]
    assert (chat.start_time, chat.end_time) == (1_500_000_000, 2_000_000_000)
    assert played.attributes("chat anthropic/claude") == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "anthropic/claude",
        "gen_ai.response.model": "anthropic/claude",
        "gen_ai.response.finish_reasons": ("actions",),
        "gen_ai.conversation.id": "s1",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.cache_write.input_tokens": 20,
        "gen_ai.usage.reasoning.output_tokens": 3,
        "gen_ai.request.stream": True,
        "gen_ai.response.time_to_first_chunk": 0.2,
    }
    assert played.attributes(child)["gen_ai.conversation.id"] == "k1"
    assert played.attributes(turn)["patchwright.outcome"] == "done"


def test_failures_are_marked_and_an_error_ends_a_turn() -> None:
    played = Played(story())
    for name, kind in (("execute_tool shell", "tool_error"), ("chat gemini/flash", "_OTHER")):
        assert played.spans[name].status.status_code is StatusCode.ERROR
        assert played.attributes(name)["error.type"] == kind
    assert played.attributes("chat gemini/flash")["gen_ai.provider.name"] == "gcp.gemini"
    broken = Played([Prompt(text="x"), ErrorEvent(fault="model-unreachable", message="gone")])
    turn = broken.spans["invoke_agent patchwright"]
    assert turn.status.status_code is StatusCode.ERROR
    assert turn.end_time is not None  # though no end came


def test_attributes_have_the_names_of_the_registry() -> None:
    played = Played(story(), has_content=True)
    for name in played.spans:
        for attribute in played.attributes(name):
            assert attribute in NAMES or attribute.startswith("patchwright."), attribute


@pytest.mark.parametrize("has_content", [False, True])
def test_texts_are_in_the_spans_only_if_they_are_wanted(has_content: bool) -> None:
    played = Played(story(), has_content=has_content)
    found = str([played.attributes(each) for each in played.spans])
    for text in ("mend it", "I look.", "found", "Mended.", "look"):
        assert (text in found) is has_content


def test_tokens_and_seconds_are_counted_by_model() -> None:
    played = Played(story())
    data = played.reader.get_metrics_data()
    assert data is not None
    found = {
        each.name: each
        for one in data.resource_metrics
        for scope in one.scope_metrics
        for each in scope.metrics
    }
    assert found.keys() == {
        gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE,
        gen_ai_metrics.GEN_AI_CLIENT_OPERATION_DURATION,
        gen_ai_metrics.GEN_AI_CLIENT_OPERATION_TIME_TO_FIRST_CHUNK,
    }
    [waited] = found[gen_ai_metrics.GEN_AI_CLIENT_OPERATION_TIME_TO_FIRST_CHUNK].data.data_points
    assert (waited.sum, waited.count) == (0.2, 1)
    points: Any = found[gen_ai_metrics.GEN_AI_CLIENT_TOKEN_USAGE].data.data_points
    tokens = {
        (each.attributes["gen_ai.request.model"], each.attributes["gen_ai.token.type"]): each.sum
        for each in points
    }
    assert tokens["anthropic/claude", "input"] == 100
    assert tokens["openai/small", "output"] == 1
