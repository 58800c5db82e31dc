"""Static facts about an attempt's patch: its size, and what it does to tests."""

from __future__ import annotations

from dataclasses import dataclass

from tools.git.git_change import read_committed_change
from tools.git.git_process import Git
from tools.git.worktrees import commit_patch
from tools.lint.checks import weakened


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFacts:
    """lines: added and removed ones; weakened_tests: how many; changes_tests: whether files with tests change"""

    lines: int = 0
    weakened_tests: int = 0
    changes_tests: bool = False


def inspect_patch(git: Git, base: str, patch: bytes) -> PatchFacts:
    """Return the facts about a patch to the commit `base`. Blocking. Raises GitFailed if it does not fit."""
    if not patch:
        return PatchFacts()
    change = read_committed_change(git, base, commit_patch(git, base, patch))
    change.load_contents()
    return PatchFacts(
        lines=sum(line[:1] in (b"+", b"-") for line in patch.splitlines()),
        weakened_tests=len(list(weakened.check(change))),
        changes_tests=any(weakened.is_test_file(file.path) for file in change.files),
    )
