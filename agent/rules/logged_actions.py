"""Actions of a log, as rules see them: the facts that a running session has, rebuilt from its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent.events import ActionEvent, Event, MessageEvent
from agent.rules.happenings import ActionReader, BegunFacts
from sandbox.policy.effects import Effect, EffectKind
from tools.core.action import Action

Translate = Callable[[Action], Action]
"""Translates a call of another agent's tool to one of ours."""


class LoggedActions:
    """Follows a log, and returns the facts of each action that begins."""

    def __init__(self, reader: ActionReader, translate: Translate = lambda action: action) -> None:
        self._reader = reader
        self._translate = translate
        self._asked: dict[str, Mapping[str, Any]] = {}

    def begin_action(self, event: Event) -> BegunFacts | None:
        """Process an event; return the facts if it begins an action."""
        if isinstance(event, MessageEvent):
            calls = [
                self._translate(Action(id=each.id, tool=each.tool, arguments=each.arguments))
                for each in event.actions
            ]
            self._asked = {each.id: each.arguments for each in calls}
        if not isinstance(event, ActionEvent):
            return None
        arguments = event.arguments or self._asked.get(event.call, {})
        effect = Effect(
            kind=_as_kind(event.effect), paths=tuple(event.paths), argv=_find_argv(event, arguments)
        )
        return self._reader.read_action(event.call, event.tool, effect, event.within or "")


def _find_argv(event: ActionEvent, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    if not event.followed:
        return ()
    if event.tool == "python":
        return ("python", "-c", str(arguments.get("code") or ""))
    return ("bash", "-c", str(arguments.get("command") or ""))


def _as_kind(name: str) -> EffectKind:
    return name  # type: ignore[return-value]  # written by the program itself
