"""Sessions of Codex: one `rollout-*.jsonl` each, whose lines hold the items of requests and replies.

The items are what counts: newer ones have no events of the user's messages, and tell the environment and the
instructions as messages of the user.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packages.setup.sessions.foreign_turns import (
    Answered,
    Called,
    ForeignSession,
    Replied,
    Said,
    get_table,
    get_text,
    read_json_lines,
    text_of,
)

UNTYPED = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<collaboration_mode>",
    "<skill",
    "<turn_aborted>",
    "<subagent",
    "<user_shell_command>",
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
)
"""Beginnings of user messages that the program wrote."""

_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_RESULTS = ("function_call_output", "custom_tool_call_output")


def find_logs() -> list[Path]:
    """Return the logs of this user."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return sorted((home / "sessions").glob("**/rollout-*.jsonl"))


def read_sessions(path: Path) -> Iterator[ForeignSession]:
    """Yield the session of a log."""
    session = ForeignSession(key=path.stem.removeprefix("rollout-"))
    model = ""
    for line in read_json_lines(path, session.left):
        kind, payload = line.get("type"), get_table(line, "payload")
        session.started = session.started or get_text(line, "timestamp")
        if kind == "session_meta":
            if not session.folder:
                session.key = get_text(payload, "id") or session.key
                session.folder = get_text(payload, "cwd")
        elif kind == "turn_context":
            model = get_text(payload, "model") or model
        elif kind == "compacted":
            session.left["summary by its compaction"] += 1  # the items before it are there
        elif kind == "response_item":
            _take_item(session, payload, model)
        elif kind != "event_msg":
            session.left["line of its own records"] += 1
    yield session


def _take_item(session: ForeignSession, item: Mapping[str, Any], model: str) -> None:
    kind = get_text(item, "type")
    if kind == "message":
        _take_message(session, item, model)
    elif kind in _CALLS:
        reply = _get_reply(session, model)
        given = item.get(_CALLS[kind])
        tool = get_text(item, "name") or "local_shell"
        call = get_text(item, "call_id") or get_text(item, "id")
        reply.actions.append(Called(call=call, tool=tool, arguments=_parse_arguments(given)))
    elif kind in _RESULTS:
        text, failed = _read_output(session, item.get("output"))
        session.steps.append(Answered(call=get_text(item, "call_id"), text=text, failed=failed))
    elif kind == "reasoning":
        session.left["block of reasoning"] += 1
    else:
        session.left[f"item of type {kind[:40]}"] += 1


def _take_message(session: ForeignSession, item: Mapping[str, Any], model: str) -> None:
    text = text_of(item.get("content"), session.left).strip()
    if item.get("role") == "assistant":
        if text:
            session.steps.append(Replied(text=text, model=model))
    elif item.get("role") != "user" or not text or text.startswith(UNTYPED):
        session.left["message that nobody typed"] += 1
    else:
        session.steps.append(Said(text=text))


def _get_reply(session: ForeignSession, model: str) -> Replied:
    """Return the reply that goes on: a message and the calls behind it are one."""
    if session.steps and isinstance(last := session.steps[-1], Replied):
        return last
    reply = Replied(model=model)
    session.steps.append(reply)
    return reply


def _parse_arguments(given: object) -> Mapping[str, Any]:
    if isinstance(given, dict):
        return given
    try:
        found = json.loads(given) if isinstance(given, str) else {}
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"input": given}


def _read_output(session: ForeignSession, output: object) -> tuple[str, bool]:
    """Return text and failure of an output: a text, blocks, or JSON with the exit code."""
    whole: object = output
    if isinstance(output, str) and output.startswith("{"):
        try:
            whole = json.loads(output)
        except (ValueError, RecursionError):
            whole = output
    if isinstance(whole, dict):
        code = get_table(whole, "metadata").get("exit_code")
        failed = whole.get("success") is False or code not in (None, 0)
        return text_of(whole.get("output", whole.get("content", "")), session.left), failed
    text = text_of(whole, session.left)
    head = text.partition("\n\n")[0][:400].splitlines()
    codes = [
        each.rpartition(" ")[2]
        for each in head
        if each.lower().startswith(("exit code:", "process exited with"))
    ]
    return text, any(code not in ("0", "") for code in codes)
