"""What a hook is told on its standard input: Claude Code's fields, tools under its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.policy.decision import Approval, Mode
from tools.core.tool_names import FOREIGN_TOOLS, ForeignTool, list_foreign_names, rename_inputs

_INPUTS = frozenset(
    {
        *("file_path", "offset", "old_string", "new_string", "replace_all"),
        *("prompt", "subagent_type", "run_in_background", "skill"),
    }
)
"""Inputs under Claude Code's own names; the table of tools has those of other agents, too."""


def find_tool_names(tool: str) -> tuple[str, ...]:
    """Return the names of a tool for hooks (`Bash`), then ours: matchers may use any, also an earlier one."""
    return tuple(dict.fromkeys((*list_foreign_names(tool), tool)))


def translate_arguments(
    tool: str, arguments: Mapping[str, Any], root: Path, paths: Sequence[str]
) -> dict[str, Any]:
    """Return a tool's arguments as its input in Claude Code. paths: files that it touches"""
    row = _find_row(tool)
    theirs: dict[str, str] = {}
    for foreign, own in (row.inputs if row is not None else {}).items():
        if foreign in _INPUTS:
            theirs.setdefault(own, foreign)
    found = {theirs.get(name, name): value for name, value in arguments.items()}
    if row is not None and row.scope in ("read", "edit") and "file_path" in theirs.values():
        if "file_path" not in found and paths:  # a patch names its files inside
            found["file_path"] = paths[0]
        if isinstance(found.get("file_path"), str):
            found["file_path"] = str(root / found["file_path"])
    return found


def restore_arguments(
    tool: str, original: Mapping[str, Any], updated: Mapping[str, Any], root: Path
) -> dict[str, Any]:
    """Return the arguments of our tool for an input that a hook changed; what it does not name stays."""
    row = _find_row(tool)
    renamed = rename_inputs(row.names[0], updated) if row is not None else dict(updated)
    path = renamed.get("path")
    if isinstance(path, str) and Path(path).is_absolute() and Path(path).is_relative_to(root):
        renamed["path"] = str(Path(path).relative_to(root))
    if "path" not in original:
        renamed.pop("path", None)
    return {**original, **renamed}


def name_permission_mode(mode: Mode, approval: Approval) -> str:
    """Return the mode of a session under Claude Code's name."""
    if mode is Mode.READ_ONLY:
        return "plan"
    if mode is Mode.FULL:
        return "bypassPermissions"
    return {Approval.ASK: "default", Approval.AUTO: "acceptEdits", Approval.NEVER: "dontAsk"}[approval]


def _find_row(tool: str) -> ForeignTool | None:
    return next((each for each in FOREIGN_TOOLS if tool in each.ours), None)
