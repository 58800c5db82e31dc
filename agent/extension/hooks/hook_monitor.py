"""Hooks at the events of a session: its start, prompts, children, compactions, and the end of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.app_dirs import Home
from agent.events import ChildEvent, Compaction, Event, Prompt
from agent.extension.hooks.hook_catalog import load_hooks
from agent.extension.hooks.session_hooks import SessionHooks, format_context
from agent.monitor.answers import GO_ON, GoOn, RequestAnswer, StepAnswer, StopTurn, TellModel, TurnEnd
from agent.monitor.monitor import Monitor, Turn
from agent.turn.runtime import Runtime
from agent.verify.verdict import Claim, Verdict

_TOOLS_ONLY = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "FileChanged")
"""Events of a child session: the others are those of the session that a person began."""


def attach_hooks(runtime: Runtime, home: Home) -> SessionHooks | None:
    """Let a session run the hooks of its files; None where there are none that it may run."""
    is_child = runtime.environment is not None and bool(runtime.environment.request.parent)
    found = load_hooks(home, runtime.workspace.root).hooks
    hooks = [each for each in found if not is_child or each.event in _TOOLS_ONLY]
    if not hooks:
        return None
    attached = SessionHooks(runtime, hooks)
    runtime.hooks = attached
    runtime.loop.gateway.hooks = attached
    monitor = HookMonitor(attached, is_resumed=runtime.session.replayed.find_newest_place("prompt") > 0)
    runtime.loop.monitors.add_monitor(monitor)
    if not is_child:
        runtime.conclusion.preparations.insert(0, monitor)
    if attached.has_hooks("Stop"):
        runtime.conclusion.verifiers.append(StopHooks(attached))
    return attached


class HookMonitor(Monitor):
    """Runs hooks as a session goes on."""

    def __init__(self, hooks: SessionHooks, *, is_resumed: bool) -> None:
        self._hooks = hooks
        self._source = "resume" if is_resumed else "startup"
        self._worktrees: set[str] = set()

    def handle_event(self, event: Event) -> None:
        """See `Monitor.handle_event`."""
        if isinstance(event, Prompt):
            self._hooks.stop = ""
        elif isinstance(event, Compaction):
            self._hooks.run_aside("PostCompact", {"trigger": "auto"}, ("auto",))
        elif isinstance(event, ChildEvent):
            self._follow_child(event)

    def _follow_child(self, event: ChildEvent) -> None:
        is_start = event.state == "started"
        agent = event.agent or "general-purpose"
        fields: dict[str, Any] = {"agent_id": event.child, "agent_type": agent}
        if not is_start:
            fields |= {"last_assistant_message": event.report, "stop_hook_active": False}
        self._hooks.run_aside("SubagentStart" if is_start else "SubagentStop", fields, (agent,))
        if event.place == "worktree":
            self._worktrees.add(event.child)
            self._hooks.run_aside("WorktreeCreate", {"name": event.child}, (event.child,))
        if not is_start and event.child in self._worktrees:
            self._worktrees.discard(event.child)
            self._hooks.run_aside("WorktreeRemove", {"name": event.child}, (event.child,))

    async def before_compaction(self, event: Compaction) -> None:
        """See `Monitor.before_compaction`."""
        await self._hooks.run("PreCompact", {"trigger": "auto", "custom_instructions": ""}, ("auto",))

    async def prepare_turn(self, prompt: str) -> TellModel | StopTurn | GoOn:
        """Run the hooks of a prompt before the work, whatever does it: the loop, or a strategy."""
        told = [await self._start_session()]
        answer = await self._hooks.run("UserPromptSubmit", {"prompt": prompt})
        if answer.verdict == "deny":
            return _stop(f"a hook does not let this prompt pass: {answer.reason}")
        if self._hooks.stop:
            return _stop(self._hooks.stop)
        told.append(format_context("UserPromptSubmit", answer.context))
        text = "\n\n".join(filter(None, told))
        return TellModel(text=text) if text else GO_ON

    async def before_request(self) -> Sequence[RequestAnswer]:
        """See `Monitor.before_request`: a turn that is resumed was not prepared."""
        late, self._hooks.late_words = self._hooks.late_words, []
        texts = filter(None, [await self._start_session(), *late])
        return [TellModel(text=each) for each in texts]

    async def _start_session(self) -> str:
        """Run the hooks of a session's start, once; return text for the model."""
        if self._hooks.is_started:
            return ""
        self._hooks.is_started = True
        answer = await self._hooks.start_session(self._source)
        return format_context("SessionStart", answer.context)

    def before_step(self, turn: Turn) -> StepAnswer:
        """See `Monitor.before_step`."""
        return _stop(self._hooks.stop) if self._hooks.stop else GO_ON


class StopHooks:
    """Verifier of a turn's end: a hook of `Stop` that blocks gives the model another step, with its reason."""

    name = "stop-hook"
    withholds_commit = False

    def __init__(self, hooks: SessionHooks) -> None:
        self._hooks = hooks
        self._is_active = False

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self._is_active = False

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`."""

    async def verify(self, claim: Claim) -> Verdict | None:
        """See `Verifier.verify`."""
        fields: Mapping[str, Any] = {
            "stop_hook_active": self._is_active,
            "last_assistant_message": claim.answer,
        }
        answer = await self._hooks.run("Stop", fields)
        text = answer.reason if answer.verdict == "deny" else ""
        if not text and not self._is_active:  # feedback gives one more step, and fails no turn
            text = answer.context
        if not text:
            return None
        self._is_active = True
        advice = format_context("Stop", text)
        return Verdict(outcome="fail", evidence="executed", name=self.name, detail=text, advice=advice)


def _stop(reason: str) -> StopTurn:
    return StopTurn(TurnEnd(reason="interrupted", detail=reason))
