"""Variants of a path written by a model."""

from __future__ import annotations

import os

from sandbox.lazy_pattern import compile_lazily

_URI = compile_lazily(r"^file://")


def normalize_path(path: str) -> str:
    """Normalize a path written by a model to the system's spelling."""
    cleaned = _URI.sub("", path.strip().strip("`'\""))
    return os.path.normpath(cleaned.replace("\\", "/")) if cleaned else path


def list_path_variants(path: str, root: str) -> list[str]:
    """Return the path and its possible meanings: without a diff's prefix, from the disk's root, below the
    root's name.
    """
    found = [path] if path == normalize_path(path) else [path, normalize_path(path)]
    path = found[-1]
    first, _, rest = path.lstrip("/").partition("/")
    if path.startswith("/"):
        found.append(path.lstrip("/"))
    if rest and first in ("a", "b", "i", "w", root, "workspace", "repo", "project"):
        found.append(rest)
    return found
