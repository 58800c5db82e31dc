"""Programs that tasks of a language need, and which of them are not on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

TOOLS: Mapping[str, tuple[str, ...]] = {
    "python": ("python3",),
    "javascript": ("node",),
    "go": ("go",),
    "rust": ("cargo",),
    "java": ("javac", "java", "make"),
    "cpp": ("g++", "make"),
}
"""Programs by language."""


def find_missing_tool(language: str, *more: str) -> str:
    """Return the first program that is not on the PATH, "" if all are there. more: programs that one task needs, too"""
    return next((name for name in (*TOOLS.get(language, ()), *more) if shutil.which(name) is None), "")
