"""Edits of the fields of a manifest by which commits run programs: they reach beyond the workspace, as hooks do."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.fs.regular_file import MANIFEST
from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.guards.hook_fields import is_manifest, read_hook_fields
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.effects import Effect

if TYPE_CHECKING:
    from tools.core.registry import Tool
    from tools.core.workspace import Workspace

_HUNK = compile_lazily(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def mark_hook_fields(effect: Effect, tool: Tool, arguments: Mapping[str, Any], at: Workspace) -> Effect:
    """Mark an edit of such fields as outside. arguments: of the tool, not validated"""
    found = [path for path in effect.paths if is_manifest(path)]
    if not found or tool.preview is None:
        return effect
    diff = tool.preview(tool.validate(arguments), at)
    changed = dict.fromkeys(name for path in found for name in _list_changed_fields(at.root, path, diff))
    if not changed:
        return effect
    reason = f"commit hooks run what {', '.join(changed)} says"
    return replace(effect, outside=True, reason=reason)


def _list_changed_fields(root: Path, path: str, diff: str) -> Iterator[str]:
    before = read_workspace_text(root, path, MANIFEST, "surrogateescape")
    after = _apply_diff(before, path, diff)
    if after is None:
        return
    old = read_hook_fields(path, before.encode("utf-8", "surrogateescape"))
    new = read_hook_fields(path, after.encode("utf-8", "surrogateescape"))
    for key in dict.fromkeys((*old, *new)):
        if old.get(key) != new.get(key):
            yield f"{path} ({key})" if key else path


def _apply_diff(before: str, path: str, diff: str) -> str | None:
    """Return a file as a diff leaves it; None if the diff is not about it."""
    section = _find_section(path, diff)
    if section is None:
        return None
    old = _split_lines(before.replace("\r\n", "\n").replace("\r", "\n"))
    new: list[str] = []
    place = 0
    for line in section:
        if match := _HUNK.match(line):
            first = int(match[1]) - (match[2] != "0")
            new += old[place:first]
            place = first
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-"):
            place += 1
        elif line.startswith(" "):
            new += old[place : place + 1]
            place += 1
    return "".join((*new, *old[place:]))


def _find_section(path: str, diff: str) -> list[str] | None:
    """Return the hunks of one file, from the first on."""
    lines = _split_lines(diff)
    heads = [at for at in range(len(lines) - 1) if lines[at][:4] == "--- " and lines[at + 1][:4] == "+++ "]
    for number, at in enumerate(heads):
        if lines[at + 1] == f"+++ b/{path}\n":
            return lines[at + 2 : heads[number + 1] if number + 1 < len(heads) else None]
    return None


def _split_lines(text: str) -> list[str]:
    """Return the lines with their ends, as diffs have them: no other character than a newline ends one."""
    return list(io.StringIO(text, newline="\n"))
