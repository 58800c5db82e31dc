"""Calls on lines of their own: `Action: read` and `Action Input: {…}` (ReAct's notation), `Tool: …`, `Arguments: …`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.model.text_calls.json_calls import extract_calls, parse_call_arguments
from agent.model.text_calls.known_tools import Call, Candidate, KnownTools, strip_decoration
from agent.model.text_calls.python_calls import parse_python_calls
from agent.model.wire_formats.lenient_json import NotReadable, parse_json_at
from sandbox.lazy_pattern import compile_lazily

_HEAD = compile_lazily(
    r"^[ \t]*(?:#+[ \t]*)?\**(?:Action|Tool(?: call| name)?|Function(?: call)?|Call(?:ing)?(?: tool)?)\**[ \t]*[:：]\**"
    r"[ \t]*(.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_INPUT = compile_lazily(
    r"\s*^[ \t]*(?:#+[ \t]*)?\**(?:Action[ _]?Input|Arguments?|Parameters?|Input|Args)\**[ \t]*[:：]\**[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
_NEXT = compile_lazily(
    r"^[ \t]*\**(?:Observation|Thought|Action|Final Answer|Tool|Result|Output|Response)\b\**[ \t]*[:：]",
    re.MULTILINE | re.IGNORECASE,
)


def find_candidates(text: str, known: KnownTools) -> Iterator[Candidate]:
    """Yield every `Action:` line that contains a call."""
    for head in _HEAD.finditer(text):
        given = head[1].strip()
        body = _INPUT.match(text, head.end())
        name = given.strip("`*\"' ")
        if body and re.fullmatch(r"[\w.: -]+", name):
            if candidate := _parse_action_input(text, head, body, name, known):
                yield candidate
            continue
        if made := _parse_inline_call(text, head, given, known):
            calls, end = made
            last = end == len(text) and text[end - 1 : end] not in ")}]`"
            yield Candidate(start=head.start(), end=end, calls=calls, explicit=True, open=last)


def _parse_action_input(
    text: str, head: re.Match[str], body: re.Match[str], name: str, known: KnownTools
) -> Candidate | None:
    tool = known.resolve_name(name) or strip_decoration(name)
    at = body.end()
    fence = re.compile(r"\s*```\w*\s*").match(text, at)
    inside = fence.end() if fence else at + len(text[at:]) - len(text[at:].lstrip())
    if text[inside : inside + 1] == "{":
        try:
            value, end = parse_json_at(text, inside)
        except NotReadable:
            stop = _NEXT.search(text, inside)
            if stop is None:
                return None  # it may be truncated: nothing marks it as complete
            return _build_candidate(head, stop.start(), Call(tool, None, text[inside : stop.start()].strip()))
        closing = re.compile(r"\s*```").match(text, end) if fence else None
        return _build_candidate(head, closing.end() if closing else end, Call(tool, value))
    stop = _NEXT.search(text, at)
    end = stop.start() if stop else len(text)
    plain = text[at:end].strip().strip("`").strip()
    only = known.find_only_argument(tool) if tool in known else None
    if plain.lower() in ("none", "null", "n/a", "{}") or (not plain and only is None):
        return _build_candidate(head, end, Call(tool, {}), open=stop is None)
    if plain and only and "\n" not in plain:
        return _build_candidate(head, end, Call(tool, {only: plain.strip("\"'")}), open=stop is None)
    return None


def _parse_inline_call(
    text: str, head: re.Match[str], given: str, known: KnownTools
) -> tuple[tuple[Call, ...], int] | None:
    """Parse `Action: read(path="a")`, `Action: read[a]`, `Action: {…}`, `Action: read {…}`, and JSON on the
    next lines."""
    start = head.start(1)
    fence = re.compile(r"\s*```\w*\s*").match(text, start)
    at = fence.end() if fence else start + len(text[start:]) - len(text[start:].lstrip())
    if text[at : at + 1] in ("{", "["):
        try:
            value, end = parse_json_at(text, at)
        except NotReadable:
            return None
        calls = extract_calls(value, known, explicit=True)
        closing = re.compile(r"\s*```").match(text, end) if fence else None
        return (calls, closing.end() if closing else end) if calls else None
    plain = given.strip("`")
    if calls := parse_python_calls(plain, known):
        return calls, head.end()
    match = re.match(r"([\w.:-]+)\s*(.*)", plain, re.DOTALL)
    tool = known.resolve_name(match[1]) if match else None
    if match is None or tool is None:
        return None
    rest = match[2].strip()
    only = known.find_only_argument(tool)
    if rest.startswith("{"):
        at = text.index("{", start)
        try:
            value, end = parse_json_at(text, at)
        except NotReadable:
            return None
        return ((parse_call_arguments(text[at:end], tool),), end) if isinstance(value, dict) else None
    if (bracketed := re.fullmatch(r"\[(.*)\]", rest)) and only:
        return (Call(tool, {only: bracketed[1].strip().strip("\"'")}),), head.end()
    if not rest and not known.argument_schemas(tool):
        return (Call(tool, {}),), head.end()
    return None


def _build_candidate(head: re.Match[str], end: int, call: Call, *, open: bool = False) -> Candidate:
    return Candidate(start=head.start(), end=end, calls=(call,), explicit=True, open=open)
