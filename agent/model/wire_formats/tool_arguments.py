"""Parser of a tool call's arguments: from the model's text to an `Action`."""

from __future__ import annotations

import json

from agent.model.wire_formats.lenient_json import NotReadable, parse_lenient_json
from tools.core.action import Action


def parse_action(call: str, tool: str, raw: str, *, cut: bool = False) -> Action:
    """Return an action with its arguments parsed from text; `problem` explains why text cannot be parsed.

    cut: the answer ended at the output limit: truncated text is then never repaired
    """
    try:
        arguments = json.loads(raw, strict=False) if raw.strip() else {}
    except (ValueError, RecursionError) as error:
        try:
            # Complete, but not strict JSON: single quotes, extra commas, a fence around it.
            arguments = None if cut else parse_lenient_json(raw)
        except NotReadable:
            arguments = None
        if not isinstance(arguments, dict):  # the model's mistake: it is reported, and nothing runs
            why = "the answer reached its output limit inside them" if cut else str(error)
            problem = f"the arguments are not JSON: {why}. Send the call again, with one complete JSON object"
            return Action(id=call, tool=tool, arguments={}, raw=raw, problem=problem)
    if isinstance(arguments, str) and (inner := _parse_json_object(arguments)) is not None:
        arguments = inner  # encoded twice, as by some servers' templates
    if not isinstance(arguments, dict):
        kind = type(arguments).__name__
        problem = f"the arguments must be a JSON object, not {kind}"
        return Action(id=call, tool=tool, arguments={}, raw=raw, problem=problem)
    return Action(id=call, tool=tool, arguments=arguments, raw=raw)


def is_json_object(raw: str) -> bool:
    """Return whether text is one complete JSON object, so that no part of a call's arguments can be missing."""
    return _parse_json_object(raw) is not None


def _parse_json_object(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
