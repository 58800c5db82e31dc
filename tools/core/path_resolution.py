"""Resolution of paths given by a model: inside the workspace, or a refusal that names the nearest paths."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tools.core.action import ToolFailure
from tools.core.text import join_names
from tools.core.workspace import Workspace

MAX_WALK = 20_000
"""Directory entries searched for a file of the same name, some 50 ms."""

_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})


@contextmanager
def translate_path_errors(tool: str, path: str) -> Iterator[None]:
    """Convert errors of the tree or the system about a path into this tool's failure.

    The path leads outside, is protected, is not text, may not be read, or has just disappeared.
    """
    try:
        yield
    except ValueError as problem:
        text = str(problem)
        raise ToolFailure(f"{tool}: {text}" if path in text else f"{tool}: {path}: {text}") from None
    except OSError as problem:
        raise ToolFailure(f"{tool}: {path}: {problem.strerror or problem}") from None


def resolve_path(at: Workspace, tool: str, path: str) -> str:
    """Return the path relative to the workspace, links followed. Raises ToolFailure if it leads outside."""
    with translate_path_errors(tool, path):
        return at.files.resolve_relative(path)


def resolve_existing_file(at: Workspace, tool: str, path: str) -> str:
    """Return the relative path of an existing file. Raises ToolFailure with the nearest names otherwise."""
    relative = resolve_path(at, tool, path)
    with translate_path_errors(tool, relative):
        if at.files.is_file(relative):
            return relative
        if at.files.is_dir(relative):
            raise ToolFailure(f"{tool}: {relative!r} is a folder: use list(path={relative!r})")
    raise ToolFailure(describe_missing_path(at, tool, relative))


def describe_missing_path(at: Workspace, tool: str, path: str) -> str:
    """Return the message that a file or folder does not exist, with the nearest names."""
    near = _find_nearest_paths(at, path)
    hint = f" Nearest: {join_names(near, 5)}." if near else " list shows what there is."
    return f"{tool}: no such file or folder: {path!r}.{hint}"


def _find_nearest_paths(at: Workspace, path: str) -> list[str]:
    """Return files of the same name elsewhere, then similar names in the same folder."""
    import difflib

    folder, name = os.path.split(path)
    same: list[str] = []
    beside: list[str] = []
    for each in _walk_entries(str(at.root)):
        parent, base = os.path.split(each)
        if base.lower() == name.lower() or each.endswith(f"/{path}"):
            same.append(each)
        elif parent == folder:
            beside.append(base)
    close = difflib.get_close_matches(name, beside, n=3, cutoff=0.6)
    return sorted(same, key=len)[:5] + [f"{folder}/{each}".lstrip("/") for each in close]


def _walk_entries(root: str) -> Iterator[str]:
    left = MAX_WALK
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        prefix = os.path.relpath(folder, root)
        for name in (*files, *names):
            left -= 1
            if left < 0:
                return
            yield name if prefix == "." else f"{prefix}/{name}"
