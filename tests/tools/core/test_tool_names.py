"""Other agents' names of tools, as their files write them."""

from __future__ import annotations

import pytest

from tools.builtin_tools import NAMES
from tools.core.tool_names import (
    FOREIGN_TOOLS,
    list_foreign_names,
    list_grants,
    parse_grant,
    rename_inputs,
    split_entries,
)


def test_every_tool_of_the_table_that_is_ours_exists() -> None:
    ours = {name for each in FOREIGN_TOOLS for name in each.ours}
    assert ours - NAMES == {"ask_user", "delegate", "skill"}


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("Read, Grep", ["Read", "Grep"]),
        ("Read Grep", ["Read", "Grep"]),
        ("Bash(git add:*, git commit:*), Read", ["Bash(git add:*, git commit:*)", "Read"]),
        ("Bash(git:*) Read", ["Bash(git:*)", "Read"]),
        ("", []),
    ],
)
def test_lists_are_split_outside_of_parentheses(text: str, entries: list[str]) -> None:
    assert split_entries(text) == entries


@pytest.mark.parametrize(
    ("written", "tools", "scope", "pattern"),
    [
        ("Read", ("read",), None, ""),
        ("read", ("read",), None, ""),
        ("BASH", ("shell", "process"), None, ""),
        ("Bash(git:*)", ("shell", "process"), "shell", "git *"),
        ("Bash(*)", ("shell", "process"), None, ""),
        (
            "Edit(./docs/**)",
            ("edit", "edit_symbol", "edit_lines", "apply_patch", "edit_several"),
            "edit",
            "docs/**",
        ),
        ("edit", ("edit",), None, ""),
        ("WebFetch", ("web_fetch",), None, ""),
        ("NotebookRead", (), None, ""),
        ("mcp__tickets__find", ("mcp__tickets__find",), None, ""),
        ("mcp__tickets", ("mcp__tickets__*",), None, ""),
        ("run_tests", ("run_tests",), None, ""),
    ],
)
def test_an_entry_means_tools_of_ours(
    written: str, tools: tuple[str, ...], scope: str | None, pattern: str
) -> None:
    found = parse_grant(written, NAMES)
    assert (found.tools, found.scope, found.pattern) == (tools, scope, pattern)


def test_a_name_that_nobody_knows_is_told_from_a_tool_that_is_not_here() -> None:
    assert [each.is_known for each in list_grants("WebFetch, Teleport", NAMES)] == [True, False]


@pytest.mark.parametrize("value", [3, {"Read": True}, ["Read", 3], "Read(", "plan(x)"])
def test_what_is_no_list_of_tools_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"tool|pattern"):
        list_grants(value, NAMES)


def test_inputs_get_our_names() -> None:
    assert rename_inputs("Read", {"file_path": "a.py", "offset": 3}) == {"path": "a.py", "start": 3}
    assert rename_inputs("Task", {"prompt": "look", "subagent_type": "explore"}) == {
        "task": "look",
        "agent": "explore",
    }


@pytest.mark.parametrize(
    ("tool", "first", "others"),
    [
        ("delegate", "Agent", {"Task"}),
        ("edit", "Edit", {"MultiEdit", "replace", "apply_patch"}),
        ("write", "Write", {"write_file", "apply_patch"}),
        ("process", "Bash", {"KillShell", "TaskStop", "BashOutput", "TaskOutput"}),
        ("plan", "TodoWrite", {"TaskCreate", "TaskUpdate", "update_plan"}),
        ("list", "Glob", {"LS", "list_directory"}),
        ("run_tests", "", set()),
    ],
)
def test_a_tool_has_all_its_names_of_other_agents(tool: str, first: str, others: set[str]) -> None:
    found = list_foreign_names(tool)
    assert found[:1] == ((first,) if first else ())
    assert others <= set(found)


def test_no_name_is_in_two_rows() -> None:
    names = [name.lower() for each in FOREIGN_TOOLS for name in each.names]
    assert len(names) == len(set(names))
    assert all(name in each.names for each in FOREIGN_TOOLS for name in each.since)
