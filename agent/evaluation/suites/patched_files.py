"""Patches applied to files in memory, by git in a folder of its own; and patches taken apart by file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.errors import Fault, UserError
from sandbox.helpers.git_runner import NO_USER_SETTINGS, GitRunner, strip_git_variables

_HEAD = re.compile(rb"^diff --git a/(.+?)\t? b/(.+?)\t?$", re.M)


def list_patched_paths(patch: bytes) -> list[str]:
    """Return the paths that a patch changes, adds or removes, as they are after it."""
    return [after.decode("utf-8", "surrogateescape") for _, after in _HEAD.findall(patch)]


def split_patch(patch: bytes) -> dict[str, bytes]:
    """Return the part of a patch for each file, by path."""
    starts = [match.start() for match in _HEAD.finditer(patch)]
    parts = [patch[start:end] for start, end in zip(starts, [*starts[1:], len(patch)], strict=True)]
    return dict(zip(list_patched_paths(patch), parts, strict=True))


def move_patch(patch: bytes, folder: str) -> bytes:
    """Return a patch for the same files in a folder."""
    head = folder.encode() + b"/"
    moved = []
    for part in split_patch(patch).values():
        top, mark, hunks = part.partition(b"\n@@ ")
        top = re.sub(
            rb"^diff --git a/(.+?) b/(.+)$", rb"diff --git a/" + head + rb"\1 b/" + head + rb"\2", top
        )
        top = re.sub(rb"^(---|\+\+\+) ([ab])/", rb"\1 \2/" + head, top, flags=re.M)
        moved.append(top + mark + hunks)
    return b"".join(moved)


def apply_patch(files: Mapping[str, bytes], patch: bytes) -> dict[str, bytes]:
    """Return the files that a patch names, as they are after it; those that it removes are missing.

    files: contents before it, by path. Raises UserError if it does not apply.
    """
    touched = {part.decode("utf-8", "surrogateescape") for pair in _HEAD.findall(patch) for part in pair}
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for path in touched & files.keys():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(files[path])
        git = GitRunner(folder, {**strip_git_variables(), **NO_USER_SETTINGS}, workspace=None)
        # a folder of its own: no repository above it is taken for the patch's
        extra = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
        done = git.run("apply", "--whitespace=nowarn", "-", stdin=patch, extra=extra)
        if done.returncode:
            raise UserError(Fault.CONFIGURATION, f"the patch does not apply: {done.stderr.strip()[:200]}")
        places = {path: folder / path for path in sorted(touched)}
        return {path: place.read_bytes() for path, place in places.items() if place.is_file()}
