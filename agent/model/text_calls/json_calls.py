"""Calls written as JSON: `{"name": …, "arguments": {…}}` and the many variants that models write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from agent.model.text_calls.known_tools import Call, Candidate, KnownTools, strip_decoration
from agent.model.wire_formats.lenient_json import NotReadable, parse_json_at, parse_lenient_json
from sandbox.lazy_pattern import compile_lazily

_NAMES = (
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "recipient_name",
    "action",
    "tool_call",
    "command",
)
_ARGUMENTS = (
    "arguments", "parameters", "args", "input", "action_input", "tool_input", "tool_args", "params", "kwargs",
)  # fmt: skip
_BESIDE = ("thought", "thoughts", "reasoning", "id", "type", "explanation", "call_id", "index")
_LISTS = ("tool_calls", "tool_uses", "calls", "actions", "function_calls", "tools")

FENCE = compile_lazily(
    r"^([ \t]*)```[ \t]*([\w+-]*)[^\n`]*\n(.*?)(?:\n[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
"""(indentation, language, content) of a fenced block; an unclosed one ends with the text."""

_NEXT = compile_lazily(r"[ \t,;]*\n\s*(?=[\[{])")
"""Between a JSON value and one that begins a later line."""

LANGUAGES = frozenset({"", "json", "json5", "jsonc", "tool_call", "tool_calls", "tool", "tools", "tool_use",
                       "tool_code", "function", "function_call", "action", "xml", "python", "py",
                       "javascript", "js"})  # fmt: skip
"""Languages of fences that may hold a call. The content of a `text`, `console` or `diff` block is shown, not called."""


def extract_calls(value: object, known: KnownTools, *, explicit: bool = False) -> tuple[Call, ...]:
    """Return the calls in a decoded value; none if it is something else.

    explicit: the notation says that it is a call, so that an unknown tool name is accepted, too
    """
    if isinstance(value, list):
        found = [extract_calls(each, known, explicit=explicit) for each in value]
        return tuple(call for each in found for call in each) if found and all(found) else ()
    if not isinstance(value, Mapping):
        return ()
    for key in _LISTS:
        if isinstance(value.get(key), list):
            return extract_calls(value[key], known, explicit=explicit)
    call = _parse_named_call(value, known, explicit=explicit) or _parse_keyed_call(value, known)
    return (call,) if call else ()


def find_candidates(text: str, known: KnownTools) -> Iterator[Candidate]:
    """Yield JSON in fences, and JSON that begins a line."""
    fences = list(FENCE.finditer(text))
    for fence in fences:
        if fence[2].lower() not in LANGUAGES:
            continue
        values = _parse_values(fence[3])
        calls = tuple(call for value in values or () for call in extract_calls(value, known))
        if values and calls and len(calls) >= len(values):
            named = fence[2].lower().startswith(("tool", "function_call", "action"))
            yield Candidate(start=fence.start(), end=fence.end(), calls=calls, explicit=named)
    for begin in re.finditer(r"^[ \t]*(?=[\[{])", text, re.MULTILINE):
        start = begin.end()
        if any(fence.start() <= start < fence.end() for fence in fences):
            continue
        try:
            value, end = _parse_value_at(text, start)
        except NotReadable:
            continue
        calls = extract_calls(value, known)
        if calls and not text[end:].partition("\n")[0].strip(" \t,;"):
            more, end = _extract_following_calls(text, end, known)
            yield Candidate(start=start, end=end, calls=(*calls, *more), explicit=False)


def _extract_following_calls(text: str, end: int, known: KnownTools) -> tuple[tuple[Call, ...], int]:
    """Return the calls in the JSON values that follow a value line by line, and the end of the last one."""
    found: tuple[Call, ...] = ()
    while begin := _NEXT.match(text, end):
        try:
            value, last = _parse_value_at(text, begin.end())
        except NotReadable:
            break
        calls = extract_calls(value, known)
        if not calls or text[last:].partition("\n")[0].strip(" \t,;"):
            break
        found, end = (*found, *calls), last
    return found, end


def parse_call_arguments(raw: str, tool: str) -> Call:
    """Parse a call of `tool` with arguments from a JSON text, repaired where it is nearly JSON."""
    try:
        value = json.loads(raw, strict=False) if raw.strip() else {}
    except (ValueError, RecursionError):
        try:
            value = parse_lenient_json(raw.strip())
        except NotReadable:
            return Call(tool, None, raw)
    if isinstance(value, str):
        return parse_call_arguments(value, tool) if value.strip().startswith("{") else Call(tool, None, raw)
    return Call(tool, value if isinstance(value, dict) else None, raw)


def _parse_named_call(value: Mapping[str, Any], known: KnownTools, *, explicit: bool) -> Call | None:
    """Parse `{"name": NAME, "arguments": …}`, with the arguments next to the name if they are not below it."""
    for key in _NAMES:
        inner = value.get(key)
        if isinstance(inner, Mapping) and key in ("function", "tool_call", "action", "tool"):
            return _parse_named_call(inner, known, explicit=explicit) or _parse_keyed_call(inner, known)
        name = known.resolve_name(inner)
        holder = next((each for each in _ARGUMENTS if each in value), None)
        if name is None and explicit and holder and isinstance(inner, str) and key != "command":
            name = strip_decoration(inner)
        if name is None:
            continue
        if holder is not None and (name not in known or holder not in known.argument_schemas(name)):
            given = value[holder]
            if given is None or given == "":
                return Call(name, {})
            if isinstance(given, str):
                only = known.find_only_argument(name) if name in known else None
                if given.lstrip().startswith("{") or only is None:
                    return parse_call_arguments(given, name)
                return Call(name, {only: given})
            return (
                Call(name, dict(given)) if isinstance(given, Mapping) else Call(name, None, json.dumps(given))
            )
        flat = {each: given for each, given in value.items() if each != key and each not in _BESIDE}
        if set(flat) <= set(known.argument_schemas(name)):
            return Call(name, flat)
    return None


def _parse_keyed_call(value: Mapping[str, Any], known: KnownTools) -> Call | None:
    """Parse `{NAME: {…}}`."""
    if len(value) != 1:
        return None
    [(key, given)] = value.items()
    name = known.resolve_name(key)
    return Call(name, dict(given)) if name and isinstance(given, Mapping) else None


def _parse_value_at(text: str, start: int) -> tuple[Any, int]:
    """Return a value and where it ends; braces may be doubled, as in the template from which a model copies its call.

    Raises `NotReadable`.
    """
    if not text.startswith("{{", start):
        return parse_json_at(text, start)
    with suppress(NotReadable):
        value, end = parse_json_at(text, start + 1)
        if text.startswith("}", end):
            return value, end + len(text[end:]) - len(text[end:].lstrip("}"))
    line = text[start:].partition("\n")[0]
    value, _ = parse_json_at(line.replace("{{", "{").replace("}}", "}"), 0)
    return value, start + len(line)


def _parse_values(text: str) -> list[Any] | None:
    """Return the values of a text that consists of JSON values only; None if it contains anything else."""
    values, at = list[Any](), 0
    while rest := text[at:].lstrip(" \t\r\n,;"):
        at = len(text) - len(rest)
        try:
            value, at = _parse_value_at(text, at)
        except NotReadable:
            return None
        values.append(value)
    return values
