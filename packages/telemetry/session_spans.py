"""Events of a session as spans and metrics, by OpenTelemetry's semantic conventions for generative AI.

A turn is a span `invoke_agent`; below it are `chat` for each model call, `execute_tool` for each tool call, and another
`invoke_agent` for each child session with its own calls.
https://github.com/open-telemetry/semantic-conventions-genai 024a4f9 (docs/gen-ai/client-inference.md), 2026-11
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from opentelemetry.metrics import Meter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from agent.events import Event
from agent.events.serialization import collect_fields
from sandbox.lazy_dataclass import dataclass

Fields = Mapping[str, Any]

AGENT = "patchwright"

LONGEST = 16_000
"""Characters of a text in a span, where texts are wanted."""

TOKENS = (
    1,
    4,
    16,
    64,
    256,
    1_024,
    4_096,
    16_384,
    65_536,
    262_144,
    1_048_576,
    4_194_304,
    16_777_216,
    67_108_864,
)
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Bounds of the buckets of tokens and times, as the conventions give them."""


@dataclass(slots=True)
class _Branch:
    """Open spans of one session: the turn, the tool calls by id. above: the span in which a child was started"""

    session: str
    agent: str
    above: Span | None = None
    turn: Span | None = None
    calls: dict[str, Span] = field(default_factory=dict)


class SessionSpans:
    """Follows the events of a session and its children, and makes spans and metrics of them."""

    def __init__(self, tracer: Tracer, meter: Meter, session: str, *, has_content: bool = False) -> None:
        """session: its id; has_content: whether spans have texts, too"""
        self._tracer = tracer
        self._has_content = has_content
        self._own = _Branch(session, AGENT)
        self._children: dict[str, _Branch] = {}
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=TOKENS,
        )
        self._durations = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self._waits = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            unit="s",
            description="Time to receive the first chunk.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )

    def handle_event(self, event: Event) -> None:
        """Handle the next event of the session, or of a child that it reports."""
        fields = collect_fields(event)
        if event.kind == "child-progress":
            branch = self._children.get(str(fields["child"]))
            if branch is not None:
                self._handle(branch, fields["event"])
        else:
            self._handle(self._own, fields)

    def close(self) -> None:
        """End what is still open: the session ends, whatever it was in the middle of."""
        for branch in (*self._children.values(), self._own):
            self._end_branch(branch, None)

    def _handle(self, branch: _Branch, fields: Fields) -> None:
        match fields.get("kind"):
            case "prompt":
                self._end_branch(branch, _time(fields))
                span = self._open_turn(branch, fields)
                self._add_content(span, "gen_ai.input.messages", _message("user", fields.get("text")))
            case "message" | "side-call":
                self._record_call(branch, fields)
            case "action":
                self._begin_tool(branch, fields)
            case "observation":
                self._end_tool(branch, fields)
            case "child":
                self._handle_child(branch, fields)
            case "error" if branch.turn is not None:
                branch.turn.set_status(Status(StatusCode.ERROR))
                branch.turn.set_attribute("error.type", str(fields.get("fault")))
            case "end":
                self._end_turn(branch, fields)

    def _open_turn(self, branch: _Branch, fields: Fields) -> Span:
        """Return the span of the turn; begun now unless there is one (a turn that goes on has no prompt)."""
        if branch.turn is None:
            branch.turn = self._start(
                f"invoke_agent {branch.agent}",
                _time(fields),
                branch.above,
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.provider.name": AGENT,
                    "gen_ai.agent.name": branch.agent,
                    "gen_ai.conversation.id": branch.session,
                },
            )
        return branch.turn

    def _record_call(self, branch: _Branch, fields: Fields) -> None:
        usage: Fields = _plain(fields.get("usage"))
        model, end = str(fields.get("model") or ""), _time(fields)
        seconds = float(usage.get("seconds") or 0.0)
        about: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _find_provider(model),
            "gen_ai.request.model": model,
        }
        span = self._start(
            f"chat {model}",
            end - round(seconds * 1e9),
            self._open_turn(branch, fields),
            {
                **about,
                "gen_ai.conversation.id": branch.session,
                "gen_ai.response.model": model,
                "gen_ai.response.finish_reasons": [str(fields.get("stop", "stop"))],
                "gen_ai.usage.input_tokens": int(usage.get("input") or 0),
                "gen_ai.usage.output_tokens": int(usage.get("output") or 0),
                **_describe_parts(usage),
            },
            SpanKind.CLIENT,
        )
        if problem := fields.get("problem"):
            span.set_status(Status(StatusCode.ERROR, str(problem)[:200]))
            span.set_attribute("error.type", "_OTHER")
        self._add_content(span, "gen_ai.output.messages", _message("assistant", fields.get("text")))
        span.end(end)
        for kind in ("input", "output"):
            self._tokens.record(int(usage.get(kind) or 0), {**about, "gen_ai.token.type": kind})
        self._durations.record(seconds, about)
        if (wait := usage.get("wait")) is not None:
            self._waits.record(float(wait), about)

    def _begin_tool(self, branch: _Branch, fields: Fields) -> None:
        above = branch.calls.get(str(fields.get("within"))) or self._open_turn(branch, fields)
        span = self._start(
            f"execute_tool {fields['tool']}",
            _time(fields),
            above,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": str(fields["tool"]),
                "gen_ai.tool.call.id": str(fields["call"]),
                "gen_ai.tool.type": "function",
            },
        )
        if fields.get("arguments") is not None:
            self._add_content(span, "gen_ai.tool.call.arguments", fields["arguments"])
        branch.calls[str(fields["call"])] = span

    def _end_tool(self, branch: _Branch, fields: Fields) -> None:
        span = branch.calls.pop(str(fields.get("call")), None)
        if span is None:
            return
        if fields.get("failed"):
            span.set_status(Status(StatusCode.ERROR))
            span.set_attribute("error.type", "tool_error")
        self._add_content(span, "gen_ai.tool.call.result", fields.get("text"))
        span.end(_time(fields))

    def _handle_child(self, branch: _Branch, fields: Fields) -> None:
        child = str(fields["child"])
        if fields.get("state") == "started":
            agent = str(fields.get("agent") or fields.get("role") or "child")
            above = next(reversed(branch.calls.values()), None) or self._open_turn(branch, fields)
            self._children[child] = _Branch(child, agent, above)
        elif (ended := self._children.pop(child, None)) is not None:
            self._end_branch(ended, _time(fields))

    def _end_turn(self, branch: _Branch, fields: Fields) -> None:
        if branch.turn is not None:
            branch.turn.set_attribute("patchwright.outcome", str(fields.get("outcome")))
            branch.turn.set_attribute("patchwright.exit_code", int(fields.get("exit_code") or 0))
            self._add_content(
                branch.turn, "gen_ai.output.messages", _message("assistant", fields.get("summary"))
            )
        self._end_branch(branch, _time(fields))

    def _end_branch(self, branch: _Branch, time: int | None) -> None:
        for each in (*branch.calls.values(), branch.turn):
            if each is not None:
                each.end(time)
        branch.calls.clear()
        branch.turn = None

    def _start(
        self,
        name: str,
        time: int,
        above: Span | None,
        attributes: Mapping[str, Any],
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        context = set_span_in_context(above) if above is not None else None
        return self._tracer.start_span(name, context, kind, attributes, start_time=time)

    def _add_content(self, span: Span, name: str, value: object) -> None:
        if self._has_content and value:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            span.set_attribute(name, text[:LONGEST])


def _time(fields: Fields) -> int:
    """Return an event's time in nanoseconds."""
    return round(float(fields.get("time") or 0.0) * 1e9)


def _plain(value: object) -> Fields:
    """Return an event's part as fields: it is an object in the session's own events, fields in those of children."""
    if isinstance(value, Mapping):
        return value
    return vars(value) if value is not None else {}


def _describe_parts(usage: Fields) -> dict[str, Any]:
    """Return the attributes of a call's parts that its provider counted; what it did not count is left out."""
    counts = {name: int(usage[key]) for key, name in _PARTS.items() if usage.get(key)}
    if (wait := usage.get("wait")) is None:
        return counts
    return {**counts, "gen_ai.request.stream": True, "gen_ai.response.time_to_first_chunk": float(wait)}


_PARTS = {
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "written": "gen_ai.usage.cache_write.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}


def _find_provider(model: str) -> str:
    """Return the provider of a model's name, as the conventions call it where they have a name for it."""
    prefix, _, rest = model.partition("/")
    return _PROVIDERS.get(prefix, prefix) if rest else AGENT


_PROVIDERS = {
    "openai_responses": "openai",
    "gemini": "gcp.gemini",
    "vertex_ai": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "moonshot": "moonshot_ai",
    "vertex": "gcp.vertex_ai",
    "google": "gcp.gemini",
    "azure_ai": "azure.ai.inference",
    "bedrock_converse": "aws.bedrock",
    "cohere_chat": "cohere",
    "watsonx": "ibm.watsonx.ai",
}


def _message(role: str, text: object) -> list[dict[str, Any]]:
    """Return a text as the conventions write messages; nothing for an empty one."""
    return [{"role": role, "parts": [{"type": "text", "content": text}]}] if text else []
