"""Trajectories in the Agent Trajectory Interchange Format (ATIF), as Harbor, our own export and others write them.

A trajectory is one JSON document. Results need not name their calls: one alone belongs to the last call of its step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packages.setup.sessions.foreign_turns import (
    MOST_BYTES,
    Answered,
    Called,
    ForeignSession,
    Replied,
    Said,
    get_table,
    get_text,
    text_of,
)
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import read_regular_file
from sandbox.parsed_data import parse_json

WITH_THE_LAST = "(the result stands with the last action of this reply)"


def find_logs() -> list[Path]:
    """Refuse to search: trajectories have no place of their own. Raises UserError."""
    raise UserError(
        Fault.USAGE, "trajectories have no place of their own", "Name one: sessions import atif FILE"
    )


def read_sessions(path: Path) -> Iterator[ForeignSession]:
    """Yield the session of a trajectory. Raises UserError for what is none."""
    try:
        whole = parse_json(read_regular_file(path, MOST_BYTES) or b"")
    except (ValueError, OSError):
        whole = None
    steps = whole.get("steps") if isinstance(whole, dict) else None
    if not isinstance(whole, dict) or not isinstance(steps, list):
        raise UserError(
            Fault.USAGE, f"{str(path)!r} is no trajectory", "It has to be a JSON object with `steps`."
        )
    session = ForeignSession(
        key=get_text(whole, "trajectory_id") or get_text(whole, "session_id") or path.stem,
        folder=get_text(get_table(whole, "extra"), "project"),
    )
    code = get_table(get_table(whole, "final_metrics"), "extra").get("exit_code")
    session.exit_code = code if isinstance(code, int) else 0
    if below := whole.get("subagent_trajectories"):
        session.left["trajectory of a sub-agent"] += len(below) if isinstance(below, list) else 1
    for number, step in enumerate(steps):
        if isinstance(step, dict):
            _take_step(session, step, number, get_text(get_table(whole, "agent"), "model_name"))
    yield session


def _take_step(session: ForeignSession, step: Mapping[str, Any], number: int, model: str) -> None:
    session.started = session.started or get_text(step, "timestamp")
    source, text = step.get("source"), text_of(step.get("message"), session.left)
    if step.get("reasoning_content"):
        session.left["block of reasoning"] += 1
    if source == "user" and text.strip():
        session.steps.append(Said(text=text))
    elif source == "agent":
        asked = step.get("tool_calls")
        calls = [
            Called(
                call=f"{number}:{get_text(each, 'tool_call_id')}",
                tool=get_text(each, "function_name"),
                arguments=get_table(each, "arguments"),
            )
            for each in (asked if isinstance(asked, list) else ())
            if isinstance(each, dict)
        ]
        session.steps.append(Replied(text=text, model=get_text(step, "model_name") or model, actions=calls))
        session.steps.extend(_read_results(session, step, number, calls))
    else:
        session.left["message that nobody typed"] += 1


def _read_results(
    session: ForeignSession, step: Mapping[str, Any], number: int, calls: list[Called]
) -> Iterator[Answered]:
    results = get_table(step, "observation").get("results")
    found = [each for each in (results if isinstance(results, list) else ()) if isinstance(each, dict)]
    named = {f"{number}:{get_text(each, 'source_call_id')}" for each in found if each.get("source_call_id")}
    open_calls = [each.call for each in calls if each.call not in named]
    for each in found:
        text, extra = text_of(each.get("content"), session.left), get_table(each, "extra")
        failed = any(extra.get(name) is True for name in ("failed", "is_error"))
        if each.get("source_call_id"):
            yield Answered(call=f"{number}:{get_text(each, 'source_call_id')}", text=text, failed=failed)
        elif open_calls:
            yield Answered(call=open_calls.pop(), text=text, failed=failed)
    if found:
        yield from (Answered(call=each, text=WITH_THE_LAST) for each in open_calls)
