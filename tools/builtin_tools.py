"""The tools of an ordinary session, in the order in which a model sees them.

What a request says of them is data (`tool_table.json`); the module of a tool is imported when it is first called.
`tests/contract/test_surface.py` compares the table with the functions, and writes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.extensions import read_extensions
from tools.core.registry import ListedTool, Tool
from tools.core.tool_settings import Format
from tools.edit.format_registry import EDITORS, FORMATS, describe_edit_tool

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

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
    *((str(place).partition(":")[0], name) for name, place in read_extensions("tools").items()),
    ("tools.web.web_tools", "web_fetch"),
    ("tools.web.web_tools", "web_search"),
    ("tools.session.recall", "recall"),
    ("tools.session.recall", "memory"),
    ("tools.session.finish", "finish"),
)
"""Module and name of each."""

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
    """Return all tools; of the edit tools, those that accept one of these formats."""
    tools = []
    for tool in (_list_tool(module, name) for module, name in TOOLS):
        shown = describe_edit_tool(tool, formats) if tool.name in EDITORS else tool
        if shown is not None:
            tools.append(shown)
    return tools


def load_accepted_tools() -> list[Tool]:
    """Return every edit tool, offered or not: models call those that they know from elsewhere."""
    return [_list_tool(module, name) for module, name in (*TOOLS, *UNTOLD) if name in _UNDERSTOOD]


_UNDERSTOOD = EDITORS | {name for _, name in UNTOLD}


def describe_tools() -> dict[str, dict[str, Any]]:
    """Return the content of the table, from the functions themselves, by `MODULE.NAME`."""
    described = {}
    for module, name in (*TOOLS, *UNTOLD):
        tool = getattr(import_module(module), name)
        if not isinstance(tool, Tool):
            raise TypeError(f"{module}.{name} is not a tool but {type(tool).__name__}")
        if tool.runs_beside is not None or tool.is_tracked:
            raise TypeError(f"{module}.{name} has properties that the table does not have")
        described[f"{module}.{name}"] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "reads_only": tool.reads_only,
            "ends": tool.ends,
            "previews": tool.preview is not None,
        }
    return described


@cache
def _read_table() -> Mapping[str, Mapping[str, Any]]:
    table: Mapping[str, Mapping[str, Any]] = json.loads(
        Path(__file__).with_name("tool_table.json").read_text("utf-8")
    )
    return table


def _list_tool(module: str, name: str) -> Tool:
    row = _read_table()[f"{module}.{name}"]

    def load() -> Tool:
        tool: Tool = getattr(import_module(module), name)
        return tool

    return ListedTool(
        name=row["name"],
        description=row["description"],
        parameters=row["parameters"],
        run=lambda **arguments: load().run(**arguments),
        effect_of=lambda arguments, at: load().effect_of(arguments, at),
        reads_only=row["reads_only"],
        ends=row["ends"],
        preview=(lambda arguments, at: _preview_call(load(), arguments, at)) if row["previews"] else None,
        load=load,
    )


def _preview_call(tool: Tool, arguments: Mapping[str, Any], at: Workspace) -> str:
    if tool.preview is None:
        raise TypeError(f"{tool.name} has no preview")
    return tool.preview(arguments, at)
