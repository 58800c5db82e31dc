"""States of the project between the steps of a team, as commits that no reference names. All functions block."""

from __future__ import annotations

import os
from collections.abc import Sequence

from packages.search.team.artefacts import NewTests
from tools.git.git_process import Git
from tools.git.worktrees import commit_patch

_MAKER = ("-c", "user.name=Patchwright", "-c", "user.email=patchwright@localhost")


def add_tests(git: Git, commit: str, files: Sequence[NewTests], prefix: str = "") -> str:
    """Return a commit with new files of tests. Raises GitFailed if one of them exists. prefix: of their paths"""
    if not files:
        return commit
    patch = "".join(_format_new_file(f"{prefix}{each.path}", each.content) for each in files)
    return commit_patch(git, commit, patch.encode("utf-8", "surrogatepass"))


def commit_changes(git: Git, base: str, patch: bytes, start: str) -> str:
    """Return a commit after `start` with the files of `base` and a patch. Raises GitFailed if it does not fit."""
    tree = git.run_text("rev-parse", f"{commit_patch(git, base, patch)}^{{tree}}")
    return _commit(git, tree, [start])


def merge_commits(git: Git, commits: Sequence[str]) -> str:
    """Return one commit with the changes of all, the only one as it is. Raises GitFailed where they conflict."""
    first, *others = commits
    for each in others:
        if each == first:
            continue
        output = git.run_text("merge-tree", "--write-tree", "--no-messages", first, each)
        first = _commit(git, output.split("\n", 1)[0], [first, each])
    return first


def build_patch(git: Git, base: str, commit: str) -> bytes:
    """Return the changes from one commit to another, for `git apply`."""
    return git.run(
        "diff", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", base, commit
    )


def list_changed_files(git: Git, old: str, new: str) -> list[str]:
    """Return the paths that differ between two commits, relative to the repository's root."""
    names = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, "--")
    return [os.fsdecode(each) for each in names.split(b"\0") if each]


def list_changed_tests(git: Git, commit: str, files: Sequence[NewTests], prefix: str = "") -> list[str]:
    """Return the paths of tests that are not in a commit as they were handed over."""
    names = {each.path: f"{commit}:{prefix}{each.path}" for each in files}
    found = git.read_blobs(list(names.values()))
    return [each.path for each in files if found.get(names[each.path]) != _get_content(each.content)]


def _commit(git: Git, tree: str, parents: Sequence[str]) -> str:
    named = [word for each in parents for word in ("-p", each)]
    return git.run_text(*_MAKER, "commit-tree", "--no-gpg-sign", *named, "-m", "A step of a team", tree)


def _get_content(text: str) -> bytes:
    ended = text if text.endswith("\n") else f"{text}\n"
    return ended.encode("utf-8", "surrogatepass")


def _format_new_file(path: str, text: str) -> str:
    lines = _get_content(text).decode("utf-8", "surrogatepass").removesuffix("\n").split("\n")
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
