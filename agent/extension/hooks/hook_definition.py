"""One hook, and the parser of files with hooks, in Claude Code's schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

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

KINDS: Mapping[str, str] = {"command": "command", "http": "url", "prompt": "prompt"}
"""Types of hooks, and the field that says what each runs."""

DEFAULT_TIMEOUT = 60.0
"""Seconds that a hook may take unless its file says otherwise; the session waits meanwhile."""

LONGEST_TIMEOUT = 600.0

HookKind = Literal["command", "http", "prompt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDefinition:
    """One hook.

    matcher: names of tools (or of what the event is about) that it is for, "" for all
    runs: command line, address, or prompt; condition: a tool with a pattern, `Bash(git push:*)`, "" for none
    is_async: nobody waits for it, and its answer does not count; is_strict: its failure forbids the action
    source: path of its file; is_project: whether it comes with the project, or from a plugin
    plugin: name of the plugin that it belongs to, "" for none
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

    @property
    def label(self) -> str:
        """Its event and matcher, for lists."""
        return f"{self.event} {self.matcher}".rstrip()

    def matches(self, names: Sequence[str], arguments: Mapping[str, object]) -> bool:
        """Return whether it is for one of these names, and its condition for these arguments of a tool."""
        if not matches_name(self.matcher, names):
            return False
        if not self.condition:
            return True
        match = _CONDITION.fullmatch(self.condition)
        if match is None or match[1] not in names:
            return False
        # Rather once too often than not at all: the words may be a part of a longer command line.
        words = (match[2] or "").removesuffix("*").rstrip(": ")
        return not words or words in " ".join(map(str, arguments.values()))


_CONDITION = re.compile(r"([A-Za-z_][\w-]*)(?:\((.*)\))?", re.DOTALL)
_PLAIN = re.compile(r"[\w|-]+")


def matches_name(matcher: str, names: Sequence[str]) -> bool:
    """Return whether a matcher fits one of the names: names with | between them, or a regular expression."""
    if matcher in ("", "*"):
        return True
    if _PLAIN.fullmatch(matcher):
        return not set(matcher.split("|")).isdisjoint(names)
    return any(re.search(matcher, each) for each in names)


def parse_hooks(
    content: Mapping[str, Any], source: str, notices: list[str], *, is_project: bool, plugin: str = ""
) -> Iterator[HookDefinition]:
    """Yield the hooks of a file's content. What cannot be used is told in notices, a line each."""
    table = content.get("hooks")
    if table is None or content.get("disableAllHooks") is True:
        return
    if not isinstance(table, dict):
        notices.append(f"{source}: `hooks` is no table of events")
        return
    for event, groups in table.items():
        if event not in EVENTS:
            notices.append(f"{source}: hooks of {event!r} are not used: there is no such event here")
            continue
        for group in groups if isinstance(groups, list) else ():
            for each in _list_entries(group):
                try:
                    hook = _parse_hook(event, str(group.get("matcher") or ""), each, source, is_project)
                    yield replace(hook, plugin=plugin) if plugin else hook
                except ValueError as error:
                    notices.append(f"{source}: a hook of {event} is not used: {error}")


def _list_entries(group: object) -> list[Any]:
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def _parse_hook(event: str, matcher: str, entry: object, source: str, is_project: bool) -> HookDefinition:
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} is no table")
    kind = entry.get("type", "command")
    if kind not in KINDS:
        raise ValueError(f"its type {kind!r} is none of {', '.join(KINDS)}")
    runs = entry.get(KINDS[kind])
    if not isinstance(runs, str) or not runs.strip():
        raise ValueError(f"it has no `{KINDS[kind]}`")
    timeout = entry.get("timeout", DEFAULT_TIMEOUT)
    if not isinstance(timeout, int | float) or timeout <= 0:
        raise ValueError(f"its timeout {timeout!r} is no number of seconds")
    try:
        re.compile(matcher if matcher != "*" else "")
    except re.error as error:
        raise ValueError(f"its matcher {matcher!r} is no regular expression: {error}") from None
    headers = entry.get("headers")
    return HookDefinition(
        event=event,
        kind=kind,
        runs=runs.strip(),
        matcher=matcher,
        timeout=min(float(timeout), LONGEST_TIMEOUT),
        condition=str(entry.get("if") or ""),
        is_async=entry.get("async") is True or entry.get("asyncRewake") is True,
        is_strict=entry.get("onFailure") == "block",
        headers={str(key): str(each) for key, each in headers.items()} if isinstance(headers, dict) else {},
        source=source,
        is_project=is_project,
    )
