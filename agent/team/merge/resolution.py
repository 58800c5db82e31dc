"""Resolution of conflicts by a child: the parent's changes come into its worktree, with marks where both changed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from agent.team.merge.merge_plan import MergePlanner
from agent.team.merge.merge_result import Conflicts, MergeConflict
from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.three_way_merge import mark_conflicts
from sandbox.fs.transaction.transactions import Transactions, Write
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from tools.edit.apply.edit_plan import build_writes
from tools.git.git_process import Git
from tools.git.worktrees import commit_entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Files of a child's worktree that are to be solved.

    marked: those with marks
    base: commit from which the next merge begins. It has the parent's present files, but for the conflicts without
        marks: there it has what both began with, so that they stay conflicts until the sides agree
    """

    marked: list[str]
    base: str


def write_resolution(git: Git, folder: Path, conflicts: Conflicts) -> Resolution:
    """Merge the parent's changes into the files of a child's worktree. Blocking.

    What has no marks (a deletion, a binary file) stays as the child has it. git: in the parent's repository
    """
    tree = Tree(folder)
    # The sides change places: here the child's files are those that stand on disk.
    plan = MergePlanner(git, tree, base=conflicts.base, ours=conflicts.theirs, theirs=conflicts.ours).plan()
    refused = {each.path for each in plan.conflicts}
    clean = [file for path, file in plan.files.items() if path not in refused]
    marked = list(_mark_files(plan.conflicts))
    with tempfile.TemporaryDirectory(prefix="patchwright-merge-") as journal:
        transactions = Transactions(tree, Path(journal, "journal"))
        with transactions.lock_tree():
            transactions.commit([*build_writes(clean), *marked])
    paths = [each.path for each in marked]
    unmarked = [each for each in plan.conflicts if each.ours is None or each.ours.path not in paths]
    sides = (
        side.path for each in unmarked for side in (each.base, each.ours, each.theirs) if side is not None
    )
    unsolved = sorted({*sides, *(each.path for each in unmarked)})
    base = commit_entries(git, conflicts.ours, conflicts.base, unsolved) if unsolved else conflicts.ours
    return Resolution(marked=paths, base=base)


def _mark_files(conflicts: list[MergeConflict]) -> Iterator[Write]:
    for each in conflicts:
        if each.kind not in ("lines", "added") or each.ours is None or each.theirs is None:
            continue
        base = each.base.content if each.base is not None else b""
        content = mark_conflicts(base, each.ours.content, each.theirs.content, ("yours", "others"))
        if content is not None:
            before = compute_fingerprint(each.ours.content)
            yield Write(path=each.ours.path, content=content, before=before, place="entry")
