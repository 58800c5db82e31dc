"""`bring_back`: apply the patch of an attempt, made in a separate worktree, to the user's work tree."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.fs.regular_file import SOURCE, read_regular_file
from tools.core.action import Effect, Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import format_count, join_names
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.git_process import Git, GitFailed
from tools.git.worktrees import apply_patch, is_applied


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    return Effect(kind="write", paths=tuple(_list_patched_paths(at, str(arguments["patch"]))))


@tool(effect=_effect)
async def bring_back(patch: str, *, at: Workspace) -> Observation:
    """Apply the patch of an attempt to the work tree: wholly, or not at all.

    patch: reference of the artifact that holds it
    """
    return await asyncio.to_thread(_apply_attempt, at, patch)


def _apply_attempt(at: Workspace, ref: str) -> Observation:
    paths = _list_patched_paths(at, ref)
    if not paths:
        raise ToolFailure(f"bring_back: there is no patch {ref!r}")
    noted = [path for path in paths if path not in at.changes]
    for path in noted:
        at.changes.remember_content(at.root, path, _read_content(at.root / path))
    at.changes.action_writes = {}
    try:
        apply_patch(_open_git(at), _read_patch(at, ref))
    except GitFailed as error:
        if is_applied(_open_git(at), _read_patch(at, ref)):  # by an action that a kill interrupted
            return _build_observation(ref, paths)
        for path in noted:
            at.changes.forget(path)
        kept = at.artifacts.find_file(ref)
        raise ToolFailure(
            f"bring_back: nothing was changed, since what stands here is no longer what the attempt began with: "
            f"{error}\nThe patch is kept: git apply --3way {kept}"
        ) from None
    at.changes.action_writes = {path: _read_content(at.root / path) for path in paths}
    return _build_observation(ref, paths)


def _build_observation(ref: str, paths: list[str]) -> Observation:
    text = f"{format_count(len(paths), 'file')} changed: {join_names(paths, 20)}"
    return Observation(text=text, data={"changed": paths, "patch": ref})


def _open_git(at: Workspace) -> Git:
    """Open git with the user's settings, without the filters of an untrusted repository."""
    broker = Broker.from_path(at.root, at.trusts)
    return Git(at.root, alone=True, extra=broker.replacement_environment, own_filters=True)


def _read_patch(at: Workspace, ref: str) -> bytes:
    path = at.artifacts.find_file(ref)
    return path.read_bytes() if path is not None and path.is_file() else b""


def _list_patched_paths(at: Workspace, ref: str) -> list[str]:
    """Return the files that a patch changes. It contains no renames: it was made without rename detection."""
    patch = _read_patch(at, ref)
    if not patch:
        return []
    fields = _open_git(at).run("apply", "--numstat", "-z", "-", stdin=patch).split(b"\0")
    return [os.fsdecode(field.split(b"\t", 2)[2]) for field in fields if field]


def _read_content(path: Path) -> bytes | None:
    """Return a file's content, a link's target; None if there is no file."""
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return read_regular_file(path, SOURCE)
