"""pre-push: run the tests affected by the pushed commits on those commits; optionally attempt a repair."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.hooks.contract import FOUND, LATE, OK, get_hook_folder
from cli.own_command import find_own_command
from sandbox.helpers.git_runner import strip_git_variables
from sandbox.process.bounded_end import run_loop
from tools.git.git_process import Git, GitFailed
from tools.git.worktrees import Worktree, temporary_worktree

if TYPE_CHECKING:
    from tools.testing.report import TestReport

FIX = "--fix"
"""Option before git's arguments: repair failures, as a commit on a branch of its own. `--fix=MODEL` names the model."""

TIMEOUT = 540.0
"""Seconds for the tests, less than the hook's own limit."""


def run_pre_push(arguments: Sequence[str]) -> int:
    """Return 1 if tests fail at a pushed commit. Deleted branches and commits without changes are not tested."""
    fix = next((each for each in arguments if each.split("=")[0] == FIX), "")
    git = Git.from_folder(get_hook_folder())
    code = OK
    for commit, known in _parse_pushed_commits(git, sys.stdin.read(), list(arguments)):
        code = max(code, _test_commit(git, commit, known, fix))
    return code


def _parse_pushed_commits(git: Git, lines: str, arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return (commit, the remote's commit) of each pushed branch."""
    remote = next((each for each in arguments if not each.startswith("--")), "")
    found: dict[str, str] = {}
    for line in lines.splitlines():
        _, commit, name, known = line.split(" ")
        if not commit.strip("0") or name.startswith("refs/tags/"):
            continue
        if not known.strip("0") or not _has_commit(git, known):
            known = _find_common_commit(git, commit, remote)
        found.setdefault(commit, known)
    return list(found.items())


def _has_commit(git: Git, commit: str) -> bool:
    return bool(git.run_text("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", ok=(0, 1, 128)))


def _find_common_commit(git: Git, commit: str, remote: str) -> str:
    """Return the merge base of a new branch and the remote's known branches; "" if there is none."""
    names = git.run_text("for-each-ref", "--format=%(objectname)", f"refs/remotes/{remote}").split()
    if not names:
        return ""
    return git.run_text("merge-base", commit, *names, ok=(0, 1))


def _test_commit(git: Git, commit: str, known: str, fix: str) -> int:

    from agent.app_dirs import Home
    from tools.git.git_change import read_committed_change
    from tools.testing.affected_tests import find_affected_tests

    changed = [each.path for each in read_committed_change(git, known, commit).files]
    if not changed:
        return OK
    names = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split(b"\0")
    files = [os.fsdecode(name) for name in names if name]
    with temporary_worktree(git, commit, Home.from_environment().cache / "worktrees") as place:
        tests = find_affected_tests(place.folder, files, changed)
        if tests == []:
            return OK
        _print_message(f"pre-push: {commit[:10]}: running {_format_test_count(tests)}")
        report = _run_tests(place.folder, tests or [])
        if report.outcome == "passed":
            return OK
        if report.outcome in ("no-runner", "no-tests", "unverified"):
            _print_message(f"pre-push: {report.note or 'no test was found'}: nothing was checked")
            return OK
        _print_message(
            f"pre-push: not pushed:\n{report.format_text()}\n  Push all the same: git push --no-verify"
        )
        if fix and report.outcome == "failed":
            _attempt_repair(git, place, fix.partition("=")[2] or "offline")
    return LATE if report.outcome == "timeout" else FOUND


def _run_tests(root: Path, tests: Sequence[str]) -> TestReport:
    """Run tests in the sandbox, as a session would."""
    from cli.commands.setup.test_workspace import open_test_workspace
    from tools.testing import run

    with tempfile.TemporaryDirectory(prefix="patchwright-push-") as scratch:
        return run_loop(run(open_test_workspace(root, Path(scratch), timeout=TIMEOUT), tests))


def _attempt_repair(git: Git, place: Worktree, model: str) -> None:
    """Start a session to repair the commit in its worktree; its commits get a branch for review."""
    command = [*find_own_command(), "run", "make the failing tests pass", "--model", model]
    done = subprocess.run(
        [*command, "-C", str(place.folder)],
        env=strip_git_variables(),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=False,
    )
    made = place.head
    if done.returncode != 0 or made == place.base:
        _print_message("pre-push: no repair was found")
        return
    from tools.git.new_branch import create_branch

    try:
        name = create_branch(git.run, f"patchwright/fix-{place.base[:10]}", made)
    except GitFailed as error:
        _print_message(f"pre-push: a repair was made, {made[:10]}, but {error}")
        return
    _print_message(
        f"pre-push: a repair is on the branch {name}:\n  look: git show {name}\n  take: git merge --ff-only {name}"
    )


def _format_test_count(tests: Sequence[str] | None) -> str:
    if tests is None:
        return "all tests"
    return f"{len(tests)} test file{'' if len(tests) == 1 else 's'}"


def _print_message(text: str) -> None:
    from sandbox.sanitize import sanitize_text

    print(sanitize_text(f"patchwright: {text}"), file=sys.stderr)
