"""The tools of an ordinary session, in the order in which a model sees them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from tools.core.registry import Tool
from tools.core.tool_settings import Format
from tools.edit.format_registry import EDITORS, FORMATS, describe_edit_tool

TOOLS = (
    ("tools.fs.file_tools", "read"),
    ("tools.fs.file_tools", "list_files"),
    ("tools.fs.search", "search"),
    ("tools.code.code_tool", "code"),
    ("tools.edit.edit_tools", "edit"),
    ("tools.edit.edit_tools", "edit_symbol"),
    ("tools.edit.edit_tools", "edit_lines"),
    ("tools.edit.edit_tools", "apply_patch"),
    ("tools.fs.file_tools", "write"),
    ("tools.code.lsp.rename_tool", "rename"),
    ("tools.shell.shell_tool", "shell"),
    ("tools.shell.process_tool", "process"),
    ("tools.kernel", "python"),
    ("tools.testing", "run_tests"),
    ("tools.session.plan", "plan"),
    ("tools.git.git_tools", "git_status"),
    ("tools.git.git_tools", "git_diff"),
    ("tools.git.git_tools", "git_commit"),
    ("tools.repair.repair_tools", "localize"),
    ("tools.repair.repair_tools", "why_failing"),
    ("tools.repair.repair_tools", "repair"),
    ("tools.web.web_tools", "web_fetch"),
    ("tools.web.web_tools", "web_search"),
    ("tools.session.recall", "recall"),
    ("tools.session.recall", "memory"),
    ("tools.session.finish", "finish"),
)
"""Module and name of each. They are imported when a session needs them, not with this module."""

UNTOLD = (
    ("tools.edit.edit_tools", "edit_several"),
    ("tools.git.bisect", "git_bisect"),
    ("tools.git.history_tools", "git_log"),
    ("tools.git.history_tools", "git_show"),
    ("tools.git.history_tools", "git_blame"),
    ("tools.kernel.saved_function_tools", "keep_function"),
    ("tools.kernel.saved_function_tools", "kept_functions"),
    ("tools.kernel.rollback", "put_back"),
    ("tools.session.finish", "propose"),
    ("tools.testing.read_only_runs", "check_tests"),
    ("tools.testing.read_only_runs", "show_test_command"),
)
"""Tools that are accepted but not offered to models."""


NAMES = frozenset("list" if name == "list_files" else name for _, name in (*TOOLS, *UNTOLD))
"""Names by which models call them."""


def load_default_tools(formats: Sequence[Format] = FORMATS) -> list[Tool]:
    """Import and return all tools; of the edit tools, those that accept one of these formats."""
    tools = []
    for tool in (_load_tool(module, name) for module, name in TOOLS):
        shown = describe_edit_tool(tool, formats) if tool.name in EDITORS else tool
        if shown is not None:
            tools.append(shown)
    return tools


def load_accepted_tools() -> list[Tool]:
    """Return every edit tool, offered or not: models call those that they know from elsewhere."""
    return [_load_tool(module, name) for module, name in (*TOOLS, *UNTOLD) if name in _UNDERSTOOD]


_UNDERSTOOD = EDITORS | {name for _, name in UNTOLD}


def _load_tool(module: str, name: str) -> Tool:
    found = getattr(import_module(module), name)
    if not isinstance(found, Tool):
        raise TypeError(f"{module}.{name} is not a tool but {type(found).__name__}")
    return found
