"""Limits of an agent's tools to commands and paths, as `Bash(git:*)` and `Edit(docs/**)` in its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from agent.monitor.answers import GO_ON, ActionAnswer, Refuse
from agent.monitor.monitor import Monitor
from sandbox.policy.rules import Permission, Rule, Rules
from tools.core.action_guard import BegunAction
from tools.core.tool_names import ToolGrant


class ToolScope(Monitor):
    """Refuses actions outside of the patterns of an agent's tools.

    grants: a tool that is also granted without a pattern is not limited; denied: patterns that it must not touch
    resolve: returns a path as rules name it: relative to the workspace, links followed
    """

    is_security = True

    def __init__(
        self,
        agent: str,
        grants: Sequence[ToolGrant],
        denied: Sequence[ToolGrant],
        resolve: Callable[[str], str],
    ) -> None:
        free = {tool for each in grants if each.scope is None for tool in each.tools}
        self._agent = agent
        self._grants = [each for each in grants if each.scope is not None]
        self._limited = {tool for each in self._grants for tool in each.tools} - free
        self._denied = [each for each in denied if each.scope is not None]
        self._resolve = resolve

    def before_action(self, begun: BegunAction) -> ActionAnswer:
        """See `Monitor.before_action`."""
        if begun.is_harness:
            return GO_ON
        tool = begun.action.tool
        for each in self._denied:
            if tool in each.tools and self._matches(begun, [each], "deny"):
                return Refuse(f"agent {self._agent!r} does without {each.written}")
        if tool in self._limited:
            allowed = [each for each in self._grants if tool in each.tools]
            if not self._matches(begun, allowed, "allow"):
                names = ", ".join(each.written for each in allowed)
                return Refuse(f"agent {self._agent!r} has only {names}")
        return GO_ON

    def _matches(self, begun: BegunAction, grants: Sequence[ToolGrant], verdict: Permission) -> bool:
        """Return whether patterns cover all of an action (to allow it), or any part of it (to deny it)."""
        rules = Rules(
            tuple(
                Rule(kind=each.scope, pattern=each.pattern, verdict=verdict) for each in grants if each.scope
            )
        )
        if begun.command is not None:
            join = all if verdict == "allow" else any
            found = [rules.match_segment(each) is not None for each in begun.command.segments]
            return bool(found) and join(found)
        if begun.effect.kind == "none":  # output of a command that was allowed
            return verdict == "allow"
        try:
            paths = tuple(self._resolve(each) for each in begun.effect.paths)
        except (ValueError, OSError):  # outside of the workspace, or not there
            return verdict == "deny"
        return bool(paths) and rules.match_effect(replace(begun.effect, paths=paths)) is not None
