"""Actions as tool calls of the protocol: kind, title, places, and changes as old and new text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acp.helpers import ToolCallContentVariant, text_block, tool_content, tool_diff_content
from acp.schema import ToolCallLocation, ToolKind

from cli.output.lines.action_descriptions import describe_target
from sandbox.lazy_pattern import compile_lazily
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

_HUNK = compile_lazily(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


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
    path, is_new = "", False
    lines = diff.splitlines(keepends=True)
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("--- "):
            is_new, path = line.startswith("--- /dev/null"), _read_name(line)
        elif line.startswith("+++ "):
            path = path if line.startswith("+++ /dev/null") else _read_name(line)
        elif match := _HUNK.match(line):
            left, right = (int(match[n]) if match[n] is not None else 1 for n in (2, 4))
            old, new, at = _read_hunk(lines, at, left, right)
            if path:
                yield tool_diff_content(str(root / path), new, None if is_new and not old else old)


def _read_hunk(lines: list[str], at: int, left: int, right: int) -> tuple[str, str, int]:
    """Return the old and the new text of a hunk, and the line behind it. left, right: lines that it still has"""
    old: list[str] = []
    new: list[str] = []
    while at < len(lines) and (left > 0 or right > 0 or lines[at].startswith("\\")):
        line = lines[at]
        at += 1
        if line.startswith("\\"):  # no newline at the end of the file
            mark = lines[at - 2][0]
            for part in (old,) if mark == "-" else (new,) if mark == "+" else (old, new):
                part[-1] = part[-1].removesuffix("\n")
            continue
        if line[0] in " -":
            old.append(line[1:])
            left -= 1
        if line[0] in " +":
            new.append(line[1:])
            right -= 1
    return "".join(old), "".join(new), at


def _read_name(line: str) -> str:
    name = line[4:].rstrip("\n").partition("\t")[0]
    return name[2:] if name[:2] in ("a/", "b/") else name


def format_output(text: str) -> list[ToolCallContentVariant]:
    """Return the output of a command as a block of code, which clients show as a terminal's."""
    shown = sanitize_text(text).rstrip("\n")
    longest = max(map(len, re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return [tool_content(text_block(f"{fence}console\n{shown}\n{fence}"))]


def format_text(text: str) -> list[ToolCallContentVariant]:
    """Return the text of a result."""
    return [tool_content(text_block(sanitize_text(text)))] if text.strip() else []
