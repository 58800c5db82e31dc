"""Actions as tool calls of the protocol: kind, title, places, and changes as old and new text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp.helpers import ToolCallContentVariant, text_block, tool_content, tool_diff_content
from acp.schema import ToolCallLocation, ToolKind

from cli.output.diff.diff_parser import DiffLine, parse_diff
from cli.output.lines.action_descriptions import describe_target
from sandbox.sanitize import sanitize_text

LONGEST_TITLE = 200
MOST_LOCATIONS = 20

KINDS: Mapping[str, ToolKind] = {
    "read": "read",
    "list": "read",
    "recall": "read",
    "skill": "read",
    "git_diff": "read",
    "git_log": "read",
    "git_show": "read",
    "git_blame": "read",
    "search": "search",
    "code": "search",
    "localize": "search",
    "why_failing": "search",
    "edit": "edit",
    "write": "edit",
    "edit_symbol": "edit",
    "edit_lines": "edit",
    "edit_several": "edit",
    "apply_patch": "edit",
    "bring_back": "edit",
    "merge_changes": "edit",
    "set_file": "edit",
    "rename": "edit",
    "shell": "execute",
    "process": "execute",
    "python": "execute",
    "run_tests": "execute",
    "check_tests": "execute",
    "check_step": "execute",
    "git_commit": "execute",
    "git_bisect": "execute",
    "repair": "execute",
    "delegate": "think",
    "web_fetch": "fetch",
    "web_search": "fetch",
}
"""Kind of each tool; others are "other"."""

_BY_EFFECT: Mapping[str, ToolKind] = {
    "read": "read",
    "write": "edit",
    "execute": "execute",
    "network": "fetch",
}

UNSHOWN = frozenset({"plan", "finish", "propose"})
"""Tools that are shown as a plan, or as the answer."""

_TITLED_BY_TARGET = frozenset({"shell"})
"""Tools whose target says it all: a command line."""


def choose_kind(tool: str, effect: str = "") -> ToolKind:
    """Return the kind of an action, by its tool, else by its effect."""
    return KINDS.get(tool) or _BY_EFFECT.get(effect, "other")


def format_title(tool: str, arguments: Mapping[str, object] | None, paths: tuple[str, ...] = ()) -> str:
    """Return an action on one line."""
    target = describe_target(tool, arguments) if arguments else " ".join(paths)
    target = sanitize_text(target).replace("\n", " ").strip()
    title = target if target and tool in _TITLED_BY_TARGET else f"{sanitize_text(tool)} {target}".strip()
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def list_locations(
    root: Path, arguments: Mapping[str, object], paths: tuple[str, ...] = ()
) -> list[ToolCallLocation]:
    """Return the files of an action, absolute, so that a client can follow it; those named in its arguments first."""
    named = arguments.get("path")
    start = arguments.get("start")
    line = start if isinstance(start, int) and not isinstance(start, bool) and start > 1 else None
    found = {str(root / named): line} if isinstance(named, str) and named else {}
    for each in paths[:MOST_LOCATIONS]:
        found.setdefault(str(root / each), None)
    return [ToolCallLocation(path=path, line=at) for path, at in found.items()]


def propose_changes(root: Path, arguments: Mapping[str, Any]) -> list[ToolCallContentVariant]:
    """Return the change that an action's arguments describe, before it is made; [] if they describe none."""
    path, new = arguments.get("path"), arguments.get("new", arguments.get("content"))
    if not isinstance(path, str) or not path or not isinstance(new, str):
        return []
    old = arguments.get("old")
    return [tool_diff_content(str(root / path), new, old if isinstance(old, str) else None)]


def split_diff(root: Path, diff: str) -> Iterator[ToolCallContentVariant]:
    """Yield the hunks of a unified diff of one or several files, each as its old and its new text."""
    for file in parse_diff(diff):
        for hunk in file.hunks if file.path else ():
            old, new = (_join_lines(hunk.lines, other) for other in "+-")
            yield tool_diff_content(str(root / file.path), new, old if file.old or old else None)


def _join_lines(lines: Sequence[DiffLine], other: str) -> str:
    """Return one side of a hunk. other: the sign of the other side's lines"""
    parts: list[str] = []
    for line, after in itertools.zip_longest(lines, lines[1:]):
        if line.sign not in (other, "\\"):
            parts.append(line.text if after is not None and after.sign == "\\" else f"{line.text}\n")
    return "".join(parts)


def format_output(text: str) -> list[ToolCallContentVariant]:
    """Return the output of a command as a block of code, which clients show as a terminal's."""
    shown = sanitize_text(text).rstrip("\n")
    longest = max(map(len, re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return [tool_content(text_block(f"{fence}console\n{shown}\n{fence}"))]


def format_text(text: str) -> list[ToolCallContentVariant]:
    """Return the text of a result."""
    return [tool_content(text_block(sanitize_text(text)))] if text.strip() else []
