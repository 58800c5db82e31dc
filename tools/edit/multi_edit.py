"""Several replacements in one file: never offered, but called by models that know such a tool from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.edit.edit_model import Replace, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the replacements."""

    old: str
    new: str
    all: bool = False


@tool(effect="write")
async def edit_several(path: str, edits: list[Part], *, at: Workspace) -> Observation:
    """Replace several texts in a file, one after the other: all or none."""
    if not edits or not all(each.old for each in edits):
        raise ToolFailure(
            f"edit_several: {path}: no change: each of `edits` needs the text to replace in `old`"
        )
    parts = tuple(
        Replace(old=each.old.replace("\r\n", "\n"), new=each.new.replace("\r\n", "\n"), all=each.all)
        for each in edits
    )
    from tools.edit.apply.execute import execute_changes

    return await execute_changes(at, "edit_several", [Update(path=path, edits=parts)])
