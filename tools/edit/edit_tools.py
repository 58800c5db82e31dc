"""The edit tools offered to the model, all of them on the same edit engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.policy.effects import Effect
from tools.core.action import Observation, ToolFailure
from tools.core.path_resolution import resolve_existing_file, resolve_path, translate_path_errors
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.edit.edit_model import FileChange, Lines, MalformedEdit, Replace, Symbol, Update


@tool(effect="write")
async def edit(path: str, old: str, new: str, all: bool = False, *, at: Workspace) -> Observation:
    """Replace text in a file. `old` must mean exactly one place: give enough lines.

    all: replace every place
    """
    if not old:
        raise ToolFailure(_describe_empty_old(at, path))
    part = Part(old=old, new=new, all=all)
    return await _execute_changes(at, "edit", [Update(path=path, edits=(part.as_edit(),))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of several replacements in a file."""

    old: str
    new: str
    all: bool = False

    def as_edit(self) -> Replace:
        return Replace(old=_unify_newlines(self.old), new=_unify_newlines(self.new), all=self.all)


@tool(effect="write")
async def edit_several(path: str, edits: list[Part], *, at: Workspace) -> Observation:
    """Replace several texts in a file, one after the other: all or none."""
    # never offered, but called by models that know such a tool from elsewhere
    if not edits or not all(each.old for each in edits):
        raise ToolFailure(
            f"edit_several: {path}: no change: each of `edits` needs the text to replace in `old`"
        )
    change: FileChange = Update(path=path, edits=tuple(each.as_edit() for each in edits))
    return await _execute_changes(at, "edit_several", [change])


@tool(effect="write")
async def edit_symbol(path: str, symbol: str, new: str, *, at: Workspace) -> Observation:
    """Replace a whole function, method or class, e.g. "Cart.total", with new code."""
    change: FileChange = Update(path=path, edits=(Symbol(name=symbol, new=_unify_newlines(new)),))
    return await _execute_changes(at, "edit_symbol", [change])


@tool(effect="write")
async def edit_lines(path: str, first: int, last: int, new: str, *, at: Workspace) -> Observation:
    """Replace lines `first` to `last` (as `read` numbers them) of a file that was read."""
    relative = resolve_existing_file(at, "edit_lines", path)
    if relative not in at.read_versions:
        raise ToolFailure(
            f"edit_lines: {relative}: no change: read the file first, line numbers come from there"
        )
    change: FileChange = Update(
        path=relative, edits=(Lines(first=first, last=last, new=_unify_newlines(new)),)
    )
    return await _execute_changes(at, "edit_lines", [change])


def _compute_patch_effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    from tools.edit.formats import parse_edits

    try:
        changes = parse_edits(str(arguments.get("patch", "")))
    except MalformedEdit:  # the tool reports it; nothing will be written
        changes = []
    paths = [each.path for each in changes]
    paths += [each.to for each in changes if isinstance(each, Update) and each.to]
    return Effect(kind="write", paths=tuple(dict.fromkeys(paths)))


@tool(effect=_compute_patch_effect)
async def apply_patch(patch: str, *, at: Workspace) -> Observation:
    """Change several files at once, all or nothing. Lines without change tell the place.

    patch: *** Begin Patch … *** End Patch, a unified diff, or SEARCH/REPLACE blocks
    """
    return await _execute_changes(at, "apply_patch", await asyncio.to_thread(_parse_patch, patch))


async def _execute_changes(at: Workspace, tool: str, changes: list[FileChange]) -> Observation:
    """Run `execute_changes`, imported at the first edit rather than at session start."""
    from tools.edit.apply.execute import execute_changes

    return await execute_changes(at, tool, changes)


def _unify_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _parse_patch(patch: str) -> list[FileChange]:
    from tools.edit.formats import parse_edits

    try:
        return parse_edits(patch)
    except MalformedEdit as problem:
        raise ToolFailure(f"apply_patch: nothing was written: {problem}") from None


def _describe_empty_old(at: Workspace, path: str) -> str:
    relative = resolve_path(at, "edit", path)
    with translate_path_errors("edit", relative):
        exists = at.files.is_file(relative)
    if exists:
        return f"edit: {relative}: no change: `old` is empty: give the text to replace"
    return f"edit: no such file: {relative!r}. To create it: write(path={relative!r}, content=…)"
