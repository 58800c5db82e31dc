"""The hooks of one session: before and after actions, at questions, and at the session's other events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from agent.events import Signal
from agent.extension.hooks.hook_answer import HookAnswer, clip_text, combine_answers
from agent.extension.hooks.hook_definition import HookDefinition
from agent.extension.hooks.hook_environment import EnvironmentFiles, open_environment_files
from agent.extension.hooks.hook_input import (
    find_tool_names,
    name_permission_mode,
    restore_arguments,
    translate_arguments,
)
from agent.extension.hooks.hook_response import build_response, format_output
from agent.extension.hooks.hook_runner import run_hook
from agent.turn.runtime import Runtime
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect
from sandbox.secrets.child_environment import redact
from tools.core.action import Action, Observation
from tools.core.action_hooks import NO_ADVICE, HookAdvice
from tools.core.untrusted_output import enclose_in_tag

SIGNAL = "hook"
"""Name of the signals by which a person is told of hooks."""

_ACTION_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "FileChanged")

LAST_WAIT = 10.0
"""Seconds that the end of a session waits for hooks that nobody waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """An action as hooks were told it. names: of its tool; given: its input under another agent's names"""

    names: tuple[str, ...]
    given: Mapping[str, Any]
    effect: Effect


class SessionHooks:
    """Runs the hooks of a session. Implements `ActionHooks`.

    stop: why hooks want the turn to end, "" if they do not
    late_words: what hooks that nobody waited for want the model to know
    """

    def __init__(self, runtime: Runtime, hooks: Sequence[HookDefinition]) -> None:
        self.stop = ""
        self.is_started = False
        self.late_words: list[str] = []
        self._environment_files: EnvironmentFiles | None = None
        self._runtime = runtime
        self._by_event: dict[str, list[HookDefinition]] = {}
        for each in hooks:
            self._by_event.setdefault(each.event, []).append(each)
        self._begun: dict[str, _Begun] = {}
        self._asides: set[asyncio.Task[HookAnswer]] = set()

    def has_hooks(self, event: str) -> bool:
        """Whether there are hooks of an event."""
        return event in self._by_event

    async def run(
        self, event: str, fields: Mapping[str, Any], names: Sequence[str] = (), given: Mapping[str, Any] = {}
    ) -> HookAnswer:
        """Run the hooks of an event that match, all at once, and return their answer.

        fields: of the event; names: what matchers are compared with; given: input of the tool, for conditions
        """
        hooks = [each for each in self._by_event.get(event, ()) if each.matches(names, given)]
        if not hooks:
            return HookAnswer()
        told = {**build_common(self._runtime, event), **fields}
        waiting = []
        for each in hooks:
            file = self._environment_files.create() if self._environment_files is not None else None
            task = asyncio.ensure_future(run_hook(self._runtime, each, told, file))
            if each.is_async:
                self._asides.add(task)
                task.add_done_callback(self._asides.discard)
                if each.wakes_model:
                    task.add_done_callback(partial(self._keep_late_words, event))
            else:
                waiting.append(task)
        answer = combine_answers(await asyncio.gather(*waiting))
        self._tell_person(event, answer)
        self.stop = self.stop or answer.stop
        return answer

    async def start_session(self, source: str) -> HookAnswer:
        """Run the hooks of the session's start; what they write to their environment files counts for its commands."""
        if not self.has_hooks("SessionStart"):
            return HookAnswer()
        with open_environment_files(self._runtime) as files:
            self._environment_files = files
            try:
                answer = await self.run("SessionStart", {"source": source}, (source,))
            finally:
                self._environment_files = None
            problem = await files.load(self._runtime)
        if problem:
            self._runtime.session.append(Signal(name=SIGNAL, detail=f"hook SessionStart: {problem}"))
        return answer

    def _keep_late_words(self, event: str, task: asyncio.Task[HookAnswer]) -> None:
        if not task.cancelled() and task.exception() is None and task.result().verdict == "deny":
            self.late_words.append(format_context(event, task.result().reason))

    def run_aside(self, event: str, fields: Mapping[str, Any], names: Sequence[str] = ()) -> None:
        """Run the hooks of an event that nobody waits for."""
        if self.has_hooks(event):
            task = asyncio.ensure_future(self.run(event, fields, names))
            self._asides.add(task)
            task.add_done_callback(self._asides.discard)

    async def before_action(self, action: Action, effect: Effect) -> HookAdvice:
        """See `ActionHooks.before_action`. Actions of the harness are not asked about."""
        if action.id.startswith("harness-") or not any(map(self.has_hooks, _ACTION_EVENTS)):
            return NO_ADVICE
        root = self._runtime.workspace.root
        names = find_tool_names(action.tool)
        given = translate_arguments(action.tool, action.arguments, root, effect.paths)
        self._begun[action.id] = _Begun(names=names, given=given, effect=effect)
        answer = await self.run("PreToolUse", self._describe(action), names, given)
        arguments, note = None, format_context("PreToolUse", answer.context)
        if answer.arguments is not None:
            arguments = restore_arguments(action.tool, action.arguments, answer.arguments, root)
            note = "\n".join(filter(None, [f"note: a hook changed the call to {arguments}", note]))
        decision = None
        if self.stop:
            decision = Decision(verdict="deny", reason=f"a hook ended the turn: {self.stop}")
        elif answer.verdict:
            reason = answer.reason or "it does not say why"
            decision = Decision(verdict=answer.verdict, reason=f"a hook: {reason}", asks_anew=True)
        return HookAdvice(decision=decision, arguments=arguments, note=note)

    async def answer_question(self, action: Action, effect: Effect, question: Decision) -> Decision | None:
        """See `ActionHooks.answer_question`."""
        begun = self._begun.get(action.id)
        if begun is None:
            return None
        told = {"message": f"{action.tool}: {question.reason}", "notification_type": "permission_prompt"}
        answer = await self.run("PermissionRequest", self._describe(action), begun.names, begun.given)
        if answer.verdict in ("allow", "deny"):
            reason = answer.reason or "it does not say why"
            return Decision(verdict=answer.verdict, reason=f"a hook: {reason}")
        self.run_aside("Notification", told, ("permission_prompt",))
        return None

    def follows(self, action: Action) -> bool:
        """See `ActionHooks.follows`."""
        if (begun := self._begun.get(action.id)) is None:
            return False
        waits = any(
            each.matches(begun.names, begun.given)
            for event in ("PostToolUse", "PostToolUseFailure")
            for each in self._by_event.get(event, ())
        )
        if not waits and not self.has_hooks("FileChanged"):
            del self._begun[action.id]
            return False
        return True

    async def after_action(self, action: Action, observation: Observation) -> Observation:
        """See `ActionHooks.after_action`."""
        begun = self._begun.pop(action.id)
        if observation.data.get("denied"):
            return observation
        event = "PostToolUseFailure" if observation.failed else "PostToolUse"
        fields = {
            "tool_name": begun.names[0],
            "tool_input": dict(begun.given),
            "tool_use_id": action.id,
            "tool_response": build_response(
                begun.names[0], observation, begun.given, self._runtime.workspace.files
            ),
        }
        if observation.failed:
            fields["error"] = observation.text[:2_000]
        answer = await self.run(event, fields, begun.names, begun.given)
        changed = observation.data.get("changed") or (
            begun.effect.paths if begun.effect.kind == "write" else ()
        )
        for path in changed if not observation.failed else ():
            full = str(self._runtime.workspace.root / path)
            self.run_aside("FileChanged", {"file_path": full, "event": "change"}, (PurePath(path).name,))
        if answer.output is not None and not observation.failed:
            self._tell_change(action)
            text = clip_text(redact(format_output(answer.output)))
            observation = replace(observation, text=text, ref="", value=None)
        parts = [observation.text]
        if answer.verdict == "deny":
            parts.append(format_context(event, answer.reason))
        if answer.context:
            parts.append(format_context(event, answer.context))
        return replace(observation, text="\n".join(parts)) if len(parts) > 1 else observation

    async def close(self) -> None:
        """Run the hooks of the session's end, and wait a while for those that nobody waited for."""
        if self.is_started:
            await self.run("SessionEnd", {"reason": "other"})
        if self._asides:
            _, late = await asyncio.wait(self._asides, timeout=LAST_WAIT)
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _tell_change(self, action: Action) -> None:
        told = f"a hook replaced the result of {action.tool}"
        self._runtime.session.append(Signal(name=SIGNAL, detail=told))

    def _describe(self, action: Action) -> dict[str, Any]:
        begun = self._begun[action.id]
        return {"tool_name": begun.names[0], "tool_input": dict(begun.given), "tool_use_id": action.id}

    def _tell_person(self, event: str, answer: HookAnswer) -> None:
        if answer.problem:
            self._runtime.session.append(Signal(name=SIGNAL, detail=f"hook {event} failed: {answer.problem}"))
        if answer.message:
            self._runtime.session.append(Signal(name=SIGNAL, detail=answer.message))


def build_common(runtime: Runtime, event: str) -> dict[str, Any]:
    """Return the fields that hooks of every event are told."""
    return {
        "session_id": runtime.session.id,
        "transcript_path": str(runtime.session.folder / "log.jsonl"),
        "cwd": str(runtime.workspace.root),
        "permission_mode": name_permission_mode(runtime.policy.mode, runtime.policy.approval),
        "hook_event_name": event,
    }


def format_context(event: str, text: str) -> str:
    """Return a hook's text for the model, "" for none."""
    return enclose_in_tag("hook", text, f" event={event!r}") if text else ""
