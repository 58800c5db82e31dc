"""Static facts about an attempt's patch: its size, and what it does to tests."""

from __future__ import annotations

from sandbox.lazy_dataclass import dataclass
from tools.git.git_change import read_committed_change
from tools.git.git_process import Git
from tools.git.worktrees import commit_patch
from tools.lint.test_files import is_test_file


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFacts:
    """files: changed ones, relative to the repository's root; lines: added and removed ones
    weakened_tests: how many; changes_tests: whether files with tests change"""

    files: tuple[str, ...] = ()
    lines: int = 0
    weakened_tests: int = 0
    changes_tests: bool = False


def inspect_patch(git: Git, base: str, patch: bytes, task: str = "") -> PatchFacts:
    """Return the facts about a patch to the commit `base`. Blocking. Raises GitFailed if it does not fit.

    task: what was asked for, which may excuse weakened tests
    """
    if not patch:
        return PatchFacts()
    from agent.prompt.excused_changes import read_request
    from tools.lint.honesty.scan import build_change_set, find_signs

    change = read_committed_change(git, base, commit_patch(git, base, patch))
    change.load_contents()
    signs = find_signs(build_change_set(change, request=read_request([task] if task else [])))
    return PatchFacts(
        files=tuple(file.path for file in change.files),
        lines=count_changed_lines(patch),
        weakened_tests=sum(each.severity == "error" for each in signs),
        changes_tests=any(is_test_file(file.path) for file in change.files),
    )


def count_changed_lines(patch: bytes) -> int:
    """Return how many lines a patch adds and removes; none for binary files. The names of files are no lines."""
    count, in_hunk = 0, False
    for line in patch.split(b"\n"):
        if line.startswith((b"diff --git ", b"@@ ")):  # lines of hunks begin with a sign
            in_hunk = line.startswith(b"@@ ")
        elif in_hunk:
            count += line[:1] in (b"+", b"-")
    return count
