"""Pointer files: small texts that stand in the work tree for data that is kept elsewhere and was not fetched.

Sources: git-lfs docs/spec.md ("The Pointer"), git-annex "internals/pointer_file".
"""

from __future__ import annotations

MOST_BYTES = 32 << 10
"""Size below which a file is a pointer of git-annex; those of Git LFS have less than 1,024."""

_MARKS = {
    b"version https://git-lfs.github.com/spec/": ("Git LFS", "git lfs pull --include={path}"),
    b"version https://hawser.github.com/spec/": ("Git LFS", "git lfs pull --include={path}"),
    b"/annex/objects/": ("git-annex", "git annex get {path}"),
}


def describe_pointer(content: bytes | None, path: str) -> str:
    """Return what keeps the data of a pointer file and the command that fetches it, "" for any other file."""
    if content is None or len(content) > MOST_BYTES:
        return ""
    found = next((told for mark, told in _MARKS.items() if content.startswith(mark)), None)
    return f"a pointer of {found[0]}, the data is not here: {found[1].format(path=path)}" if found else ""
