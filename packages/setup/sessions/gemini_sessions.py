"""Sessions of Gemini CLI: a JSON file, or JSON lines in which a later record replaces an earlier one.

A message is written again under its id when it grows; `$set` replaces fields of the whole, all messages among them;
`$rewindTo` takes back what follows a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packages.setup.sessions.foreign_turns import (
    Answered,
    Called,
    ForeignSession,
    Replied,
    Said,
    get_text,
    read_json_lines,
    text_of,
)


def find_logs() -> list[Path]:
    """Return the logs of this user."""
    return sorted((Path.home() / ".gemini/tmp").glob("*/chats/session-*.json*"))


def read_sessions(path: Path) -> Iterator[ForeignSession]:
    """Yield the session of a log."""
    session = ForeignSession(key=path.stem)
    whole: dict[str, Any] = {}
    messages: dict[str, Mapping[str, Any]] = {}
    for record in _read_records(path, session):
        if isinstance(changed := record.get("$set"), dict):
            whole.update(changed)
            if isinstance(listed := changed.get("messages"), list):
                messages = _key_messages(listed)
        elif (target := record.get("$rewindTo")) is not None:
            names = list(messages)
            if target in names:
                session.left["message that was taken back"] += len(names) - names.index(target)
                messages = {name: messages[name] for name in names[: names.index(target)]}
        elif "type" in record and "id" in record:
            messages[str(record["id"])] = record  # at its first place, as it was last written
        else:
            whole.update(record)
            if isinstance(listed := record.get("messages"), list):
                messages = _key_messages(listed)
    session.key = get_text(whole, "sessionId") or session.key
    session.started = get_text(whole, "startTime")
    root = path.parent.parent / ".project_root"
    if root.is_file():
        session.folder = root.read_text(errors="replace").strip()
    for message in messages.values():
        _take_message(session, message)
    yield session


def _read_records(path: Path, session: ForeignSession) -> Iterator[dict[str, Any]]:
    if path.suffix == ".jsonl":
        yield from read_json_lines(path, session.left)
        return
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        session.left["damaged file"] += 1
        return
    if isinstance(found, dict):
        yield found


def _key_messages(listed: list[Any]) -> dict[str, Mapping[str, Any]]:
    return {str(each.get("id", number)): each for number, each in enumerate(listed) if isinstance(each, dict)}


def _take_message(session: ForeignSession, message: Mapping[str, Any]) -> None:
    kind = message.get("type")
    text = text_of(message.get("content"), session.left).strip()
    if kind == "user":
        if text.startswith(("<session_context>", "<state_snapshot>")):
            session.left["message that nobody typed"] += 1
        elif text:
            session.steps.append(Said(text=text))
    elif kind == "gemini":
        _take_reply(session, message, text)
    else:
        session.left["notice"] += 1


def _take_reply(session: ForeignSession, message: Mapping[str, Any], text: str) -> None:
    thoughts, calls = message.get("thoughts"), message.get("toolCalls")
    session.left["block of reasoning"] += len(thoughts) if isinstance(thoughts, list) else 0
    reply = Replied(text=text, model=get_text(message, "model"))
    results = []
    for each in calls if isinstance(calls, list) else ():
        if isinstance(each, dict):
            call, given = get_text(each, "id"), each.get("args")
            reply.actions.append(
                Called(
                    call=call, tool=get_text(each, "name"), arguments=given if isinstance(given, dict) else {}
                )
            )
            failed = each.get("status") in ("error", "cancelled")
            results.append(Answered(call=call, text=_read_result(session, each), failed=failed))
    if reply.text or reply.actions:
        session.steps += [reply, *results]


def _read_result(session: ForeignSession, call: Mapping[str, Any]) -> str:
    parts = []
    result = call.get("result")
    for each in result if isinstance(result, list) else [result]:
        answer = each.get("functionResponse") if isinstance(each, dict) else None
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            said = response.get("output", response.get("error"))
            parts.append(said if isinstance(said, str) else json.dumps(response, ensure_ascii=False))
        elif each is not None:
            parts.append(text_of(each if isinstance(each, str) else [each], session.left))
    return "\n".join(filter(None, parts))
