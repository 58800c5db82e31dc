"""Which file a path means that a model wrote."""

from __future__ import annotations

import os
import re

_URI = re.compile(r"^file://")


def normalize_path(path: str) -> str:
    """A path as the system spells it, of one that a model wrote."""
    cleaned = _URI.sub("", path.strip().strip("`'\""))
    return os.path.normpath(cleaned.replace("\\", "/")) if cleaned else path


def list_path_variants(path: str, root: str) -> list[str]:
    """The path, then what it may stand for: behind a diff's prefix, from the root of the disk, in the root's name."""
    found = [path] if path == normalize_path(path) else [path, normalize_path(path)]
    path = found[-1]
    first, _, rest = path.lstrip("/").partition("/")
    if path.startswith("/"):
        found.append(path.lstrip("/"))
    if rest and first in ("a", "b", "i", "w", root, "workspace", "repo", "project"):
        found.append(rest)
    return found
