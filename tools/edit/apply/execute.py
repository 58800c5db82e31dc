"""Apply the edits and build the observation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.core.action import Observation
from tools.core.workspace import Workspace
from tools.edit.apply.change_writer import AppliedChange, apply_changes
from tools.edit.apply.edit_observation import build_observation
from tools.edit.apply.edit_plan import PlannedFile
from tools.edit.edit_model import FileChange

if TYPE_CHECKING:
    from tools.code.lsp.session_servers import Servers

MAX_LINTED = 3
"""Files of a call that are linted: each takes a tenth of a second or more; larger sweeps are left to the
tests.
"""


async def execute_changes(at: Workspace, tool: str, changes: Sequence[FileChange]) -> Observation:
    """Apply all changes or none. Raises ToolFailure, worded for the model."""
    done = await asyncio.to_thread(apply_changes, at, tool, changes)
    return await add_diagnostics(at, build_observation(tool, done), done)


async def add_diagnostics(
    at: Workspace, observation: Observation, changes: Sequence[AppliedChange]
) -> Observation:
    """Return the observation with new diagnostics of the project's linter and of a language server."""
    written = [
        each.planned for each in changes if each.planned.has_changes and each.planned.after is not None
    ]
    notes = await _collect_lint_notes(at, written[:MAX_LINTED]) if at.settings.edit.lint else []
    if at.servers is not None:
        notes += await _describe_new_diagnostics(at, at.servers, [each.planned for each in changes])
    return replace(observation, text="\n".join([observation.text, *notes])) if notes else observation


async def _describe_new_diagnostics(
    at: Workspace, servers: Servers, planned: Sequence[PlannedFile]
) -> list[str]:
    from tools.code.lsp.diagnostics import describe_new_diagnostics
    from tools.code.lsp.language_server import ChangedText

    changed = [
        ChangedText(path=each.path, before=each.old_text, after=None if each.after is None else each.new_text)
        for each in planned
        if each.has_changes and each.place == "target"
    ]
    return await describe_new_diagnostics(at, servers, changed)


async def _collect_lint_notes(at: Workspace, written: Sequence[PlannedFile]) -> list[str]:
    from tools.edit.apply.lint_feedback import find_new_complaints

    notes: list[str] = []
    for planned in written:
        notes += await find_new_complaints(at, planned.path, planned.old_text, planned.new_text)
    return ["new for the linter:", *notes] if notes else []
