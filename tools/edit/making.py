"""What every edit tool does at last: make the changes, and tell the model what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from tools.action import Observation
from tools.edit.change import Change, perform
from tools.edit.changes import FileChange
from tools.edit.observation import observed
from tools.workspace import Workspace

MAX_LINTED = 3
"""Files of a call that are linted: each takes a tenth of a second or more, and a sweep over many is for the tests."""


async def made(at: Workspace, tool: str, changes: Sequence[FileChange]) -> Observation:
    """Make all of the changes or none. Raises ToolFailure, in words for the model."""
    done = await asyncio.to_thread(perform, at, tool, changes)
    return await advised(at, observed(tool, done), done)


async def advised(at: Workspace, observation: Observation, changes: Sequence[Change]) -> Observation:
    """The observation with what the project's own linter newly says of the changed lines."""
    if not at.settings.lint:
        return observation
    from tools.edit.lint import complaints

    notes: list[str] = []
    written = [each.planned for each in changes if each.planned.changes and each.planned.after is not None]
    for planned in written[:MAX_LINTED]:
        notes += await complaints(at, planned.path, planned.old_text, planned.new_text)
    if not notes:
        return observation
    return replace(observation, text="\n".join([observation.text, "new for the linter:", *notes]))
