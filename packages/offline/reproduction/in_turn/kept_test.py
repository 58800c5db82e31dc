"""A reproduction as a test of the project: where it would stand."""

from __future__ import annotations

from tools.core.workspace import Workspace

_FOLDERS = ("tests", "test")
"""Folders of tests, in the order of preference; the root where there is none."""


def choose_test_path(at: Workspace, script: str) -> str:
    """Return a path that is free, or that holds this script already."""
    folder = next((f"{each}/" for each in _FOLDERS if (at.root / each).is_dir()), "")
    number = 1
    while True:
        path = f"{folder}test_reproduction{'' if number == 1 else f'_{number}'}.py"
        if not at.files.is_file(path) or at.files.read(path) == script.encode():
            return path
        number += 1
