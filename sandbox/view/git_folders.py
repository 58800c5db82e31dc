"""Git folders outside the workspace that belong to it: those of linked work trees and of submodules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from sandbox.fs.regular_file import read_regular_text
from sandbox.fs.repository import find_common_dir
from sandbox.lazy_pattern import compile_lazily


def list_linked_git_folders(root: Path, folders: Iterable[Path]) -> list[Path]:
    """Return those of the folders outside that name a work tree in the workspace as theirs.

    A file `.git` in the workspace proves nothing: anybody could write one that names another repository.

    folders: git folders outside, links resolved
    """
    outside = list(folders)
    linked = [each for each in outside if _names_work_tree_in(each, root)]
    shared = {find_common_dir(each).resolve() for each in linked}
    return [each for each in outside if each in linked or each in shared]


def _names_work_tree_in(folder: Path, root: Path) -> bool:
    back = _read_text(folder / "gitdir").strip()  # of a linked work tree
    if back:
        tree = (folder / back).parent
    else:
        found = _WORK_TREE.search(_read_text(folder / "config"))  # of a submodule
        if found is None:
            return False
        tree = folder / found[1]
    return tree.resolve().is_relative_to(root)


_WORK_TREE = compile_lazily(r"^\s*worktree\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)

_MOST = 1 << 16
"""Bytes of a git configuration that are read."""


def _read_text(path: Path) -> str:
    return read_regular_text(path, _MOST) or ""
