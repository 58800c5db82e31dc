"""`merge_changes`: the action by which a child's changes come into the parent's files: all of them, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agent.team.merge.merge_plan import MergePlan, MergePlanner
from agent.team.merge.merge_result import Conflicts
from agent.team.merge.tree_changes import read_tree_changes
from tools.core.action import Effect, Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import format_count, join_names
from tools.core.workspace import Workspace
from tools.edit.apply.change_writer import write_planned_files
from tools.git.broker import Broker
from tools.git.git_process import Git, GitFailed
from tools.git.worktrees import commit_work_tree

MOST_NAMED = 20
"""Paths that an observation names."""


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    base, theirs = str(arguments["base"]), str(arguments["theirs"])
    return Effect(kind="write", paths=tuple(sorted(read_tree_changes(open_git(at), base, theirs).entries)))


@tool(effect=_effect)
async def merge_changes(base: str, theirs: str, *, at: Workspace) -> Observation:
    """Merge the changes between two commits into the files of the workspace: all of them, or none.

    base: commit that the changes were made from
    theirs: commit with the changes
    """
    return await asyncio.to_thread(_merge, at, base, theirs)


def plan_merge(at: Workspace, base: str, theirs: str) -> tuple[MergePlan, Conflicts | None]:
    """Plan a merge into the present files, and return its conflicts, if there are any. Blocking; raises GitFailed."""
    git = open_git(at)
    ours = commit_work_tree(git)
    plan = MergePlanner(git, at.files, base=base, ours=ours, theirs=theirs).plan()
    if not plan.conflicts:
        return plan, None
    return plan, Conflicts(files=plan.conflicts, base=base, ours=ours, theirs=theirs)


def open_git(at: Workspace) -> Git:
    """Open git with the user's settings, without the filters of an untrusted repository."""
    broker = Broker.from_path(at.root, at.trusts)
    return Git(at.root, alone=True, extra=broker.replacement_environment, own_filters=True)


def _merge(at: Workspace, base: str, theirs: str) -> Observation:
    transactions = at.transactions
    with transactions.lock_tree():
        try:
            plan, conflicts = plan_merge(at, base, theirs)
        except GitFailed as error:
            raise ToolFailure(f"merge_changes: nothing was changed: {error}") from None
        if conflicts is not None:
            names = join_names([each.path for each in conflicts.files], MOST_NAMED)
            raise ToolFailure(f"merge_changes: nothing was changed, since both sides changed {names}")
        write_planned_files(at, transactions, "merge_changes", list(plan.files.values()))
    paths = sorted(plan.files)
    told = (
        f"{format_count(len(paths), 'file')} merged: {join_names(paths, MOST_NAMED)}"
        if paths
        else "no change"
    )
    return Observation(text=told, data={"changed": paths, "base": base, "theirs": theirs})
