"""Table of other agents' tools: their names and inputs, and the tools of this program that do the same.

Agent files, commands, skills and hooks that were written for another agent name its tools: `Read`, `Bash(git:*)`,
`mcp__tickets__search`. They mean ours by this table; calls that models make are translated by `call_aliases`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.rules import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTool:
    """A tool of other agents.

    names: as they spell it, Claude Code's of today first; all of them mean it in hooks, agents, rules and commands
    ours: the tools that do the same; () where there is none
    inputs: names of its inputs → names of our arguments, as far as they differ
    scope: kind of permission rule that a pattern in parentheses is
    since: releases of Claude Code in which one of its names came instead of an earlier one
    """

    names: tuple[str, ...]
    ours: tuple[str, ...]
    inputs: Mapping[str, str] = field(default_factory=dict)
    scope: Kind | None = None
    since: Mapping[str, str] = field(default_factory=dict)


EDITORS = ("edit", "edit_symbol", "edit_lines", "apply_patch", "edit_several")
"""The edit tools: which of them a session has depends on its model."""

_PATH = {"file_path": "path", "absolute_path": "path", "filePath": "path"}
_EDIT = {
    **_PATH,
    "old_string": "old",
    "old_str": "old",
    "before": "old",
    "new_string": "new",
    "new_str": "new",
    "after": "new",
    "replace_all": "all",
}

FOREIGN_TOOLS: tuple[ForeignTool, ...] = (
    ForeignTool(
        names=("Read", "read_file", "read_many_files", "view", "fs_read", "ReadFile"),
        ours=("read",),
        inputs={**_PATH, "offset": "start"},
        scope="read",
    ),
    ForeignTool(
        names=("Write", "write_file", "create_file", "fs_write", "WriteFile", "create", "developer__write"),
        ours=("write",),
        inputs={**_PATH, "file_text": "content"},
        scope="edit",
    ),
    ForeignTool(
        names=(
            *("Edit", "MultiEdit", "replace", "str_replace_editor", "EditFile", "edit_file"),
            *("StrReplace", "StrReplaceFile", "developer__edit"),
        ),
        ours=EDITORS,
        inputs=_EDIT,
        scope="edit",
    ),
    ForeignTool(names=("NotebookRead", "NotebookEdit"), ours=()),
    ForeignTool(
        names=(
            *("Bash", "run_shell_command", "execute_command", "local_shell", "exec_command"),
            *("run_terminal_cmd", "execute_bash", "PowerShell", "shell_command", "developer__shell"),
        ),
        ours=("shell", "process"),
        inputs={"cmd": "command"},
        scope="shell",
    ),
    ForeignTool(
        names=("TaskOutput", "BashOutput", "AgentOutputTool", "TaskStop", "KillShell", "KillBash"),
        ours=("process",),
    ),
    ForeignTool(
        names=("Grep", "search_file_content", "grep_search", "ripgrep", "SearchFiles", "rg"),
        ours=("search",),
        inputs={"query": "pattern", "include": "glob"},
        scope="read",
    ),
    ForeignTool(
        names=("Glob", "find_files", "FindFiles"),
        ours=("search", "list"),
        inputs={"pattern": "glob"},
        scope="read",
    ),
    ForeignTool(
        names=("LS", "list_directory", "list_dir", "ListFiles", "developer__tree"),
        ours=("list",),
        inputs={"dir_path": "path", "target_directory": "path"},
        scope="read",
    ),
    ForeignTool(names=("WebFetch", "web_fetch", "FetchURL", "read_web_page", "fetch"), ours=("web_fetch",)),
    ForeignTool(names=("WebSearch", "google_web_search", "web_search", "SearchWeb"), ours=("web_search",)),
    ForeignTool(
        names=("Agent", "Task"),
        ours=("delegate",),
        since={"Agent": "2.1.63"},
        inputs={
            "prompt": "task",
            "subagent_type": "agent",
            "run_in_background": "background",
            "resume": "child",
        },
    ),
    ForeignTool(
        names=(
            *("TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskGet", "TaskList"),
            *("update_plan", "write_todos", "SetTodoList", "update_todo"),
        ),
        ours=("plan",),
    ),
    ForeignTool(
        names=("AskUserQuestion", "ask_followup_question", "request_user_input", "ask_user_question"),
        ours=("ask_user",),
    ),
    ForeignTool(
        names=("Skill", "activate_skill"),
        ours=("skill",),
        inputs={"skill": "name", "skill_name": "name", "command": "name"},
    ),
    ForeignTool(names=("ExitPlanMode", "EnterPlanMode", "SlashCommand", "ToolSearch"), ours=()),
)

_BY_NAME = {name: each for each in FOREIGN_TOOLS for name in each.names}
_BY_LOWER_NAME = {name.lower(): each for name, each in _BY_NAME.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolGrant:
    """One entry of a list of tools.

    written: as in the file
    tools: the tools of this program, () for a tool that it has none for; a name that ends in "*" is a prefix
    scope, pattern: the kind and the pattern of the permission rule in parentheses; None and "" without one
    is_known: whether the name is one of ours or of the table
    agents: names of the only agents that may be started, () for a tool that starts none, or any
    """

    written: str
    tools: tuple[str, ...]
    scope: Kind | None = None
    pattern: str = ""
    is_known: bool = True
    agents: tuple[str, ...] = ()


def list_foreign_names(tool: str) -> tuple[str, ...]:
    """Return the names that other agents have, or had, for a tool of ours, the usual one first."""
    rows = [each for each in FOREIGN_TOOLS if tool in each.ours]
    patches = ("apply_patch",) if any(each.scope == "edit" for each in rows) else ()
    return tuple(dict.fromkeys((*(name for each in rows for name in each.names), *patches)))


def find_foreign_tool(name: str) -> ForeignTool | None:
    """Return the row of another agent's tool; capital letters do not count where ours have no such name."""
    return _BY_NAME.get(name) or _BY_LOWER_NAME.get(name.lower())


def rename_inputs(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """Return the inputs of another agent's tool under the names of our arguments."""
    row = find_foreign_tool(name)
    names = row.inputs if row is not None else {}
    return {names.get(each, each): value for each, value in arguments.items()}


def split_entries(value: str) -> list[str]:
    """Split a list of tools at its commas, or at spaces where there are none; those in parentheses do not count."""
    text = value.strip()
    between = r",\s*" if re.search(r",(?![^(]*\))", text) else r"\s+"
    return [each.strip() for each in re.split(rf"{between}(?![^(]*\))", text) if each.strip()]


_STARTS_AGENTS = ("delegate",)

_ENTRY = compile_lazily(r"([A-Za-z_][\w.*-]*)(?:\((.*)\))?", re.DOTALL)


UnknownPatterns = Literal["error", "whole", "none"]


def parse_grant(text: str, known: Collection[str], unknown_patterns: UnknownPatterns = "error") -> ToolGrant:
    """Parse one entry, such as `Read`, `Bash(git:*)`, `mcp__tickets__search` or `run_tests`.

    known: names of the tools of this program
    unknown_patterns: what an entry means whose pattern means nothing here: its whole tool, or no tool
    Raises ValueError for a text that is no entry.
    """
    written = text.strip()
    match = _ENTRY.fullmatch(written)
    if match is None:
        raise ValueError(f"{written!r} is no tool")
    name, pattern = match[1], (match[2] or "").strip()
    if name.startswith("mcp__"):
        return ToolGrant(written=written, tools=(name if name.count("__") > 1 else f"{name}__*",))
    if name in known:  # ours: `edit` means that tool alone
        row = next((each for each in FOREIGN_TOOLS if name in each.ours), None)
        tools: tuple[str, ...] = (name,)
    else:
        row = find_foreign_tool(name)
        tools = row.ours if row is not None else ()
    scope = row.scope if row is not None and pattern not in ("", "*") else None
    if pattern not in ("", "*") and tools == _STARTS_AGENTS:
        return ToolGrant(written=written, tools=tools, agents=tuple(split_entries(pattern)))
    if pattern not in ("", "*") and scope is None:
        if unknown_patterns == "error":
            raise ValueError(f"{written!r}: a pattern has no meaning for {name}")
        return ToolGrant(written=written, tools=tools if unknown_patterns == "whole" else ())
    return ToolGrant(
        written=written,
        tools=tools,
        scope=scope,
        pattern=normalize_pattern(scope, pattern) if scope else "",
        is_known=row is not None or name in known,
    )


def normalize_pattern(scope: Kind, pattern: str) -> str:
    """Return another agent's pattern as one of ours: `git:*` is `git *`, `/src/**` and `./src/**` are `src/**`."""
    if scope == "shell":
        return re.sub(r":\*$", " *", " ".join(pattern.split()))
    return re.sub(r"^(?:\./|/(?!/))", "", pattern)


def list_grants(
    value: object, known: Collection[str], unknown_patterns: UnknownPatterns = "error"
) -> tuple[ToolGrant, ...]:
    """Return the entries of a list of tools as files write it: a YAML list, or text. Raises ValueError."""
    if isinstance(value, str):
        entries: Sequence[object] = split_entries(value)
    elif isinstance(value, list):
        entries = value
    else:
        raise ValueError(f"{value!r} is no list of tools")
    if not all(isinstance(each, str) for each in entries):
        raise ValueError(f"{value!r} is no list of names of tools")
    return tuple(parse_grant(str(each), known, unknown_patterns) for each in entries)
