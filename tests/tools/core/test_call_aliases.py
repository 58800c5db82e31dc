"""Calls that models learnt elsewhere do what was meant, or are refused as they always were."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.policy.decision import Approval, Mode, Policy
from tests.support.bench import workspace
from tests.tools.core.test_gateway import Recorded
from tools.builtin_tools import load_accepted_tools, load_default_tools
from tools.core.action import Action, Observation
from tools.core.call_aliases import translate_call
from tools.core.gateway import Gateway
from tools.core.registry import Toolbox
from tools.core.tool_settings import Format

BEFORE = "a = 1\nb = 2\nc = 3\n"
AFTER = "a = 1\nb = 20\nc = 3\n"


def toolbox(*formats: Format, withheld: frozenset[str] = frozenset()) -> Toolbox:
    return Toolbox(
        [tool for tool in load_default_tools(formats) if tool.name not in withheld],
        [tool for tool in load_accepted_tools() if tool.name not in withheld],
    )


def gateway(tmp_path: Path, tools: Toolbox | None = None) -> tuple[Gateway, Path]:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text(BEFORE)
    made = Gateway(
        toolbox=tools or toolbox("replace", "whole"),
        workspace=workspace(root, tmp_path / "own"),
        policy=Policy(Mode.WORKSPACE, Approval.NEVER),
        recorder=Recorded(),
    )
    return made, root / "a.py"


def act(made: Gateway, tool: str, arguments: dict[str, Any]) -> Observation:
    action = Action(id="1", tool=tool, arguments=arguments, raw=json.dumps(arguments))
    return asyncio.run(made.run([action]))[0]


ONE = {"old_string": "b = 2", "new_string": "b = 20"}
STR_REPLACE = {"command": "str_replace", "path": "a.py", "old_str": "b = 2", "new_str": "b = 20"}
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-b = 2\n+b = 20\n*** End Patch"
BLOCK = "{} SEARCH\nb = 2\n=======\nb = 20\n{} REPLACE\n"

EDITS: list[tuple[str, dict[str, Any]]] = [
    ("edit", {"file_path": "a.py", **ONE}),
    ("Edit", {"file_path": "a.py", **ONE, "replace_all": False}),
    ("edit", {"filePath": "a.py", "oldString": "b = 2", "newString": "b = 20"}),
    ("replace", {"file_path": "a.py", **ONE, "expected_replacements": 1, "instruction": "b has to be 20"}),
    ("replace", {"file_path": "a.py", **ONE, "allow_multiple": False}),
    ("str_replace", {"path": "a.py", "old_str": "b = 2", "new_str": "b = 20"}),
    ("StrReplaceFile", {"path": "a.py", "edit": {"old": "b = 2", "new": "b = 20", "replace_all": False}}),
    ("edit", {"path": "a.py", "edits": json.dumps([ONE])}),
    ("search_replace", {"file_path": "a.py", **ONE}),
    ("edit_file", {"target_file": "a.py", "search": "b = 2", "replace": "b = 20"}),
    ("str_replace_based_edit_tool", STR_REPLACE),
    ("str_replace_editor", STR_REPLACE),
    ("MultiEdit", {"file_path": "a.py", "edits": [ONE]}),
    ("multiedit", {"file_path": "a.py", "edits": [{**ONE, "replace_all": True}]}),
    ("edit", {"path": "a.py", "edits": [{"oldText": "b = 2", "newText": "b = 20"}]}),
    ("replace_in_file", {"path": "a.py", "diff": BLOCK.format("<<<<<<<", ">>>>>>>")}),
    ("replace_in_file", {"path": "a.py", "diff": BLOCK.format("-------", "+++++++")}),
    ("apply_diff", {"path": "a.py", "diff": "@@ -2 +2 @@\n-b = 2\n+b = 20\n"}),
    ("apply_patch", {"path": "a.py", "diff": "@@\n-b = 2\n+b = 20\n"}),
    ("apply_patch", {"input": PATCH}),
    ("applypatch", {"patchText": "--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-b = 2\n+b = 20\n"}),
    ("shell", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"}),
    ("shell", {"command": ["apply_patch", PATCH]}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments"), EDITS)
def test_an_edit_that_was_learnt_elsewhere_is_made(
    tool: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    made, file = gateway(tmp_path)
    observation = act(made, tool, arguments)
    assert not observation.failed, observation.text
    assert file.read_text() == AFTER
    assert "note: this call was taken as " in observation.text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"file_path": "new.py", "content": "x = 1\n"}),
        ("write_to_file", {"path": "new.py", "content": "x = 1\n"}),
        ("create_file", {"filePath": "new.py", "file_text": "x = 1\n"}),
        ("Write", {"file_path": "new.py", "content": "x = 1\n"}),
        ("write", {"file_path": "new.py", "content": "x = 1\n"}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "new.py", "file_text": "x = 1\n"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** End Patch"}),
    ],
)
def test_a_file_that_is_created_by_another_name_is_there(
    tool: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    made, file = gateway(tmp_path)
    assert not act(made, tool, arguments).failed
    assert file.with_name("new.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "shown"),
    [
        ("read_file", {"file_path": "a.py"}, "3\tc = 3"),
        ("Read", {"file_path": "a.py", "offset": 2, "limit": 1}, "lines 2–2 of 3"),
        (
            "str_replace_based_edit_tool",
            {"command": "view", "path": "a.py", "view_range": [2, -1]},
            "2\tb = 2",
        ),
        ("Bash", {"command": "echo hello", "description": "Greet"}, "hello"),
        ("shell", {"command": ["bash", "-lc", "echo $((20 + 1))"]}, "21"),
        ("exec_command", {"cmd": "echo hello"}, "hello"),
    ],
)
def test_reading_and_running_by_other_names(
    tool: str, arguments: dict[str, Any], shown: str, tmp_path: Path
) -> None:
    made, _ = gateway(tmp_path)
    observation = act(made, tool, arguments)
    assert not observation.failed, observation.text
    assert shown in observation.text


@pytest.mark.slow
def test_lines_are_inserted_after_the_one_that_is_named(tmp_path: Path) -> None:
    made, file = gateway(tmp_path)
    act(made, "read", {"path": "a.py"})
    arguments = {"command": "insert", "path": "a.py", "insert_line": 1, "insert_text": "new = 0\n"}
    assert not act(made, "str_replace_based_edit_tool", arguments).failed
    assert file.read_text() == "a = 1\nnew = 0\nb = 2\nc = 3\n"


def test_the_right_call_is_named_once(tmp_path: Path) -> None:
    made, file = gateway(tmp_path)
    first = act(made, "str_replace", {"path": "a.py", "old_str": "a = 1", "new_str": "a = 10"})
    assert first.text.endswith("\nnote: this call was taken as edit(path, old, new, all?); call it so")
    second = act(made, "str_replace", {"path": "a.py", "old_str": "b = 2", "new_str": "b = 20"})
    assert "note:" not in second.text
    assert file.read_text() == "a = 10\nb = 20\nc = 3\n"
    refused = act(made, "write_file", {"file_path": "a.py", "content": "x"})
    assert refused.failed
    assert refused.text.endswith("note: this call was taken as write(path, content); call it so")


def test_an_argument_that_nobody_knows_is_not_guessed_away(tmp_path: Path) -> None:
    made, file = gateway(tmp_path)
    observation = act(made, "Edit", {"file_path": "a.py", **ONE, "dry_run": True})
    assert observation.failed
    assert "dry_run: there is no such argument" in observation.text
    assert "edits" in act(made, "MultiEdit", {"file_path": "a.py", "edits": "b = 20"}).text
    assert file.read_text() == BEFORE


def test_the_log_has_the_tool_that_ran(tmp_path: Path) -> None:
    made, _ = gateway(tmp_path)
    act(made, "Edit", {"file_path": "a.py", **ONE})
    recorded = made._recorder
    assert isinstance(recorded, Recorded)
    assert recorded.lines == ["action edit write", "observation edit"]


def test_a_patch_that_came_without_json_around_it_is_taken(tmp_path: Path) -> None:
    made, file = gateway(tmp_path)
    action = Action(
        id="1", tool="apply_patch", arguments={}, raw=PATCH, problem="the arguments are not JSON: …"
    )
    assert not asyncio.run(made.run([action]))[0].failed
    assert file.read_text() == AFTER


OURS = [
    Action(id="1", tool="edit", arguments={"path": "a.py", "old": "x", "new": "y"}),
    Action(id="1", tool="write", arguments={"path": "a.py", "content": "diff"}),
    Action(id="1", tool="shell", arguments={"command": "patch -p1 < fix.patch"}),
    Action(id="1", tool="shell", arguments={"command": "apply_patch < fix.patch"}),
    Action(
        id="1",
        tool="shell",
        arguments={"command": "apply_patch <<E\n*** Begin Patch\n*** End Patch\nE\nrm x"},
    ),
    Action(id="1", tool="apply_patch", arguments={"patch": "*** Begin Patch"}),
    Action(id="1", tool="edit", arguments={}, raw="{", problem="the arguments are not JSON"),
    Action(id="1", tool="search", arguments={"query": "x"}),
]
NOBODYS = [
    Action(id="1", tool="undo_edit", arguments={"path": "a.py"}),
    Action(id="1", tool="str_replace_based_edit_tool", arguments={"command": "undo_edit", "path": "a.py"}),
    Action(id="1", tool="Edit", arguments={"file_path": "a.py"}),
    Action(id="1", tool="create_file", arguments={"content": "x"}),
]


@pytest.mark.parametrize("action", [*OURS, *NOBODYS], ids=lambda action: f"{action.tool} {action.arguments}")
def test_what_is_ours_or_nobodys_is_left_as_it_is(action: Action) -> None:
    assert translate_call(action, toolbox("replace", "whole")) is action


def test_what_is_withheld_is_not_had_by_another_name(tmp_path: Path) -> None:
    without = toolbox("replace", "whole", withheld=frozenset(tool.name for tool in load_accepted_tools()))
    made, file = gateway(tmp_path, without)
    for tool, arguments in EDITS[:-2]:
        observation = act(made, tool, arguments)
        assert observation.failed
        assert "there is no tool" in observation.text
    assert file.read_text() == BEFORE
