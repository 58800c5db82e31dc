"""`put_back`: roll back the changes of a failed block, to retry from the state before it.

Tree-of-Code (Ni et al. 2024, arXiv 2412.15305): a program that does not run is a dead end of a tree, and the
next one grows from its parent, not from its ruins.
"""

from __future__ import annotations

import asyncio

from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import join_names
from tools.core.workspace import Workspace


@tool(effect="write")
async def put_back(*, at: Workspace) -> Observation:
    """Take back the changes of the last block or command that failed; files that were changed since are left alone."""
    revert, at.revert_failed_command = at.revert_failed_command, None
    if revert is None:
        raise ToolFailure("put_back: no command that failed has changed anything")
    restored = await asyncio.to_thread(revert)
    why = join_names([f"{path}: {reason}" for path, reason in restored.clashes.items()], 5)
    paths = [change.path for change in restored.changes]
    if why and not paths:
        raise ToolFailure(f"put_back: nothing was taken back: {why}")
    left = f"; left alone: {why}" if why else ""
    return Observation(text=f"taken back: {join_names(paths, 20)}{left}", value=paths)
