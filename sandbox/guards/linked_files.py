"""Files of the workspace that must not be written by a name: those of content stores, and those behind links that
lead out of what git tracks."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from sandbox.fs.content_stores import describe_way
from sandbox.fs.repository import find_inner_repository, find_root


def explain_forbidden_write(root: Path, named: str, real: str, *, is_linked: bool) -> str:
    """Return why a file is not written by this name, and what to do instead; "" if it may be.

    named: the path as it was given; real: relative to the workspace, links resolved; is_linked: they differ by a link
    """
    if way := describe_way(named, real):
        return f"nothing is written into a content store, where {real!r} is kept; {way}"
    if not is_linked or find_inner_repository(root, real):  # whose files are refused by any name
        return ""
    copy = f"or replace the link by a copy: cp --remove-destination {shlex.quote(real)} {shlex.quote(named)}"
    if _is_read_only(root / real):
        return f"is a link to {real!r}, which is read-only, as stores keep their files: make that writable, {copy}"
    if _is_ignored(root, real):
        return f"is a link to {real!r}, which git ignores, and nothing is written through it: edit that file, {copy}"
    return ""


def _is_read_only(place: Path) -> bool:
    try:
        mode = place.lstat().st_mode
    except OSError:  # it is about to be made
        return False
    return stat.S_ISREG(mode) and not mode & 0o222


def _is_ignored(root: Path, path: str) -> bool:
    """Whether git ignores a file, tracked ones excepted; False outside a repository."""
    if find_root(root) is None:
        return False
    from sandbox.helpers.git_runner import GitRunner

    done = GitRunner(root, {**os.environ, "LC_ALL": "C"}, workspace=root).run(
        "check-ignore", "-z", "--stdin", stdin=b"./" + os.fsencode(path) + b"\0"
    )
    return done.returncode == 0
