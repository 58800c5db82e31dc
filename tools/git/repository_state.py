"""States of a repository that a commit must know: a calling git, other work trees, marks of the index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sandbox.fs.regular_file import read_first_line
from sandbox.helpers.git_reach import find_command_name
from sandbox.helpers.git_runner import LITERAL
from sandbox.process.caller import find_caller
from tools.git.broker import Broker

_CHANGING = frozenset(
    (
        "am",
        "checkout",
        "cherry-pick",
        "commit",
        "merge",
        "pull",
        "rebase",
        "reset",
        "revert",
        "stash",
        "switch",
    )
)
"""Commands during whose hooks a commit would get under the work of the command."""

_MARKS = {
    "S": "git is to leave it out (skip-worktree): sparse checkout, or git update-index",
    "s": "git is to leave it out (skip-worktree): sparse checkout, or git update-index",
    "h": "git is to take it as unchanged (assume-unchanged)",
    "M": "it is in conflict, and the user has not resolved it by git add",
}
"""Entries of which git itself commits no change, by the letter that `git ls-files -v` writes."""

_MOST_PATHS = 500
"""Paths in one command line; for more, all entries are listed."""


def find_calling_git(root: Path) -> str:
    """Return the git command of this work tree by whose hook we were started, as "git commit"; "" if none.

    Without /proc, the variable tells that git sets for the hooks of a commit and a merge.
    """
    if not Path("/proc/self/stat").exists():
        return "git commit" if "GIT_INDEX_FILE" in os.environ else ""
    for process in _list_ancestors():
        words = _read_command(process)
        if words and Path(words[0]).name == "git":
            name = find_command_name(words[1:])
            if name in _CHANGING and _works_in(process, root):
                return f"git {name}"
    return ""


def find_rebasing_worktree(broker: Broker, ref: str) -> str:
    """Return the other work tree in which a branch is being rebased or bisected; "" if none."""
    branch = ref.removeprefix("refs/heads/")
    for folder, place in _list_other_worktrees(broker):
        names = (
            read_first_line(folder / each) for each in ("rebase-merge/head-name", "rebase-apply/head-name")
        )
        if ref in names or (
            (folder / "BISECT_LOG").exists() and read_first_line(folder / "BISECT_START") == branch
        ):
            return place
    return ""


def find_second_checkout(broker: Broker, ref: str) -> str:
    """Return another work tree that has a branch checked out; "" if none."""
    found = _list_other_worktrees(broker)
    return next((place for folder, place in found if read_first_line(folder / "HEAD") == f"ref: {ref}"), "")


def find_marked_paths(broker: Broker, paths: Sequence[str]) -> dict[str, str]:
    """Return the paths whose changes git itself would not commit by the marks of the user's index, and why."""
    if not paths:
        return {}
    named = paths if len(paths) <= _MOST_PATHS else ()
    output = broker.run(LITERAL, "ls-files", "-v", "-z", "--", *named)
    marks = {line[2:]: _MARKS.get(line[0], "") for line in output.split_fields()}
    return {path: reason for path in paths if (reason := marks.get(path, ""))}


def _list_other_worktrees(broker: Broker) -> Iterator[tuple[Path, str]]:
    """Yield (git folder, work tree) of each other work tree of the repository."""
    if broker.shared.resolve() != broker.folder.resolve():
        yield broker.shared, str(broker.shared.parent)
    for folder in sorted(broker.shared.glob("worktrees/*")):
        if folder.resolve() != broker.folder.resolve():
            place = read_first_line(folder / "gitdir")
            yield folder, str(Path(place).parent) if place else str(folder)


def _list_ancestors() -> Iterator[int]:
    process = find_caller()
    while process > 1:
        yield process
        try:
            content = Path(f"/proc/{process}/stat").read_bytes()
        except OSError:  # ended
            return
        # "PID (NAME) STATE PARENT …"; a name may hold spaces and brackets.
        fields = content.rpartition(b")")[2].split()
        process = int(fields[1]) if len(fields) > 1 else 0


def _read_command(process: int) -> list[str]:
    try:
        content = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # ended, or of another user
        return []
    return [os.fsdecode(word) for word in content.split(b"\0")]


def _works_in(process: int, root: Path) -> bool:
    """Return whether a process has the work tree as its folder: git goes to the top before it starts a hook."""
    try:
        return Path(f"/proc/{process}/cwd").resolve(strict=True) == root.resolve()
    except OSError:
        return False
