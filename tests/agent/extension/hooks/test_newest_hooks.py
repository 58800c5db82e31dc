"""What hooks of the newest Claude Code say and are told: results, other results, delays, agents, servers, variables."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.children.children import Children
from agent.events import End, Signal
from agent.extension.hooks.hook_definition import EVENTS
from agent.extension.hooks.hook_parser import parse_hooks
from agent.extension.hooks.hook_response import format_output, parse_hunks
from agent.model.model_settings import ModelSettings
from agent.turn.runtime import Runtime
from tests.agent.extension.hooks.test_hooks import (
    group,
    make_hook,
    observations,
    run_session,
    shop,
    trust,
    write_project,
    write_user,
)
from tests.support.child_sessions import play, settings_for
from tests.support.cli import call, script
from tools.core.text import format_unified_diff
from tools.core.tool_settings import ToolSettings

__all__ = ["shop"]


def say(answer: object) -> str:
    """A command that prints an answer."""
    return f"printf '%s' {json.dumps(json.dumps(answer)).replace('$', chr(92) + '$')}"


def specific(event: str, **fields: Any) -> str:
    return say({"hookSpecificOutput": {"hookEventName": event, **fields}})


def get_end(events: Any) -> End:
    [end] = [each for each in events if isinstance(each, End)]
    return end


@pytest.mark.parametrize(
    ("condition", "names", "given", "met"),
    [
        ("Write(*.env)", ("Write", "write"), {"file_path": "/r/.env"}, True),
        ("Write(*.env)", ("Write", "write"), {"file_path": "/r/a.py"}, False),
        ("Bash(* --force)", ("Bash", "shell"), {"command": "git push --force"}, True),
        ("Bash(* --force)", ("Bash", "shell"), {"command": "git push"}, False),
        ("Bash(rm *)", ("Bash", "shell"), {"command": "cd x && rm -rf y"}, True),
        ("Edit(src/**/*.ts)", ("Edit", "edit"), {"file_path": "/r/src/a/b.ts"}, True),
        ("Edit(src/**/*.ts)", ("Edit", "edit"), {"file_path": "/r/lib/b.ts"}, False),
        ("Edit(*.{ts,tsx})", ("Edit", "edit"), {"file_path": "/r/b.tsx"}, True),
        ("Read(./.env*)", ("Read", "read"), {"file_path": "/r/.env.local"}, True),
        ("mcp__db__drop", ("mcp__db__drop",), {"table": "x"}, True),
    ],
)
def test_conditions_name_a_tool_and_words(
    condition: str, names: tuple[str, ...], given: dict[str, Any], met: bool
) -> None:
    assert make_hook(condition=condition).matches(names, given) is met


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        ({"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
        ({"type": "text", "file": {"filePath": "/a", "content": "x = 1\n"}}, "x = 1\n"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ({"content": [{"type": "text", "text": "deep"}]}, "deep"),
        ({"rows": [1]}, '{"rows": [1]}'),
        (7, "7"),
    ],
)
def test_a_result_in_the_shape_of_a_tool_becomes_text(output: object, text: str) -> None:
    assert format_output(output) == text


@pytest.mark.parametrize("field", ["updatedToolOutput", "updatedMCPToolOutput"])
@pytest.mark.parametrize("output", ["hidden", {"stdout": "hidden", "stderr": "", "interrupted": False}])
def test_a_hook_replaces_the_result_of_a_tool(shop: Path, output: object, field: str) -> None:
    write_user(PostToolUse=group(specific("PostToolUse", **{field: output}), matcher="Bash"))
    turns = [{"calls": [call("shell", command="echo token-1234")]}, {"text": "Done.", "expect": ["hidden"]}]
    events = run_session(shop, turns)
    assert observations(events) == ["hidden"]
    assert "a hook replaced the result of shell" in [
        each.detail for each in events if isinstance(each, Signal)
    ]


def test_the_last_of_several_replacements_counts_and_a_failed_action_keeps_its_own(shop: Path) -> None:
    each = [specific("PostToolUse", updatedToolOutput=text) for text in ("one", "two")]
    write_user(
        PostToolUse=group(*each), PostToolUseFailure=group(specific("PostToolUse", updatedToolOutput="three"))
    )
    turns = [{"calls": [call("read", path="cart.py"), call("read", path="gone.py")]}, {"text": "Done."}]
    failed, read = sorted(observations(run_session(shop, turns)))
    assert read == "two"
    assert "gone.py" in failed


@pytest.mark.parametrize("is_project", [False, True])
def test_a_hook_that_puts_an_action_off_ends_the_turn_before_it(shop: Path, is_project: bool) -> None:
    hooks = group(
        specific("PreToolUse", permissionDecision="defer", permissionDecisionReason="ask Ann"), matcher="Bash"
    )
    if is_project:
        write_project(shop, PreToolUse=hooks)
        trust(shop)
    else:
        write_user(PreToolUse=hooks)
    events = run_session(shop, [{"calls": [call("shell", command="touch ran")]}, {"text": "Done."}])
    assert not (shop / "ran").exists()
    assert get_end(events).outcome == "interrupted"
    assert "ask Ann; resume to ask it again" in get_end(events).summary


def test_a_refused_permission_may_interrupt(shop: Path) -> None:
    decision = {"behavior": "deny", "message": "not today", "interrupt": True}
    write_user(PreToolUse=group(say({"decision": "block", "continue": False, "stopReason": "enough"})))
    events = run_session(shop, [{"calls": [call("read", path="cart.py")]}, {"text": "Done."}])
    assert "enough" in get_end(events).summary
    write_user(PreToolUse=group(say({"hookSpecificOutput": {"decision": decision}})))
    events = run_session(shop, [{"calls": [call("read", path="cart.py")]}, {"text": "Done."}])
    assert "not today" in get_end(events).summary


def test_feedback_at_the_end_gives_one_more_step_and_fails_nothing(shop: Path) -> None:
    write_user(Stop=group(specific("Stop", additionalContext="Mention the tests.")))
    events = run_session(
        shop, [{"text": "Done."}, {"text": "Done: no tests.", "expect": ["Mention the tests."]}]
    )
    end = get_end(events)
    assert (end.outcome, end.summary) == ("done", "Done: no tests.")


@pytest.mark.parametrize("is_project", [False, True])
def test_hooks_of_the_start_set_variables_of_commands(shop: Path, is_project: bool) -> None:
    lines = r"""printf 'export STAGE="te st"\nPATH="/opt/stage:$PATH"\n' >> "$CLAUDE_ENV_FILE" """
    hooks = {"SessionStart": group(lines), "PreToolUse": group('test -z "$CLAUDE_ENV_FILE" || exit 2')}
    if is_project:
        write_project(shop, **hooks)
        trust(shop)
    else:
        write_user(**hooks)
    [seen] = observations(
        run_session(
            shop, [{"calls": [call("shell", command='echo "$STAGE"; echo "$PATH"')]}, {"text": "Done."}]
        )
    )
    assert "te st\n/opt/stage:/" in seen


@pytest.mark.parametrize("lines", ["exit 0", "kill $$", "exec true"])
def test_lines_that_end_the_shell_are_told(shop: Path, lines: str) -> None:
    write_user(SessionStart=group(f"echo 'A=1; {lines}' >> \"$CLAUDE_ENV_FILE\""))
    events = run_session(
        shop, [{"calls": [call("shell", command='echo "<$A>"')]}, {"text": "Done.", "expect": ["<>"]}]
    )
    assert any("did not come to their end" in each.detail for each in events if isinstance(each, Signal))


def ask(shop: Path, hook: dict[str, Any], answers: list[dict[str, Any]], event: str = "PreToolUse") -> Any:
    """Play a turn with a hook that asks a model; return its events."""
    matcher = {"matcher": "Read"} if event == "PreToolUse" else {}
    write_user(**{event: [{**matcher, "hooks": [hook]}]})
    turns = [{"calls": [call("read", path="cart.py")]}, {"text": "Done."}, {"text": "Done again."}]
    settings = replace(
        settings_for(script(shop.parent, turns)),
        models=ModelSettings(fast=script(shop.parent, answers, "judge.json")),
    )

    async def story(runtime: Runtime, children: Children) -> Any:
        return await runtime.run_turn("Go")

    return play(shop, settings, story)


def test_what_a_model_refuses_ends_the_turn_unless_the_hook_says_otherwise(shop: Path) -> None:
    hook = {"type": "prompt", "prompt": "May it?"}
    refusal = {"text": '{"ok": false, "reason": "a secret"}'}
    end = ask(shop, hook, [refusal])
    assert (end.outcome, "a secret" in end.summary) == ("interrupted", True)
    assert ask(shop, {**hook, "continueOnBlock": True}, [refusal]).summary == "Done."
    assert ask(shop, hook, [{"text": '{"ok": true}'}]).summary == "Done."
    assert ask(shop, hook, [refusal], "Stop").outcome != "interrupted"
    impossible = {"text": '{"ok": false, "impossible": true, "reason": "no tests"}'}
    assert ask(shop, hook, [impossible], "Stop").summary == "Done."


def test_an_agent_looks_around_before_it_judges(shop: Path) -> None:
    hook = {"type": "agent", "prompt": "May order.py be read?", "timeout": 20}
    write_user(PreToolUse=[{"matcher": "Bash", "hooks": [hook]}, *group("exit 2", matcher="Read")])
    turns = [
        {"calls": [call("shell", command="touch ran")]},
        {"calls": [call("read", path="order.py")], "expect": ["there is no tool 'shell'"]},
        {"text": '{"ok": false, "reason": "status is 1"}', "expect": ["STATUS = 1"]},
    ]

    async def story(runtime: Runtime, children: Children) -> End:
        return await runtime.run_turn("Go")

    end = play(shop, settings_for(script(shop.parent, turns), sandbox="auto"), story)
    assert "status is 1" in end.summary
    assert not (shop / "ran").exists()


ECHO = """
import json, sys

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tool = {"name": "echo", "inputSchema": {"type": "object"}}
    result = {
        "initialize": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "e", "version": "1"}
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": asked.get("params", {}).get("arguments", {}).get("text")}]},
    }.get(asked["method"])
    reply = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)
"""


def test_a_tool_of_a_server_judges_for_the_user_s_hooks(shop: Path) -> None:
    (shop / "server.py").write_text(ECHO)
    hook = {"type": "mcp_tool", "server": "judge", "tool": "echo"}
    refusal = {"decision": "block", "reason": "not ${tool_input.file_path}"}
    entry = [{"matcher": "Read", "hooks": [{**hook, "input": {"text": json.dumps(refusal)}}]}]
    turns = [{"calls": [call("read", path="cart.py")]}, {"text": "Done."}]
    settings = replace(
        settings_for(script(shop.parent, turns), sandbox="auto"),
        tools=ToolSettings(mcp={"judge": f"{sys.executable} server.py"}),
    )

    async def story(runtime: Runtime, children: Children) -> list[str]:
        seen: list[str] = []
        runtime.session.subscribe(
            lambda event: seen.append(getattr(event, "text", "")) if event.kind == "observation" else None
        )
        await runtime.run_turn("Go")
        return seen

    write_user(PreToolUse=entry)
    assert f"a hook: not {shop}/cart.py" in play(shop, settings, story)[0]


def tell(shop: Path, *calls: Any) -> list[Any]:
    """Return what hooks are told as the results of these calls."""
    write_user(PostToolUse=group("cat >> ../told.log"))
    run_session(shop, [{"calls": list(calls)}, {"text": "Done."}], sandbox="unconfined")
    lines = (shop.parent / "told.log").read_text().splitlines()
    return [json.loads(line)["tool_response"] for line in lines]


def test_results_have_the_shapes_of_its_tools(shop: Path) -> None:
    shell, read, found = tell(
        shop,
        call("shell", command="echo one; echo two >&2"),
        call("read", path="cart.py"),
        call("search", pattern="STATUS"),
    )
    assert shell == {"stdout": "one\ntwo\n", "stderr": "", "interrupted": False, "isImage": False}
    assert read == {
        "type": "text",
        "file": {
            "filePath": str(shop / "cart.py"),
            "content": "RATE = 2\n",
            "numLines": 1,
            "startLine": 1,
            "totalLines": 1,
        },
    }
    assert (found["mode"], found["numFiles"], found["filenames"]) == ("content", 1, ["order.py"])


def test_changes_are_told_with_their_hunks_and_the_file_before(shop: Path) -> None:
    edited, created, replaced = tell(
        shop,
        call("edit", path="cart.py", old="2", new="3"),
        call("write", path="new.py", content="A = 1\n"),
        call("edit", path="order.py", old="STATUS = 1", new="STATUS = 2\n--- x"),
    )
    assert edited["structuredPatch"] == [
        {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-RATE = 2", "+RATE = 3"]}
    ]
    assert (edited["oldString"], edited["newString"], edited["originalFile"]) == ("2", "3", "RATE = 2\n")
    assert (edited["replaceAll"], edited["userModified"]) == (False, False)
    assert (created["type"], created["content"], created["originalFile"]) == ("create", "A = 1\n", None)
    assert replaced["originalFile"] == "STATUS = 1\n"
    assert replaced["structuredPatch"][0]["lines"][-1] == "+--- x"


def test_hunks_of_lines_that_look_like_headers() -> None:
    before, after = "a\n-- b\nc\n", "a\n++ b\nc\n"
    [hunk] = parse_hunks(format_unified_diff("f.sql", before, after))
    assert hunk["lines"] == [" a", "--- b", "+++ b", " c"]


def test_what_nobody_waited_for_wakes_the_model(shop: Path) -> None:
    late = [
        {
            "matcher": "Read",
            "hooks": [{"command": "sleep 0.2; echo too slow >&2; exit 2", "asyncRewake": True}],
        }
    ]
    write_user(PostToolUse=late)
    turns = [
        {"calls": [call("read", path="cart.py")]},
        {"calls": [call("shell", command="sleep 1.5")]},
        {"text": "Done.", "expect": ["too slow"]},
    ]
    assert get_end(run_session(shop, turns)).summary == "Done."


OTHERS = (
    *("Setup", "StopFailure", "PostToolBatch", "UserPromptExpansion", "PreModelSwitch", "PostModelSwitch"),
    *("PermissionDenied", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult"),
    *("ConfigChange", "InstructionsLoaded", "CwdChanged", "DirectoryAdded", "MessageDisplay"),
)


@pytest.mark.parametrize("event", OTHERS)
def test_an_event_without_a_counterpart_is_named_and_denies_nothing(event: str) -> None:
    notices: list[str] = []
    assert event not in EVENTS
    assert list(parse_hooks({"hooks": {event: group("true")}}, "f.json", notices, is_project=False)) == []
    assert notices == [f"f.json: hooks of {event!r} are not used: there is no such event here"]
