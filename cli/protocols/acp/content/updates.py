"""Events of a session as updates of the protocol, live or when a session is loaded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp.helpers import (
    image_block,
    plan_entry,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message,
    update_user_message_text,
)
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    PlanEntryStatus,
    SessionInfoUpdate,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    UsageUpdate,
    UserMessageChunk,
)

from agent.events import (
    ActionEvent,
    ChildEvent,
    ChildProgress,
    Compaction,
    ErrorEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    PlanEvent,
    Prompt,
    Signal,
    Steer,
    Title,
    Verification,
    encode_line,
    parse_event,
)
from agent.model.protocol import Delta, ReasoningDelta, TextDelta
from agent.session.images import load_image
from cli.output.lines.delegate_calls import find_delegate
from cli.protocols.acp.content.live_updates import CompactionNotice, LiveUpdate, SessionNotice
from cli.protocols.acp.content.tool_calls import (
    UNSHOWN,
    choose_kind,
    format_output,
    format_text,
    format_title,
    list_locations,
    split_diff,
)
from sandbox.sanitize import sanitize_text

SessionUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | LiveUpdate
)

PROGRESS_LINES = 20
"""Last lines of a running command that are shown."""

_STATUSES: Mapping[str, PlanEntryStatus] = {"open": "pending", "doing": "in_progress", "done": "completed"}

_QUIET_SIGNALS = frozenset({"mode", "approval", "plan-mode", "team-size"})
"""Signals that clients see otherwise, or that only explain the log."""


def write_as_thought(update: LiveUpdate) -> AgentThoughtChunk:
    """Return an update for clients that do not show such ones, and for the past."""
    return update_agent_thought_text(f"[{update.words}]\n")


class UpdateMapper:
    """Maps the events of one session to updates; it keeps which tool calls were announced.

    root: folder of the workspace; session: folder of the log, which has the images
    prefix: of the ids of tool calls, for those of a child; parent: the tool call in which they are nested
    """

    def __init__(
        self, root: Path, session: Path | None = None, *, prefix: str = "", parent: str = ""
    ) -> None:
        self.root = root
        self._session = session
        self._prefix = prefix
        self._parent = parent
        self._announced: dict[str, Mapping[str, Any]] = {}  # open calls, with their arguments
        self._running = ""  # the call that began last
        self._printed: deque[str] = deque(maxlen=PROGRESS_LINES)  # by it
        self._delegates: dict[str, str] = {}  # open calls that start agents, with their tasks
        self._children: dict[str, UpdateMapper] = {}
        self._streamed = self._thought = False
        self.is_replay = False

    @property
    def running_call(self) -> str:
        """Id of the tool call that began last, "" if it has ended."""
        return self._running if self._running in self._announced else ""

    def is_announced(self, call: str) -> bool:
        """Whether the client knows a tool call that has not ended."""
        return call in self._announced

    def find_arguments(self, call: str) -> Mapping[str, Any]:
        """Return the arguments of an open call, {} if they are not known."""
        return self._announced.get(call, {})

    def map_delta(self, delta: Delta) -> list[SessionUpdate]:
        """Return the updates of a part of a reply."""
        if isinstance(delta, TextDelta) and delta.text:
            self._streamed = True
            return [update_agent_message_text(sanitize_text(delta.text))]
        if isinstance(delta, ReasoningDelta) and delta.text:
            self._thought = True
            return [update_agent_thought_text(sanitize_text(delta.text))]
        return []

    def map_progress(self, line: str) -> list[SessionUpdate]:
        """Return the update of a line that the running command has printed."""
        call = self.running_call
        if not call:
            return []
        self._printed.append(line)
        return [update_tool_call(self._prefix + call, content=format_output("\n".join(self._printed)))]

    def map_event(self, event: Event) -> list[SessionUpdate]:
        """Return the updates of an event."""
        handler = _HANDLERS.get(type(event))
        return list(handler(self, event)) if handler is not None else []

    def _map_prompt(self, event: Prompt) -> Iterator[SessionUpdate]:
        if not self.is_replay:  # the client shows what its user typed
            return
        if event.text:
            yield update_user_message_text(sanitize_text(event.text))
        for name in event.images:
            if self._session is not None and (image := load_image(self._session, name)) is not None:
                yield update_user_message(image_block(image.data, image.media))

    def _map_steer(self, event: Steer) -> Iterator[SessionUpdate]:
        if self.is_replay and event.by == "person":
            yield update_user_message_text(sanitize_text(event.text))

    def _map_message(self, event: MessageEvent) -> Iterator[SessionUpdate]:
        streamed, thought = self._streamed, self._thought
        self._streamed = self._thought = False
        if not self._prefix:  # a child's words are its own: its report comes to the session
            if event.reasoning.strip() and not thought:
                yield update_agent_thought_text(sanitize_text(event.reasoning))
            if event.text.strip() and not streamed:
                yield update_agent_message_text(sanitize_text(event.text))
        for each in event.actions:
            if each.tool not in UNSHOWN:
                yield self._announce(each.id, each.tool, each.arguments, status="pending")

    def _map_action(self, event: ActionEvent) -> Iterator[SessionUpdate]:
        if event.tool in UNSHOWN:
            return
        paths = tuple(event.paths)
        if event.call not in self._announced:
            parent = self._prefix + event.within if event.within else self._parent
            yield self._announce(
                event.call,
                event.tool,
                event.arguments or {},
                status="in_progress",
                effect=event.effect,
                paths=paths,
                parent=parent,
            )
        else:
            arguments = self._announced[event.call]
            yield update_tool_call(
                self._prefix + event.call,
                status="in_progress",
                kind=choose_kind(event.tool, event.effect),
                locations=list_locations(self.root, arguments, paths) or None,
            )
        self._running = event.call
        self._printed.clear()
        if event.tool == "delegate":
            self._delegates[event.call] = str(self._announced[event.call].get("task", ""))

    def _map_observation(self, event: ObservationEvent) -> Iterator[SessionUpdate]:
        summary = event.data.get("summary")
        if event.tool in UNSHOWN:
            if summary and not event.failed:
                yield update_agent_message_text(sanitize_text(str(summary)))
            return
        if event.call not in self._announced:  # it ended before it began: a call that was not understood
            yield self._announce(event.call, event.tool, {}, status="pending")
        self._announced.pop(event.call, None)
        self._delegates.pop(event.call, None)
        diff = event.data.get("diff")
        if isinstance(diff, str) and diff and not event.failed:
            content = list(split_diff(self.root, diff))
        elif choose_kind(event.tool) == "execute":
            content = format_output(event.text)
        else:
            content = format_text(event.text)
        yield update_tool_call(
            self._prefix + event.call, status="failed" if event.failed else "completed", content=content
        )

    def _map_plan(self, event: PlanEvent) -> Iterator[SessionUpdate]:
        if not self._prefix:
            yield update_plan(
                plan_entry(sanitize_text(text), status=_STATUSES.get(status, "pending"))
                for text, status in event.items
            )

    def _map_signal(self, event: Signal) -> Iterator[SessionUpdate]:
        if event.name not in _QUIET_SIGNALS and event.detail and not self._prefix:
            yield self._tell(SessionNotice(title=sanitize_text(event.detail)))

    def _map_compaction(self, event: Compaction) -> Iterator[SessionUpdate]:
        words = f"context: {event.stage}, {event.tokens_before} to {event.tokens_after} tokens"
        if not self._prefix:
            summary = [{"type": "text", "text": words}]
            yield self._tell(CompactionNotice(compaction_id=event.id, summary=summary))

    def _tell(self, update: LiveUpdate) -> SessionUpdate:
        return write_as_thought(update) if self.is_replay else update

    def _map_error(self, event: ErrorEvent) -> Iterator[SessionUpdate]:
        if self.is_replay and not self._prefix:  # live, the prompt is answered with it
            hint = f" {event.hint}" if event.hint else ""
            yield update_agent_message_text(sanitize_text(f"{event.message}.{hint}"))

    def _map_verification(self, event: Verification) -> Iterator[SessionUpdate]:
        if event.outcome in ("failed", "unverified") and not self._prefix:
            yield update_agent_message_text(f"\n\n{event.outcome}: {sanitize_text(event.detail)}\n")

    def _map_title(self, event: Title) -> Iterator[SessionUpdate]:
        if not self._prefix:
            yield SessionInfoUpdate(session_update="session_info_update", title=sanitize_text(event.text))

    def _map_child(self, event: ChildEvent) -> Iterator[SessionUpdate]:
        call = f"{self._prefix}child:{event.child}"
        name = event.agent or event.role or "agent"
        if event.state == "started":
            delegate = find_delegate(self._delegates, event.prompt)
            parent = self._prefix + delegate if delegate else self._parent
            self._children[event.child] = UpdateMapper(self.root, prefix=f"{call}:", parent=call)
            start = start_tool_call(
                call,
                format_title(name, {"task": event.prompt.strip().partition("\n")[0]}),
                kind="think",
                status="in_progress",
            )
            yield _nest(start, parent)
            return
        child = self._children.pop(event.child, None)
        if child is not None:
            yield from child.end_open_calls()
        content = format_text(event.report)
        status: ToolCallStatus = "completed" if event.exit_code == 0 else "failed"
        yield update_tool_call(call, status=status, content=content)

    def _map_child_progress(self, event: ChildProgress) -> Iterator[SessionUpdate]:
        child = self._children.get(event.child)
        if child is None:
            return
        try:
            inner = parse_event(encode_line(event.event))
        except ValueError:  # of another version
            return
        yield from child.map_event(inner)

    def end_open_calls(self) -> Iterator[SessionUpdate]:
        """Yield the end of each call that is open: nothing more will come of it."""
        for call in list(self._announced):
            yield update_tool_call(self._prefix + call, status="failed")
        self._announced.clear()

    def _announce(
        self,
        call: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        status: ToolCallStatus,
        effect: str = "",
        paths: tuple[str, ...] = (),
        parent: str = "",
    ) -> SessionUpdate:
        self._announced[call] = arguments
        start = start_tool_call(
            self._prefix + call,
            format_title(tool, arguments, paths),
            kind=choose_kind(tool, effect),
            status=status,
            locations=list_locations(self.root, arguments, paths) or None,
            raw_input=dict(arguments) or None,
        )
        return _nest(start, parent or self._parent)


def _nest(start: ToolCallStart, parent: str) -> ToolCallStart:
    """Name the tool call in which another one is nested; the protocol has no field for it, only `_meta`."""
    if parent:
        start.field_meta = {
            "patchwright": {"parentToolCallId": parent},
            "claudeCode": {"parentToolUseId": parent},  # the name that clients know
        }
    return start


Handler = Callable[[UpdateMapper, Any], Iterator[SessionUpdate]]

_HANDLERS: Mapping[type[Event], Handler] = {
    Prompt: UpdateMapper._map_prompt,
    Steer: UpdateMapper._map_steer,
    MessageEvent: UpdateMapper._map_message,
    ActionEvent: UpdateMapper._map_action,
    ObservationEvent: UpdateMapper._map_observation,
    PlanEvent: UpdateMapper._map_plan,
    Signal: UpdateMapper._map_signal,
    Compaction: UpdateMapper._map_compaction,
    ErrorEvent: UpdateMapper._map_error,
    Verification: UpdateMapper._map_verification,
    Title: UpdateMapper._map_title,
    ChildEvent: UpdateMapper._map_child,
    ChildProgress: UpdateMapper._map_child_progress,
}
"""The updates of each kind of event; other kinds have none."""


def map_history(mapper: UpdateMapper, events: Sequence[Event] | Iterator[Event]) -> Iterator[SessionUpdate]:
    """Yield the updates of a session's past. Calls of children that a kill cut off end with it."""
    mapper.is_replay = True
    try:
        for event in events:
            yield from mapper.map_event(event)
    finally:
        mapper.is_replay = False
