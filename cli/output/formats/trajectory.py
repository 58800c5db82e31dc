"""A session as a trajectory of the Agent Trajectory Interchange Format (ATIF-v1.8), which Harbor and others read.

Steps of an abandoned branch are left out. Sessions that the session started are embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.events import (
    ActionEvent,
    ChildEvent,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    Rewind,
    SessionStart,
    SideCall,
    Steer,
    UsageRecord,
)
from agent.session.log import read_events
from agent.session.log_index import parse_event_id
from cli.output.lines.delegate_calls import find_delegate

VERSION = "ATIF-v1.8"

DEEPEST = 4
"""Levels of sessions below the exported one that are embedded."""

_IMAGES: Mapping[str, str] = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}

Step = dict[str, Any]


def build_trajectory(folder: Path, *, depth: int = 0) -> dict[str, Any]:
    """Return the session in `folder` as a trajectory. Raises FileNotFoundError, or UserError for a damaged log."""
    builder = _Builder(folder, depth)
    for event in read_events(folder):
        builder.handle_event(event)
    return builder.build()


class _Builder:
    """Collects the steps of one session."""

    def __init__(self, folder: Path, depth: int) -> None:
        self._folder = folder
        self._depth = depth
        self._steps: list[tuple[int, Step]] = []  # with the number of the event that began each
        self._calls: dict[str, Step] = {}  # open calls, with their steps
        self._results: dict[str, dict[str, Any]] = {}
        self._begun: dict[str, ActionEvent] = {}
        self._delegates: dict[str, str] = {}  # open calls that start agents, with their tasks
        self._children: dict[str, list[str]] = {}  # by call, "" for those of no call
        self._usage = UsageRecord()
        self._start: SessionStart | None = None
        self._end: End | None = None

    def handle_event(self, event: Event) -> None:
        """Add the step of an event, or complete an earlier one."""
        if (handler := _HANDLERS.get(type(event))) is not None:
            handler(self, event)

    def build(self) -> dict[str, Any]:
        """Return the trajectory of the events so far."""
        start, end = self._start, self._end
        steps = [step for _, step in self._steps]
        if not steps:
            steps = [{"source": "system", "message": ""}]
        for number, step in enumerate(steps, 1):
            step["step_id"] = number
            _sort_results(step)
        embedded = list(self._embed_children())
        extra = {"mode": start.mode, "project": start.project} if start is not None else {}
        metrics: dict[str, Any] = {
            "total_prompt_tokens": self._usage.input,
            "total_completion_tokens": self._usage.output,
            "total_cached_tokens": self._usage.cached,
            "total_steps": len(steps),
        }
        if self._usage.cost is not None:
            metrics["total_cost_usd"] = self._usage.cost
        if end is not None:
            metrics["extra"] = {
                "outcome": end.outcome,
                "exit_code": end.exit_code,
                "verification": end.verification,
            }
        agent = {"name": "patchwright", "version": start.version if start is not None else ""}
        if start is not None and start.model:
            agent["model_name"] = start.model
        return {
            "schema_version": VERSION,
            "session_id": self._folder.name,
            "trajectory_id": self._folder.name,
            "agent": agent,
            "steps": [{"step_id": step["step_id"], **step} for step in steps],
            "notes": "Tokens and cost include calls of models outside the conversation, and child sessions.",
            "final_metrics": metrics,
            **({"extra": extra} if extra else {}),
            **({"subagent_trajectories": embedded} if embedded else {}),
        }

    def _add_step(self, event: Event, source: str, message: object, **more: Any) -> Step:
        step: Step = {"timestamp": format_time(event.time), "source": source, "message": message}
        step |= {name: value for name, value in more.items() if value not in (None, "", [], {})}
        self._steps.append((parse_event_id(event.id), step))
        return step

    def _handle_start(self, event: SessionStart) -> None:
        if self._start is None:
            self._start = event
            self._add_step(event, "system", event.system)

    def _handle_prompt(self, event: Prompt) -> None:
        parts = [
            {"type": "image", "source": {"media_type": kind, "path": str(self._folder / "images" / name)}}
            for name in event.images
            if (kind := _IMAGES.get(Path(name).suffix))
        ]
        self._add_step(event, "user", [{"type": "text", "text": event.text}, *parts] if parts else event.text)

    def _handle_steer(self, event: Steer) -> None:
        self._add_step(event, "user" if event.by == "person" else "system", event.text)

    def _handle_message(self, event: MessageEvent) -> None:
        self._usage.add(event.usage)
        calls = [
            {"tool_call_id": each.id, "function_name": each.tool, "arguments": each.arguments}
            for each in event.actions
        ]
        step = self._add_step(
            event,
            "agent",
            event.text,
            model_name=event.model,
            reasoning_content=event.reasoning,
            tool_calls=calls,
            metrics=_build_metrics(event.usage),
            llm_call_count=1,
        )
        self._calls.update(dict.fromkeys((each.id for each in event.actions), step))

    def _handle_action(self, event: ActionEvent) -> None:
        self._begun[event.call] = event
        if event.tool == "delegate":
            self._delegates[event.call] = self._read_task(event)

    def _handle_observation(self, event: ObservationEvent) -> None:
        begun = self._begun.pop(event.call, None)
        self._delegates.pop(event.call, None)
        step = self._calls.pop(event.call, None)
        if step is None:
            if begun is not None and begun.within:
                return  # a part of the action whose code asked for it
            arguments = (begun.arguments if begun is not None else None) or {}
            call = {"tool_call_id": event.call, "function_name": event.tool, "arguments": arguments}
            step = self._add_step(event, "agent", "", tool_calls=[call])
            step["llm_call_count"] = 0  # of the harness: no model asked for it
        result: dict[str, Any] = {"source_call_id": event.call, "content": event.text}
        if event.failed:
            result["extra"] = {"failed": True}
        self._results[event.call] = result
        step.setdefault("observation", {"results": []})["results"].append(result)

    def _read_task(self, event: ActionEvent) -> str:
        calls = self._calls.get(event.call, {}).get("tool_calls", [])
        asked = next((each["arguments"] for each in calls if each["tool_call_id"] == event.call), None)
        return str((asked or event.arguments or {}).get("task", ""))

    def _handle_child(self, event: ChildEvent) -> None:
        if event.state == "started":
            call = find_delegate(self._delegates, event.prompt)
            self._children.setdefault(call, []).append(event.child)
            if not call:
                step = self._add_step(
                    event, "system", f"{event.role or event.agent or 'a session'} was started"
                )
                result = {
                    "content": event.prompt,
                    "subagent_trajectory_ref": [{"trajectory_id": event.child}],
                }
                step["observation"] = {"results": [result]}
        else:
            self._usage.add(event.usage)

    def _handle_side_call(self, event: SideCall) -> None:
        self._usage.add(event.usage)

    def _handle_end(self, event: End) -> None:
        self._end = event

    def _handle_rewind(self, event: Rewind) -> None:
        """Drop the steps behind the event with which the session went on."""
        last = parse_event_id(event.to)
        self._steps = [each for each in self._steps if each[0] <= last]

    def _embed_children(self) -> Iterator[dict[str, Any]]:
        """Yield the trajectories of the session's children, and refer to them where they were started."""
        seen: set[str] = set()
        for call, children in self._children.items():
            found: list[str] = []
            for child in dict.fromkeys(children):
                trajectory = self._read_child(child) if child not in seen else None
                if trajectory is not None:
                    seen.add(child)
                    found.append(child)
                    yield trajectory
            if found and call in self._results:
                refs = [{"trajectory_id": each, "session_id": each} for each in found]
                self._results[call]["subagent_trajectory_ref"] = refs

    def _read_child(self, child: str) -> dict[str, Any] | None:
        if self._depth >= DEEPEST or "/" in child:
            return None
        try:
            return build_trajectory(self._folder.parent / child, depth=self._depth + 1)
        except FileNotFoundError:  # its log was removed, or lies elsewhere
            return None


def _build_metrics(usage: UsageRecord) -> dict[str, Any]:
    found: dict[str, Any] = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cached,
    }
    if usage.cost is not None:
        found["cost_usd"] = usage.cost
    if usage.reasoning:
        found["extra"] = {"reasoning_tokens": usage.reasoning}
    return found


def _sort_results(step: Step) -> None:
    """Put the results of a step into the order of its calls; they come in the order in which the calls ended."""
    order = [each["tool_call_id"] for each in step.get("tool_calls", [])]
    if "observation" in step and order:
        step["observation"]["results"].sort(key=lambda each: order.index(each["source_call_id"]))


def format_time(seconds: float) -> str:
    """Return a time as ISO 8601, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


_HANDLERS: Mapping[type[Event], Callable[[_Builder, Any], None]] = {
    SessionStart: _Builder._handle_start,
    Prompt: _Builder._handle_prompt,
    Steer: _Builder._handle_steer,
    MessageEvent: _Builder._handle_message,
    ActionEvent: _Builder._handle_action,
    ObservationEvent: _Builder._handle_observation,
    ChildEvent: _Builder._handle_child,
    SideCall: _Builder._handle_side_call,
    End: _Builder._handle_end,
    Rewind: _Builder._handle_rewind,
}
