"""What the events of a turn show: which tests failed, and whether anything ran since the last edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.events import ActionEvent, ChildEvent, Event, MessageEvent, ObservationEvent, Prompt
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace

_MAY_RUN_TESTS = ("execute", "network", "mcp", "unknown", "destructive")
_NOT_STARTED = (126, 127)
"""Exit codes of a shell that could not start a command."""


@dataclass(slots=True, kw_only=True)
class TurnTrace:
    """Follower of a turn's events.

    failed_before: names of tests that failed before the first edit; failed: those of any run
    has_edited: the model changed a file; ran_since: it ran a command or tests after its last edit
    has_tried: it tried to change files, and each try failed; has_looked: it read or ran something
    """

    failed_before: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    has_edited: bool = False
    ran_since: bool = False
    has_tried: bool = False
    has_looked: bool = False
    _commands: dict[str, str] = field(default_factory=dict)
    _written: list[str] = field(default_factory=list)
    _paths: dict[str, list[str]] = field(default_factory=dict)
    _ran: list[str] = field(default_factory=list)
    _started: list[str] = field(default_factory=list)
    _has_run: bool = False
    _effects: dict[str, str] = field(default_factory=dict)
    _began: float = 0.0
    _has_executed: bool = False
    _has_changed_service: bool = False

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged, or one of a resumed turn."""
        match event:
            case Prompt():
                self.failed_before.clear()
                self.failed.clear()
                self._effects.clear()
                self.has_edited = self.ran_since = self.has_tried = self.has_looked = self._has_run = False
                self._began, self._has_executed, self._has_changed_service = event.time, False, False
                for each in (self._commands, self._written, self._paths, self._ran, self._started):
                    each.clear()
            case MessageEvent():
                commands = ((each.id, each.arguments.get("command")) for each in event.actions)
                self._commands.update((call, line) for call, line in commands if isinstance(line, str))
            case ActionEvent():
                self._effects[event.call] = event.effect
                self._paths[event.call] = event.paths
            case ChildEvent(state="ended"):
                self._has_run = True
            case ObservationEvent():
                self._handle_observation(event)

    def has_other_effect(self, workspace: Workspace) -> bool:
        """Return whether it changed something that is no tracked file: an ignored one, one outside, a branch."""
        if self._has_changed_service or any(path not in workspace.changes for path in self._written):
            return True
        if not self._has_executed:
            return False
        from agent.verify.gaming.other_effects import has_ignored_changes, have_other_effect

        return have_other_effect(self._ran, workspace) or has_ignored_changes(workspace, self._began)

    def may_have_run_tests(self, root: Path) -> bool:
        """Return whether tests ran, or a command or a child session that may have run them."""
        if self._has_run or not self._started:
            return self._has_run
        from sandbox.policy.shell import judge_command_line

        return any(
            each.kind in _MAY_RUN_TESTS
            for line in self._started
            for each in judge_command_line(line, root=root).effects
        )

    def _handle_observation(self, event: ObservationEvent) -> None:
        effect = self._effects.pop(event.call, "")
        report = event.data.get("report")
        if isinstance(report, Mapping):
            self._has_run |= report.get("outcome") != "no-runner"
            names = set(_list_failed(report))
            self.failed |= names
            if not self.has_edited:
                self.failed_before |= names
        paths, command = self._paths.pop(event.call, []), self._commands.pop(event.call, "")
        if event.call.startswith("harness-"):
            return
        if effect == "write":
            self.has_tried = event.failed and not self._written
        if event.data.get("denied"):
            return
        if command and event.data.get("exit") not in _NOT_STARTED:
            self._started.append(command)
        self._has_run |= not command and effect in _MAY_RUN_TESTS
        self.has_looked |= effect in ("read", "execute") and not event.failed
        if not event.failed and effect == "write" and not command:
            self._written += paths
        elif not event.failed and not event.data.get("exit"):
            self._has_executed |= bool(command) or effect in ("execute", "unknown")
            self._ran += [command] if command else []
        if not event.failed and effect == "mcp":
            from agent.verify.gaming.other_effects import changes_service

            self._has_changed_service |= changes_service(event.tool)
        if effect == "write":
            self.has_edited, self.ran_since = True, False
        elif effect == "execute":
            self.ran_since = True


def _list_failed(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the last names of a report's failed tests, without parameters."""
    for each in report.get("failures", ()):
        if isinstance(each, Mapping):
            yield re.split(r"::|[.#/ ]", str(each.get("id", "")).partition("[")[0])[-1]
