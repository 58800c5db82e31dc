"""The edit tools offered to the model, all of them on the same edit engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.effects import Effect
from tools.core.action import Observation, ToolFailure
from tools.core.path_resolution import resolve_existing_file, resolve_path, translate_path_errors
from tools.core.registry import Preview, tool
from tools.core.workspace import Workspace
from tools.edit.edit_model import FileChange, Lines, MalformedEdit, Replace, Symbol, Update


def _preview(build: Callable[[Mapping[str, Any], Workspace], Sequence[FileChange]]) -> Preview:
    """Return a preview of the changes that `build` makes of a call's arguments."""

    def preview(arguments: Mapping[str, Any], at: Workspace) -> str:
        from tools.edit.apply.change_preview import preview_changes

        return preview_changes(build, arguments, at)

    return preview


def _build_edit(given: Mapping[str, Any], at: Workspace) -> list[FileChange]:
    part = Part(old=given["old"], new=given["new"], all=given["all"])
    return [Update(path=given["path"], edits=(part.as_edit(),))]


@tool(effect="write", preview=_preview(_build_edit))
async def edit(path: str, old: str, new: str, all: bool = False, *, at: Workspace) -> Observation:
    """Replace text in a file. `old` must mean one place (give enough lines), or set `all`."""
    if not old:
        raise ToolFailure(_describe_empty_old(at, path))
    given = {"path": path, "old": old, "new": new, "all": all}
    return await _execute_changes(at, "edit", _build_edit(given, at))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of several replacements in a file."""

    old: str
    new: str
    all: bool = False

    def as_edit(self) -> Replace:
        return Replace(old=_unify_newlines(self.old), new=_unify_newlines(self.new), all=self.all)


def _build_several(given: Mapping[str, Any], at: Workspace) -> list[FileChange]:
    return [Update(path=given["path"], edits=tuple(each.as_edit() for each in given["edits"]))]


@tool(effect="write", preview=_preview(_build_several))
async def edit_several(path: str, edits: list[Part], *, at: Workspace) -> Observation:
    """Replace several texts in a file, one after the other: all or none."""
    # never offered, but called by models that know such a tool from elsewhere
    if not edits or not all(each.old for each in edits):
        raise ToolFailure(
            f"edit_several: {path}: no change: each of `edits` needs the text to replace in `old`"
        )
    return await _execute_changes(at, "edit_several", _build_several({"path": path, "edits": edits}, at))


def _build_symbol_edit(given: Mapping[str, Any], at: Workspace) -> list[FileChange]:
    return [
        Update(path=given["path"], edits=(Symbol(name=given["symbol"], new=_unify_newlines(given["new"])),))
    ]


@tool(effect="write", preview=_preview(_build_symbol_edit))
async def edit_symbol(path: str, symbol: str, new: str, *, at: Workspace) -> Observation:
    """Replace a whole function, method or class, e.g. "Cart.total", with new code."""
    given = {"path": path, "symbol": symbol, "new": new}
    return await _execute_changes(at, "edit_symbol", _build_symbol_edit(given, at))


def _build_lines_edit(given: Mapping[str, Any], at: Workspace) -> list[FileChange]:
    lines = Lines(first=given["first"], last=given["last"], new=_unify_newlines(given["new"]))
    return [Update(path=given["path"], edits=(lines,))]


@tool(effect="write", preview=_preview(_build_lines_edit))
async def edit_lines(path: str, first: int, last: int, new: str, *, at: Workspace) -> Observation:
    """Replace lines `first` to `last` (as `read` numbers them) of a file that was read."""
    relative = resolve_existing_file(at, "edit_lines", path)
    if relative not in at.read_versions:
        raise ToolFailure(
            f"edit_lines: {relative}: no change: read the file first, line numbers come from there"
        )
    given = {"path": path, "first": first, "last": last, "new": new}
    return await _execute_changes(at, "edit_lines", _build_lines_edit(given, at))


def _compute_patch_effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    from tools.edit.formats import parse_edits

    try:
        changes = parse_edits(str(arguments.get("patch", "")))
    except MalformedEdit:  # the tool reports it; nothing will be written
        changes = []
    paths = [each.path for each in changes]
    paths += [each.to for each in changes if isinstance(each, Update) and each.to]
    return Effect(kind="write", paths=tuple(dict.fromkeys(paths)))


def _build_patch(given: Mapping[str, Any], at: Workspace) -> list[FileChange]:
    return _parse_patch(given["patch"])


@tool(effect=_compute_patch_effect, preview=_preview(_build_patch))
async def apply_patch(patch: str, *, at: Workspace) -> Observation:
    """Change several files, all or nothing. Unchanged lines tell the place.

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
