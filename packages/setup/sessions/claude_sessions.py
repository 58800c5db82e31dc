"""Sessions of Claude Code: one file of JSON lines each, below `projects` in its folder.

A reply has a line for each of its blocks, which share the message's id. After a resume or a compaction the history may
stand in the file again, under other line ids: a block, a result or a prompt that was there is not taken twice.
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
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-",
    "<system-reminder>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "Caveat: The messages below",
    "[Request interrupted",
    "This session is being continued from a previous conversation",
)
"""Beginnings of user messages that the program wrote."""


def find_logs() -> list[Path]:
    """Return the logs of this user."""
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    return sorted((home / "projects").glob("*/*.jsonl"))


def read_sessions(path: Path) -> Iterator[ForeignSession]:
    """Yield the session of a log."""
    session = ForeignSession(key=path.stem)
    replies: dict[str, Replied] = {}
    seen: set[tuple[str, ...]] = set()
    for line in read_json_lines(path, session.left):
        kind, message = line.get("type"), get_table(line, "message")
        session.folder = session.folder or get_text(line, "cwd")
        session.started = session.started or get_text(line, "timestamp")
        if kind not in ("user", "assistant"):
            session.left["line of its own records"] += 1
        elif line.get("isSidechain"):
            session.left["message of a sub-agent"] += 1
        elif kind == "assistant":
            _take_reply(session, line, message, replies, seen)
        else:
            _take_user_message(session, line, message, seen)
    yield session


def _take_reply(
    session: ForeignSession,
    line: Mapping[str, Any],
    message: Mapping[str, Any],
    replies: dict[str, Replied],
    seen: set[tuple[str, ...]],
) -> None:
    if get_text(message, "model") == "<synthetic>" or line.get("isApiErrorMessage"):
        session.left["reply that no model gave"] += 1
        return
    key = get_text(message, "id") or get_text(line, "uuid")
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for block in blocks:
        mark = ("reply", key, json.dumps(block, sort_keys=True, default=str))
        if not isinstance(block, dict) or mark in seen:
            continue
        seen.add(mark)
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            session.left["block of reasoning"] += 1
            continue
        if kind not in ("text", "tool_use"):
            session.left[f"block of type {str(kind)[:40]}"] += 1
            continue
        reply = replies.get(key)
        if reply is None:
            reply = replies[key] = Replied(model=get_text(message, "model"))
            session.steps.append(reply)
        if kind == "text":
            reply.text = "\n".join(filter(None, (reply.text, get_text(block, "text"))))
        else:
            called = Called(
                call=get_text(block, "id"), tool=get_text(block, "name"), arguments=get_table(block, "input")
            )
            reply.actions.append(called)


def _take_user_message(
    session: ForeignSession, line: Mapping[str, Any], message: Mapping[str, Any], seen: set[tuple[str, ...]]
) -> None:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            call = get_text(block, "tool_use_id")
            if ("result", call) not in seen:
                seen.add(("result", call))
                text = text_of(block.get("content"), session.left)
                session.steps.append(Answered(call=call, text=text, failed=block.get("is_error") is True))
    typed = content
    if isinstance(content, list):
        typed = [
            each for each in content if not (isinstance(each, dict) and each.get("type") == "tool_result")
        ]
    if not typed:
        return
    text = text_of(typed, session.left).strip()
    is_own = line.get("isMeta") or line.get("isCompactSummary") or line.get("isVisibleInTranscriptOnly")
    if is_own or not text or text.startswith(UNTYPED):
        session.left["message that nobody typed"] += 1
        return
    mark = ("prompt", get_text(line, "promptId") or get_text(line, "timestamp"), text)
    if mark in seen:
        return
    seen.add(mark)
    session.steps.append(Said(text=text))
