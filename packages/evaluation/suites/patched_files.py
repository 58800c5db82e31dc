"""Patches applied to files in memory, by git in a folder of its own; and patches taken apart by file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from packages.evaluation.tasks.folder_files import write_contents
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitRunner, strip_git_variables
from sandbox.lazy_pattern import compile_lazily

_GIT_HEAD = compile_lazily(rb"^diff --git a/(.+?) b/(.+)$", re.M)
_OLD, _NEW = compile_lazily(rb"^--- a/([^\t\n]+)", re.M), compile_lazily(rb"^\+\+\+ b/([^\t\n]+)", re.M)
_START = compile_lazily(rb"^(?:diff --git .*|--- (?:a/|/dev/null).*\n\+\+\+ (?:b/|/dev/null).*)$", re.M)


def split_patch(patch: bytes) -> dict[str, bytes]:
    """Return the part of a patch for each file, by the path that it has after it, or had before it was removed."""
    starts = [match.start() for match in _START.finditer(patch)]
    with_heads = patch.startswith(b"diff --git ") or b"\ndiff --git " in patch
    if with_heads:  # then names without a head of git's are those of the part above
        starts = [start for start in starts if patch.startswith(b"diff --git ", start)]
    parts = [patch[start:end] for start, end in pairwise([*starts, len(patch)])]
    return {_read_paths(part)[1]: part for part in parts}


def list_patched_paths(patch: bytes) -> list[str]:
    """Return the paths that a patch changes, adds or removes."""
    return list(split_patch(patch))


def _read_paths(part: bytes) -> tuple[str, str]:
    """Return the paths of a file before and after its part of a patch; of one that is added or removed, the same."""
    top = part.partition(b"\n@@ ")[0]
    found = _GIT_HEAD.search(top)
    if found is not None:
        old, new = found[1], found[2]
    else:
        before, after = _OLD.search(top), _NEW.search(top)
        named = [match[1] for match in (before, after) if match is not None] or [b""]
        old, new = named[0], named[-1]
    return old.decode("utf-8", "surrogateescape"), new.decode("utf-8", "surrogateescape")


def move_patch(patch: bytes, folder: str) -> bytes:
    """Return a patch for the same files in a folder."""
    head = folder.encode() + b"/"
    moved = []
    for part in split_patch(patch).values():
        top, mark, hunks = part.partition(b"\n@@ ")
        top = _GIT_HEAD.sub(lambda m: b"diff --git a/" + head + m[1] + b" b/" + head + m[2], top)
        top = re.sub(rb"^(---|\+\+\+) ([ab])/", lambda m: m[1] + b" " + m[2] + b"/" + head, top, flags=re.M)
        moved.append(top + mark + hunks)
    return b"".join(moved)


def apply_patch(files: Mapping[str, bytes], patch: bytes) -> dict[str, bytes]:
    """Return the files that a patch names, as they are after it; those that it removes are missing.

    files: contents before it, by path. Raises UserError if it does not apply.
    """
    touched = {path for part in split_patch(patch).values() for path in _read_paths(part)}
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_contents({path: files[path] for path in touched & files.keys()}, folder)
        git = GitRunner(folder, {**strip_git_variables(), **NO_USER_SETTINGS}, workspace=None)
        # a folder of its own: no repository above it is taken for the patch's
        extra = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
        done = git.run("apply", "--whitespace=nowarn", "-", stdin=patch, extra=extra)
        if done.returncode:
            raise UserError(Fault.CONFIGURATION, f"the patch does not apply: {done.stderr.strip()[:200]}")
        # a patch can add a link, which may lead to any file of this machine
        contents = {path: read_workspace_file(folder, path, SOURCE) for path in sorted(touched)}
        return {path: content for path, content in contents.items() if content is not None}
