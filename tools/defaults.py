"""The tools of an ordinary session, in the order in which a model is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from tools.edit.offer import EDITORS, FORMATS, Format, describe_edit_tool
from tools.registry import Tool

TOOLS = (
    ("tools.files", "read"),
    ("tools.files", "list_files"),
    ("tools.search", "search"),
    ("tools.code", "code"),
    ("tools.edit.tools", "edit"),
    ("tools.edit.tools", "edit_symbol"),
    ("tools.edit.tools", "edit_lines"),
    ("tools.edit.tools", "apply_patch"),
    ("tools.files", "write"),
    ("tools.lsp.renaming", "rename"),
    ("tools.shell", "shell"),
    ("tools.process", "process"),
    ("tools.kernel", "python"),
    ("tools.testing", "run_tests"),
    ("tools.plan", "plan"),
    ("tools.git", "git_status"),
    ("tools.git", "git_diff"),
    ("tools.git", "git_commit"),
    ("tools.repair", "localize"),
    ("tools.repair", "why_failing"),
    ("tools.repair", "repair"),
    ("tools.recall", "recall"),
    ("tools.recall", "memory"),
    ("tools.finish", "finish"),
)
"""Module and name of each. They are imported when a session asks for them, not with this module."""

UNTOLD = (
    ("tools.edit.several", "edit_several"),
    ("tools.git.bisect", "git_bisect"),
    ("tools.git.history", "git_log"),
    ("tools.git.history", "git_show"),
    ("tools.git.history", "git_blame"),
    ("tools.kernel.kept_tools", "keep_function"),
    ("tools.kernel.kept_tools", "kept_functions"),
    ("tools.kernel.branching", "put_back"),
    ("tools.finish", "propose"),
)
"""Tools of which no model is told."""


def load_default_tools(formats: Sequence[Format] = FORMATS) -> list[Tool]:
    """All tools, imported now; of those that edit, the ones that take these formats."""
    tools = []
    for tool in (_load_tool(module, name) for module, name in TOOLS):
        shown = describe_edit_tool(tool, formats) if tool.name in EDITORS else tool
        if shown is not None:
            tools.append(shown)
    return tools


def load_accepted_tools() -> list[Tool]:
    """Every tool that edits, told or not: models call those that they know from elsewhere."""
    return [_load_tool(module, name) for module, name in (*TOOLS, *UNTOLD) if name in _UNDERSTOOD]


_UNDERSTOOD = EDITORS | {name for _, name in UNTOLD}


def _load_tool(module: str, name: str) -> Tool:
    found = getattr(import_module(module), name)
    if not isinstance(found, Tool):
        raise TypeError(f"{module}.{name} is not a tool but {type(found).__name__}")
    return found
