"""The model that a repair may ask to fill gaps: on this machine, since project files are sent unredacted."""

from __future__ import annotations

from agent.model.infill.filler import find_filler, is_local
from tools.core.workspace import Workspace

FILLER = "filler of gaps"
"""Fact of a workspace: the `Filler` that a repair may ask, where there is one."""


async def has_filler(at: Workspace, model: object) -> bool:
    """Return whether the model fills gaps, and let the repairs of the workspace ask it; found out once a session."""
    if FILLER not in at.facts:
        found = find_filler(model) if is_local(model) else None
        at.facts[FILLER] = found if found is not None and await found.probe() else None
    return at.facts[FILLER] is not None
