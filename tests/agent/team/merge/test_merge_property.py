"""Random pairs of changes by two children: the merge is git's where git has one, else a conflict is told."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from agent.team.merge.merge_action import plan_merge
from sandbox.fs.transaction.transactions import Transactions
from tests.agent.team.merge.random_changes import change_tree, make_tree
from tests.support.cli import git
from tests.tools.workspaces import workspace
from tools.core.workspace import Workspace
from tools.edit.apply.change_writer import write_planned_files

SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261126"))
STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "0"))
PAIRS = 100 * STRESS or 10
"""1,000 with `make stress`, where STRESS is 10."""

GITS_OWN = ("-c", "merge.directoryRenames=conflict", "-c", "merge.renameLimit=7000")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_merge_is_gits_or_a_conflict_is_told(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    at = workspace(tmp_path)
    root, oracle = at.root, tmp_path / "oracle"
    git(root, "init", "-q")
    git(root, "config", "gc.auto", "0")
    git(root, "commit", "-q", "--allow-empty", "-m", "root")
    git(root, "worktree", "add", "-q", "--detach", str(oracle))
    seen: Counter[str] = Counter()
    for number in range(PAIRS):
        draw = random.Random(f"{SEED}/{number}")
        empty(root)
        make_tree(draw, root)
        base = commit(root)
        theirs = commit_change(draw, root, base)
        git(root, "reset", "-q", "--hard", base)
        change_tree(draw, root)
        before = read_tree(root)
        gits = merge_with_git(oracle, base, before, theirs)
        conflicts = merge(at, base, theirs)
        after = read_tree(root)
        case = f"pair {number} of seed {SEED}: {conflicts}"
        if conflicts:
            seen["conflict"] += 1
            assert after == before, f"{case}: half-written"
            assert gits is None, f"{case}: git merges it"
        else:
            seen["merged"] += 1
            assert gits is not None, f"{case}: git sees a conflict"
            assert after == gits, f"{case}: {git(root, 'diff', '--stat', gits, after)}"
    print(dict(seen))
    assert min(seen["conflict"], seen["merged"]) > PAIRS / 10


def merge(at: Workspace, base: str, theirs: str) -> list[str]:
    transactions: Transactions = at.transactions
    with transactions.lock_tree():
        plan, conflicts = plan_merge(at, base, theirs)
        if conflicts is not None:
            return [f"{each.path} ({each.kind}: {each.reason})" for each in conflicts.files]
        write_planned_files(at, transactions, "merge_changes", list(plan.files.values()))
    return []


def empty(root: Path) -> None:
    for path in root.iterdir():
        if path.name == ".git":
            continue
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def commit(root: Path) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "base")
    return git(root, "rev-parse", "HEAD").strip()


def commit_change(draw: random.Random, root: Path, base: str) -> str:
    change_tree(draw, root)
    return git(root, "commit-tree", "-p", base, "-m", "theirs", read_tree(root)).strip()


def read_tree(root: Path) -> str:
    git(root, "add", "-A")
    return git(root, "write-tree").strip()


def merge_with_git(oracle: Path, base: str, tree: str, theirs: str) -> str | None:
    """The tree of git's merge, None where it has conflicts."""
    ours = git(oracle, "commit-tree", "-p", base, "-m", "ours", tree).strip()
    git(oracle, "reset", "-q", "--hard", ours)
    options = ("merge", "-q", "--no-edit", "--no-ff", "-X", "diff-algorithm=myers", theirs)
    done = subprocess.run(["git", "-C", str(oracle), *GITS_OWN, *options], capture_output=True, check=False)
    if done.returncode:
        return None
    return git(oracle, "rev-parse", "HEAD^{tree}").strip()
