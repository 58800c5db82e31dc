"""Diff of the changes that a call of an edit tool would make now, for a person who is asked about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.core.action import ToolFailure
from tools.core.text import format_unified_diff
from tools.core.workspace import Workspace
from tools.edit.apply.edit_plan import PlannedFile, PlanRefused
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import FileChange, MalformedEdit

Build = Callable[[Mapping[str, Any], Workspace], Sequence[FileChange]]
"""Makes the changes of a call from its validated arguments."""


def preview_changes(build: Build, arguments: Mapping[str, Any], at: Workspace) -> str:
    """Return a unified diff of a call's changes, without writing; its texts as they are if it cannot be planned."""
    try:
        planned = plan_changes(at.files, build(arguments, at), known=lambda path: True)
    except (
        PlanRefused,
        MalformedEdit,
        ToolFailure,
    ):  # the tool will say so, unless the file has changed by then
        return format_texts(arguments)
    changing = [each for each in planned if each.has_changes and not each.to]
    if any(set("\r\n") & set(each.path + each.source) for each in changing):
        return format_texts(arguments)  # such a name could end a header, and forge lines below it
    return "".join(map(_format_file, changing)) or format_texts(arguments)


def format_texts(arguments: Mapping[str, Any]) -> str:
    """Return the old and the new text of a call with a sign before each line; "" if it has neither."""
    parts = [arguments, *(each for each in _list_parts(arguments.get("edits")))]
    return "\n".join(row for part in parts for row in _format_text_pair(part))


def _list_parts(edits: object) -> list[Mapping[str, Any]]:
    """Return several replacements as arguments of one each."""
    listed = edits if isinstance(edits, list) else []
    return [{"old": getattr(each, "old", ""), "new": getattr(each, "new", "")} for each in listed]


def _format_text_pair(arguments: Mapping[str, Any]) -> list[str]:
    new = arguments.get("new", arguments.get("content", arguments.get("patch")))
    if not isinstance(new, str):
        return []
    old = str(arguments.get("old") or "")
    return [f"{sign} {line}" for sign, text in (("-", old), ("+", new)) if text for line in _split(text)]


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _format_file(planned: PlannedFile) -> str:
    """Return the diff of a file, with git's headers where more than its lines changes."""
    diff = format_unified_diff(planned.path, planned.old_text, planned.new_text, planned.source)
    notes = []
    if planned.source:
        notes = [f"rename from {planned.source}", f"rename to {planned.path}"]
    elif planned.before is None:
        notes = [f"new file mode {(planned.mode or 0o644) | 0o100000:o}"]
    elif planned.after is None:
        notes = ["deleted file mode 100644"]
    elif planned.mode is not None:
        notes = [f"new mode {planned.mode | 0o100000:o}"]
    if not notes:
        return diff
    head = f"diff --git a/{planned.source or planned.path} b/{planned.path}"
    return "\n".join([head, *notes, diff])
