"""One patch that replaces an attempt's result in the user's files by another's; refused if these changed since."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import quote_name
from tools.core.text import clip, join_names
from tools.git.git_process import Git, GitFailed
from tools.git.worktrees import commit_work_tree

MOST_NAMED = 3
"""Files that a refusal names."""


class ExchangeRefused(UserError):
    """The files are no longer those that an attempt left, or the other attempt's change does not fit them."""


class NothingToTake(UserError):
    """An attempt has no change that is not in the files already."""


def build_exchange(git: Git, present: bytes, wanted: bytes) -> bytes:
    """Return the patch that takes `present` out of the user's files and brings `wanted` in. Blocking.

    present: the patch of an attempt, applied before; b"" if there is none. One that is not in the files any more, since
    it was undone, is passed over. Nothing but the object store is written. Raises ExchangeRefused.
    """
    now = commit_work_tree(git)
    touched = _list_blobs(git, present)
    states = _read_blobs(git, now, [path for path, _, _ in touched])
    is_there = all(states.get(path) == after for path, _, after in touched)
    is_gone = all(states.get(path) == before for path, before, _ in touched)
    if touched and not (is_there or is_gone):
        changed = [path for path, _, after in touched if states.get(path) != after]
        raise ExchangeRefused(
            Fault.USAGE,
            f"nothing was changed: {_name(changed)} changed since that attempt was applied",
            "Take your change out first (git stash, say), or apply the other attempt by hand.",
        )
    with tempfile.TemporaryDirectory(prefix="patchwright-index-") as scratch:
        inside = Git(git.root, alone=True, extra={**git.extra, "GIT_INDEX_FILE": str(Path(scratch, "index"))})
        inside.run("read-tree", now)
        try:
            if touched and is_there:
                inside.run("apply", "--cached", "--whitespace=nowarn", "--reverse", "-", stdin=present)
            if wanted:
                inside.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=wanted)
        except GitFailed as error:
            raise ExchangeRefused(
                Fault.USAGE,
                "nothing was changed: that attempt does not fit the present files: "
                + clip(" ".join(error.message.split()), 200),
                "Look at it: patchwright attempts show N",
            ) from None
        tree = inside.run_text("write-tree")
    options = ("--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-renames")
    return git.run("diff", *options, f"{now}^{{tree}}", tree)


def build_difference(git: Git, base: str, first: bytes, second: bytes) -> bytes:
    """Return the diff from the files of one attempt to those of another. Blocking. Raises GitFailed.

    base: commit that both began with
    """
    trees = [_build_tree(git, base, patch) for patch in (first, second)]
    return git.run("diff", "--no-ext-diff", "--no-textconv", "--no-renames", *trees)


def _build_tree(git: Git, base: str, patch: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="patchwright-index-") as scratch:
        inside = Git(git.root, alone=True, extra={**git.extra, "GIT_INDEX_FILE": str(Path(scratch, "index"))})
        inside.run("read-tree", base)
        if patch:
            inside.run("apply", "--cached", "--whitespace=nowarn", "-", stdin=patch)
        return inside.run_text("write-tree")


_INDEX = compile_lazily(rb"index ([0-9a-f]{40,64})\.\.([0-9a-f]{40,64})(?: \d+)?")


def _list_blobs(git: Git, patch: bytes) -> list[tuple[str, str | None, str | None]]:
    """Return (path, blob before, blob after) of each file of a patch with full ids; None where there is no file."""
    if not patch:
        return []
    fields = git.run("apply", "--numstat", "-z", "-", stdin=patch).split(b"\0")
    paths = [os.fsdecode(field.split(b"\t", 2)[2]) for field in fields if field]
    found: list[tuple[str | None, str | None] | None] = []
    for line in patch.split(
        b"\n"
    ):  # lines of hunks begin with a mark, and those of binary ones have no space
        if line.startswith(b"diff --git "):
            found.append(None)
        elif found and found[-1] is None and (match := _INDEX.fullmatch(line)):
            found[-1] = (_read_id(match[1]), _read_id(match[2]))
    pairs = zip(paths, found, strict=len(paths) == len(found))
    return [(path, *ids) for path, ids in pairs if ids is not None]


def _read_id(text: bytes) -> str | None:
    return text.decode() if text.strip(b"0") else None


def _read_blobs(git: Git, commit: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the blob of each path that a commit has."""
    if not paths:
        return {}
    listed = git.run("--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", *paths)
    entries = [entry.partition(b"\t") for entry in listed.split(b"\0") if entry]
    return {os.fsdecode(path): head.split(b" ")[2].decode() for head, _, path in entries}


def _name(paths: Sequence[str]) -> str:
    return join_names([quote_name(path) for path in paths], MOST_NAMED)
