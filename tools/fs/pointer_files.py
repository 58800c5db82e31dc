"""Pointer files: small texts that stand in the work tree for data that is kept elsewhere and was not fetched.

Sources: git-lfs docs/spec.md ("The Pointer"), git-annex "internals/pointer_file", DVC "User Guide: .dvc files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sandbox.lazy_pattern import compile_lazily

MOST_BYTES = 32 << 10
"""Size below which a file is a pointer of git-annex; those of Git LFS have less than 1,024."""

_MARKS = {
    b"version https://git-lfs.github.com/spec/": ("Git LFS", "git lfs pull --include={path}"),
    b"version https://hawser.github.com/spec/": ("Git LFS", "git lfs pull --include={path}"),
    b"/annex/objects/": ("git-annex", "git annex get {path}"),
}

_DVC_FIELD = compile_lazily(rb"^[ \t]*(?:- )?(?:md5|etag|checksum|size|nfiles):[^\n]*", re.MULTILINE)
"""Lines of a `.dvc` file, or of `dvc.lock`, that DVC computes of the data."""

_OID = compile_lazily(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)
_MD5 = compile_lazily(rb"^[ \t]*(?:- )?md5: ([0-9a-f]{32}(?:\.dir)?)[ \t]*$", re.MULTILINE)


def describe_pointer(content: bytes | None, path: str) -> str:
    """Return what keeps the data of a pointer file and the command that fetches it, "" for any other file."""
    if content is None or len(content) > MOST_BYTES:
        return ""
    found = next((told for mark, told in _MARKS.items() if content.startswith(mark)), None)
    if found:
        return f"a pointer of {found[0]}, the data is not here: {found[1].format(path=path)}"
    if _is_of_dvc(content, path):
        return f"a pointer of DVC, whose hashes and sizes dvc writes (dvc commit); the data comes by: dvc pull {path}"
    return ""


def has_lost_data(before: bytes | None, after: bytes | None, path: str) -> bool:
    """Return whether a change of a pointer makes it point to other data, which nobody has: it was changed as a text."""
    if before is None or after is None or not describe_pointer(before, path):
        return False
    if _is_of_dvc(before, path):
        return _DVC_FIELD.findall(before) != _DVC_FIELD.findall(after)
    return before != after and bool(describe_pointer(after, path))


def find_keeper(before: bytes | None, after: bytes, path: str, *, root: Path, git_folder: Path) -> str:
    """Return what should keep the data of a new or changed pointer, if it is not in its local store; else "".

    root: of the work tree; git_folder: that all work trees share
    """
    if len(after) > MOST_BYTES or before == after:
        return ""
    if after.startswith(b"/annex/objects/"):
        key = after.partition(b"\n")[0].decode("utf-8", "replace").rpartition("/")[2]
        kept = re.fullmatch(r"[\w.=,+-]+", key) and any(
            (git_folder / "annex/objects").glob(f"*/*/{key}/{key}")
        )
        return "" if kept else "git-annex"
    if _is_of_dvc(after, path):
        known = set(_MD5.findall(before or b""))
        new = [each.decode() for each in _MD5.findall(after) if each not in known]
        is_fetched = b"\ndeps:" in after or after.startswith(b"deps:") or b"remote:" in after
        return "" if is_fetched or all(_is_in_dvc_cache(root, path, each) for each in new) else "DVC"
    oid = _OID.search(after) if any(after.startswith(each) for each in list(_MARKS)[:2]) else None
    if oid is None:
        return ""
    name = oid[1].decode()
    return "" if (git_folder / "lfs/objects" / name[:2] / name[2:4] / name).is_file() else "Git LFS"


def _is_of_dvc(content: bytes, path: str) -> bool:
    is_named = path.endswith(".dvc") or path.rpartition("/")[2] == "dvc.lock"
    return is_named and b"outs:" in content and _MD5.search(content) is not None


def _is_in_dvc_cache(root: Path, path: str, digest: str) -> bool:
    inner = f"{digest[:2]}/{digest[2:]}"
    return any(
        (cache / place / inner).is_file()
        for cache in _list_dvc_caches(root, path)
        for place in ("files/md5", ".")
    )


def _list_dvc_caches(root: Path, path: str) -> Iterator[Path]:
    """Yield the folders of the cache: those that the configuration names, and DVC's own."""
    from sandbox.fs.regular_file import SETTINGS, read_regular_text

    for folder in PurePosixPath(path).parents:
        own = root / folder / ".dvc"
        if own.is_dir():
            yield own / "cache"
            for name in ("config.local", "config"):
                text = read_regular_text(own / name, SETTINGS, "replace") or ""
                section = re.search(r"^\[cache\][^\[]*", text, re.MULTILINE)
                named = re.search(r"^\s*dir\s*=\s*(.+?)\s*$", section[0], re.MULTILINE) if section else None
                if named:
                    yield own / named[1]
            return
