"""The tools of an ordinary session, in the order in which a model is told of them."""

from __future__ import annotations

from importlib import import_module

from tools.registry import Tool

TOOLS = (
    ("tools.files", "read"),
    ("tools.files", "list_files"),
    ("tools.search", "search"),
    ("tools.edit", "edit"),
    ("tools.files", "write"),
    ("tools.shell", "shell"),
    ("tools.testing", "run_tests"),
    ("tools.plan", "plan"),
    ("tools.git", "git_status"),
    ("tools.git", "git_diff"),
    ("tools.git", "git_commit"),
    ("tools.repair", "localize"),
    ("tools.repair", "repair"),
    ("tools.recall", "recall"),
    ("tools.finish", "finish"),
)
"""Module and name of each. They are imported when a session asks for them, not with this module."""


def default_tools() -> list[Tool]:
    """All tools, imported now."""
    return [_load(module, name) for module, name in TOOLS]


def _load(module: str, name: str) -> Tool:
    found = getattr(import_module(module), name)
    if not isinstance(found, Tool):
        raise TypeError(f"{module}.{name} is not a tool but {type(found).__name__}")
    return found
