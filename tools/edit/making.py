"""What every edit tool does at last: make the changes, and tell the model what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from tools.action import Observation
from tools.edit.change import Change, perform
from tools.edit.changes import FileChange
from tools.edit.observation import observed
from tools.edit.planned import Planned
from tools.workspace import Workspace

MAX_LINTED = 3
"""Files of a call that are linted: each takes a tenth of a second or more, and a sweep over many is for the tests."""


async def made(at: Workspace, tool: str, changes: Sequence[FileChange]) -> Observation:
    """Make all of the changes or none. Raises ToolFailure, in words for the model."""
    done = await asyncio.to_thread(perform, at, tool, changes)
    return await advised(at, observed(tool, done), done)


async def advised(at: Workspace, observation: Observation, changes: Sequence[Change]) -> Observation:
    """The observation with what the project's own linter, and a language server, newly say of the changes."""
    written = [each.planned for each in changes if each.planned.changes and each.planned.after is not None]
    notes = await _linted(at, written[:MAX_LINTED]) if at.settings.lint else []
    if at.servers is not None:
        from tools.lsp.diagnosing import problems

        found: list[str] = []
        for planned in written[:MAX_LINTED]:
            found += await problems(at, planned.path, planned.old_text, planned.new_text)
        notes += ["new for the language server:", *found] if found else []
    return replace(observation, text="\n".join([observation.text, *notes])) if notes else observation


async def _linted(at: Workspace, written: Sequence[Planned]) -> list[str]:
    from tools.edit.lint import complaints

    notes: list[str] = []
    for planned in written:
        notes += await complaints(at, planned.path, planned.old_text, planned.new_text)
    return ["new for the linter:", *notes] if notes else []
