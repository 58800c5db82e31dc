"""One hook, in Claude Code's schema: what it runs, and which actions it is for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

EVENTS = (
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "FileChanged",
    "WorktreeCreate",
    "WorktreeRemove",
)
"""Events at which hooks run, under Claude Code's names."""

GUARDS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit")
"""Events whose hooks may forbid: what one of them was to guard is denied where it cannot run as it is written."""

KINDS: Mapping[str, str] = {
    "command": "command",
    "http": "url",
    "prompt": "prompt",
    "agent": "prompt",
    "mcp_tool": "tool",
}
"""Types of hooks, and the field that says what each runs."""

ENDS_OF_WORK = ("Stop", "SubagentStop")
"""Events at which a refusal lets the work go on."""

DEFAULT_TIMEOUT = 60.0
"""Seconds that a hook may take unless its file says otherwise; the session waits meanwhile."""

LONGEST_TIMEOUT = 600.0

HookKind = Literal["command", "http", "prompt", "agent", "mcp_tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDefinition:
    """One hook.

    matcher: names of tools (or of what the event is about) that it is for, "" for all
    runs: command line, address, or prompt; args: of the program `runs`, which is started without a shell then
    condition: a tool with a pattern, `Bash(git push:*)`, "" for none
    is_async: nobody waits for it, and its answer does not count; is_strict: its failure forbids the action
    wakes_model: what it refuses is told to the model later, although nobody waits for it
    continues_on_block: a refusal of its model does not end the turn
    server, tool_input: of an MCP server's tool that it calls
    header_variables: names of the environment that headers may use, None if theirs are literal
    source: path of its file; is_project: whether it comes with the project, or from a plugin
    plugin: name of the plugin that it belongs to, "" for none
    dialect: agent and event that it was written for, "" for Claude Code's; subject: matcher of that event's own text
    refusal: why it cannot run as it is written, "" if it can
    """

    event: str
    kind: HookKind
    runs: str
    matcher: str = ""
    timeout: float = DEFAULT_TIMEOUT
    condition: str = ""
    is_async: bool = False
    is_strict: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    is_project: bool = False
    plugin: str = field(default="", repr=False)
    args: tuple[str, ...] | None = field(default=None, repr=False)
    header_variables: frozenset[str] | None = field(default=None, repr=False)
    refusal: str = field(default="", repr=False)
    wakes_model: bool = field(default=False, repr=False)
    continues_on_block: bool = field(default=False, repr=False)
    server: str = field(default="", repr=False)
    tool_input: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dialect: str = field(default="", repr=False)
    subject: str = field(default="", repr=False)

    @property
    def identity(self) -> str:
        """All that a user trusts in it. Values that most hooks lack are left out: earlier trust goes on."""
        added: tuple[object, ...] = (
            self.args,
            self.header_variables and sorted(self.header_variables),
            self.refusal,
            self.wakes_model,
            self.continues_on_block,
        )
        if self.kind == "mcp_tool":
            added += (self.server, sorted(self.tool_input.items()))
        if self.dialect:
            added += (self.dialect, self.subject)
        return repr(self) + (repr(added) if any(each or each == () for each in added) else "")

    @property
    def shown(self) -> str:
        """What it runs, for lists."""
        if self.kind == "mcp_tool":
            return f"{self.server}.{self.runs}"
        return self.runs if self.args is None else shlex.join((self.runs, *self.args))

    @property
    def is_guard(self) -> bool:
        """Whether it may forbid what it is for."""
        return self.event in GUARDS and not self.is_async

    @property
    def label(self) -> str:
        """Its event and matcher, for lists."""
        return f"{self.event} {self.matcher}".rstrip()

    def matches(self, names: Sequence[str], arguments: Mapping[str, object]) -> bool:
        """Return whether it is for one of these names, and its condition for these arguments of a tool."""
        if self.dialect:
            from agent.extension.hooks.hook_dialect import name_tools

            names = name_tools(self.dialect, names)
        if not matches_name(self.matcher, names):
            return False
        if not self.condition:
            return True
        match = CONDITION.fullmatch(self.condition)
        if match is None:
            return True
        if match[1] not in names:
            return False
        # Rather once too often than not at all: the literal parts, in their order, wherever they are.
        given, place = " ".join(map(str, arguments.values())), 0
        if match[1] in _SHELLS:
            if _COMPUTED.search(given):
                return True  # what it runs is known to the shell alone
            given = _QUOTES.sub("", given)
        for part in filter(None, _SEPARATORS.split(_CLASSES.sub("*", match[2] or ""))):
            found = given.find(part, place)
            if found < 0:
                return False
            place = found + len(part)
        return True


CONDITION = compile_lazily(r"([A-Za-z_][\w-]*)(?:\((.*)\))?", re.DOTALL)
"""A tool, with words of its arguments in parentheses."""

_SHELLS = ("Bash", "shell", "process", "run_shell_command", "execute_command", "local_shell")
_COMPUTED = compile_lazily(r"[$`\\*?\[{~]|\b(?:eval|base64|xxd|printf|source|alias|xargs)\b")
_QUOTES = compile_lazily("[\"']")
_CLASSES = compile_lazily(r"\[[^]]*\]|\{[^}]*\}")
_SEPARATORS = compile_lazily(r"[\s*?/~:]+|\.+/")
_PLAIN = compile_lazily(r"[\w|, -]+")


def matches_name(matcher: str, names: Sequence[str]) -> bool:
    """Return whether a matcher fits one of the names: names with | or , between them, or a regular expression. The case
    of letters does not count, so that a guard is asked rather too often."""
    if matcher in ("", "*"):
        return True
    if _PLAIN.fullmatch(matcher):
        known = {each.casefold() for each in names}
        return not {each.strip().casefold() for each in re.split("[|,]", matcher)}.isdisjoint(known)
    return any(re.search(matcher, each, re.IGNORECASE) for each in names)
