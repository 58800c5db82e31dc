"""Changes between two commits, and contents of files as a checkout has them."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import field
from typing import NamedTuple

from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.path_state import GIT_LINK, GIT_NESTED
from tools.git.git_process import Git

RENAME_LIMIT = 7_000
"""Files compared for renames on each side: as many as `git merge` compares."""


class TreeEntry(NamedTuple):
    """A path in a commit: git's mode number and the object's id."""

    mode: int
    id: str

    @property
    def is_link(self) -> bool:
        return self.mode == GIT_LINK

    @property
    def is_repository(self) -> bool:
        return self.mode == GIT_NESTED

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)


class EntryChange(NamedTuple):
    """One changed path; None where it does not exist."""

    old: TreeEntry | None
    new: TreeEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChanges:
    """Changes from one commit to another.

    entries: by path, a renamed file as one that is gone and one that is new; renames: new path by old one
    """

    entries: Mapping[str, EntryChange] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)


def read_tree_changes(git: Git, old: str, new: str) -> TreeChanges:
    """Return the changes from commit `old` to commit `new`. Raises GitFailed."""
    # No empty files: any two are alike, and `git merge` does not take them for one that moved either.
    renames = ("--find-renames", f"-l{RENAME_LIMIT}", "--no-rename-empty")
    options = (
        "-r",
        "-z",
        "--raw",
        "--full-index",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=none",
    )
    fields = git.run("diff-tree", *options, *renames, old, new).split(b"\0")[:-1]
    entries: dict[str, EntryChange] = {}
    moved: dict[str, str] = {}
    position = 0
    while position < len(fields):
        before, after, before_id, after_id, status = fields[position].decode().removeprefix(":").split(" ")
        was, now = _build_entry(before, before_id), _build_entry(after, after_id)
        path = os.fsdecode(fields[position + 1])
        position += 2
        if status.startswith("R"):
            target = os.fsdecode(fields[position])
            position += 1
            moved[path] = target
            entries[path] = EntryChange(was, None)
            entries[target] = EntryChange(None, now)
        else:
            entries[path] = EntryChange(was, now)
    return TreeChanges(entries=entries, renames=moved)


def list_tree_paths(git: Git, commit: str) -> list[str]:
    """Return the paths of all files of a commit."""
    output = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    return [os.fsdecode(path) for path in output.split(b"\0")[:-1]]


def read_checkout_contents(git: Git, commit: str, paths: Mapping[str, TreeEntry]) -> dict[str, bytes]:
    """Return the contents that a checkout of `commit` has at these paths: filters and line endings applied.

    A link's content is its text. paths: with their entries in the commit; repositories are left out
    """
    plain = [path for path, entry in paths.items() if entry.is_file]
    filtered = _list_filtered_paths(git, plain)
    blobs = {
        path: entry.id for path, entry in paths.items() if not entry.is_repository and path not in filtered
    }
    contents = git.read_blobs(sorted(set(blobs.values())))
    found = {path: contents[name] for path, name in blobs.items()}
    for path in filtered:
        found[path] = git.run("cat-file", "--filters", f"{commit}:{path}")
    return found


_FILTERING = ("text", "eol", "filter", "ident", "working-tree-encoding", "crlf")
"""Attributes for which a checkout's content differs from the blob's."""


def _list_filtered_paths(git: Git, paths: Collection[str]) -> set[str]:
    """Return those whose content a checkout may convert."""
    if not paths:
        return set()
    if git.read_setting("core.autocrlf") in ("true", "input"):
        return set(paths)
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    fields = git.run("check-attr", "-z", "--stdin", *_FILTERING, stdin=stdin).split(b"\0")[:-1]
    return {
        os.fsdecode(path)
        for path, value in zip(fields[::3], fields[2::3], strict=True)
        if value not in (b"unspecified", b"unset")
    }


def _build_entry(mode: str, name: str) -> TreeEntry | None:
    return TreeEntry(int(mode, 8), name) if int(mode, 8) else None
