"""Hooks in the formats of other agents: what they are told, what their answers do, and that none is read wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.extension.hooks.hook_definition import EVENTS
from agent.extension.hooks.hook_dialect import (
    build_environment,
    load_dialects,
    name_tools,
    translate_answer,
    translate_input,
)
from tests.agent.extension.hooks.test_hooks import observations, run_session, shop, write_user
from tests.support.cli import call

__all__ = ["shop"]

GIVEN = {
    "session_id": "s1",
    "cwd": "/r",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git push"},
}


def hook(dialect: str, command: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, "dialect": dialect, **fields}


@pytest.mark.parametrize("agent", load_dialects())
def test_each_row_of_the_table_names_events_that_there_are(agent: str) -> None:
    dialect = load_dialects()[agent]
    assert {each["event"] for each in dialect["events"].values()} <= set(EVENTS)
    assert not set(dialect["events"]) & set(dialect.get("unused", {}))
    assert all(dialect[each] for each in ("title", "version", "source", "timeout"))


@pytest.mark.parametrize(
    ("dialect", "told"),
    [
        ("gemini BeforeTool", {"tool_name": "run_shell_command", "hook_event_name": "BeforeTool"}),
        (
            "copilot preToolUse",
            {"toolName": "bash", "toolArgs": {"command": "git push"}, "sessionId": "s1", "cwd": "/r"},
        ),
        ("copilot PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "git push"}}),
        ("cursor beforeShellExecution", {"command": "git push", "workspace_roots": ["/r"]}),
        ("cursor preToolUse", {"tool_name": "Shell", "conversation_id": "s1"}),
        ("kimi PreToolUse", {"tool_name": "Shell"}),
        ("vibe before_tool", {"tool_name": "bash", "hook_event_name": "before_tool"}),
        ("crush PreToolUse", {"event": "PreToolUse", "tool_name": "bash"}),
        ("goose PreToolUse", {"tool_name": "developer__shell", "working_dir": "/r"}),
    ],
)
def test_a_hook_is_told_the_fields_of_its_agent(dialect: str, told: dict[str, Any]) -> None:
    found = translate_input(dialect, GIVEN)
    assert {key: found.get(key) for key in told} == told


def test_a_change_of_a_file_is_told_with_its_edits() -> None:
    edit = {"file_path": "/r/a", "old_string": "x", "new_string": "y"}
    given = {**GIVEN, "tool_name": "Edit", "tool_input": edit}
    found = translate_input("cursor afterFileEdit", given)
    assert (found["file_path"], found["edits"]) == ("/r/a", [{"old_string": "x", "new_string": "y"}])
    found = translate_input("copilot postToolUse", {**given, "tool_response": "done"})
    assert found["toolArgs"]["old_str"] == "x"
    assert found["toolResult"] == {"textResultForLlm": "done"}


def test_programs_get_the_variables_of_their_agent() -> None:
    found = build_environment("crush PreToolUse", translate_input("crush PreToolUse", GIVEN))
    assert found["CRUSH_TOOL_INPUT_COMMAND"] == "git push"
    assert (found["CRUSH"], found["AGENT"], found["CRUSH_TOOL_NAME"]) == ("1", "crush", "bash")
    assert "CRUSH_TOOL_INPUT_FILE_PATH" not in found


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("gemini BeforeTool", "mcp_gh_get_it"),
        ("cursor preToolUse", "MCP:get_it"),
        ("goose PreToolUse", "gh__get_it"),
    ],
)
def test_tools_of_servers_have_the_names_of_their_agent(dialect: str, name: str) -> None:
    assert name in name_tools(dialect, ("mcp__gh__get_it",))


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        ("gemini BeforeTool", {"decision": "deny", "reason": "no pushes"}),
        ("copilot preToolUse", {"permissionDecision": "deny", "permissionDecisionReason": "no pushes"}),
        ("cursor beforeShellExecution", {"permission": "deny", "agent_message": "no pushes"}),
        ("vibe before_tool", {"decision": "deny", "reason": "no pushes"}),
        ("crush PreToolUse", {"decision": "deny", "reason": "no pushes", "version": 1}),
        ("goose PreToolUse", {"decision": "block", "reason": "no pushes"}),
        ("kimi PreToolUse", {"hookSpecificOutput": {"permissionDecision": "deny"}}),
        ("cursor preToolUse", {"permission": "maybe"}),
        ("copilot preToolUse", {"permissionDecision": "Deny"}),
    ],
)
def test_a_refusal_in_each_format_keeps_an_action_from_running(
    shop: Path, dialect: str, answer: dict[str, Any]
) -> None:
    command = f"printf '%s' '{json.dumps(answer)}'"
    write_user(PreToolUse=[{"hooks": [hook(dialect, command)]}])
    events = run_session(shop, [{"calls": [call("shell", command="touch ran")]}, {"text": "Done."}])
    assert not (shop / "ran").exists()
    if "no pushes" in command:
        assert "no pushes" in observations(events)[0]


def test_other_input_and_an_exit_code_that_ends_the_turn(shop: Path) -> None:
    command = """printf '%s' '{"modifiedArgs": {"command": "echo other"}}'"""
    write_user(PreToolUse=[{"matcher": "bash", "hooks": [hook("copilot preToolUse", command)]}])
    events = run_session(shop, [{"calls": [call("shell", command="echo mine")]}, {"text": "Done."}])
    assert "other" in observations(events)[0]
    write_user(PreToolUse=[{"hooks": [hook("crush PreToolUse", "echo enough >&2; exit 49")]}])
    events = run_session(shop, [{"calls": [call("shell", command="touch ran")]}, {"text": "Done."}])
    assert not (shop / "ran").exists()
    assert "enough" in str(events[-1])


def test_a_matcher_of_a_command_is_compared_with_the_command(shop: Path) -> None:
    guard = hook("cursor beforeShellExecution", "exit 2", subject="^curl|wget")
    write_user(PreToolUse=[{"matcher": "Bash", "hooks": [guard]}])
    turns = [
        {"calls": [call("shell", command="touch one"), call("shell", command="wget x; touch two")]},
        {"text": "Done."},
    ]
    run_session(shop, turns)
    assert [(shop / each).exists() for each in ("one", "two")] == [True, False]


@pytest.mark.parametrize(
    ("dialect", "problem"),
    [("other preToolUse", "is not known"), ("cursor stop", "is one of Stop"), (7, "is no text")],
)
def test_a_guard_whose_format_is_not_known_denies(shop: Path, dialect: Any, problem: str) -> None:
    write_user(PreToolUse=[{"hooks": [hook(dialect, "true")]}])
    events = run_session(shop, [{"calls": [call("shell", command="touch ran")]}, {"text": "Done."}])
    assert not (shop / "ran").exists()
    assert problem in observations(events)[0]


def test_what_has_no_meaning_here_is_told_and_a_table_that_is_none_stays() -> None:
    found = translate_answer(
        "gemini AfterTool", {"hookSpecificOutput": {"tailToolCallRequest": {"name": "x"}}}
    )
    assert "tailToolCallRequest of a hook is not used" in found["systemMessage"]
    odd = {"hookSpecificOutput": "x", "permissionDecision": "deny"}
    assert translate_answer("copilot preToolUse", odd)["hookSpecificOutput"] == "x"
    assert translate_answer("cursor stop", {"followup_message": "go on"})["decision"] == "block"
    assert translate_answer("crush PreToolUse", {"halt": True})["continue"] is False
