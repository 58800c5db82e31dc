"""Calls between the special tokens of models' chat templates, which leak into the text if a server misses them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.model.text_calls.json_calls import extract_calls
from agent.model.text_calls.known_tools import Call, Candidate, KnownTools, strip_decoration
from agent.model.wire_formats.lenient_json import NotReadable, parse_json_at
from sandbox.lazy_pattern import compile_lazily

_BAR = r"[|｜]"

_HEADS = (
    # DeepSeek V3 and R1: a kind, a separator, the name, the arguments in a fence; V3.1: the name, the arguments.
    compile_lazily(
        rf"<{_BAR}tool▁call▁begin{_BAR}>(?:function<{_BAR}tool▁sep{_BAR}>)?([\w.:-]+)"
        rf"(?:<{_BAR}tool▁sep{_BAR}>|\s*```json\s*|\s+)\s*(?:```json\s*)?"
    ),
    # Kimi K2: functions.read:0
    compile_lazily(r"<\|tool_call_begin\|>\s*([\w.:-]+)\s*<\|tool_call_argument_begin\|>\s*"),
    # gpt-oss (harmony): the recipient in the header of a message
    compile_lazily(r"<\|channel\|>\s*(?:commentary|analysis)\s+to=([\w.:-]+)[^{]*?<\|message\|>\s*"),
    # Mistral from v11 on
    compile_lazily(r"\[TOOL_CALLS\]\s*([\w.:-]+)(?:\[CALL_ID\][^\[]*)?\[ARGS\]\s*"),
    compile_lazily(r"\[TOOL_CALLS\]\s*([\w.:-]+)\s*(?=\{)"),
)
"""Tokens before the arguments; the group is the tool's name."""

_LISTS = compile_lazily(
    r"\[TOOL_CALLS\]\s*(?=[\[{])|<\|python_tag\|>\s*|<\|tool_call\|>\s*(?=[\[{])|functools\s*(?=\[)"
    r"|<\|tool_calls?_start\|>\s*|<\|START_ACTION\|>\s*|<\|action_start\|>\s*(?:<\|plugin\|>)?\s*"
    r"|(?:^|\n)to=([\w.:-]+)\s*(?:json)?\s*(?=\{)"
)
"""Tokens before whole calls: Mistral, Llama 3, Granite, Phi, LFM, Cohere, InternLM."""

_TAIL = compile_lazily(
    rf"\s*(?:```)?\s*(?:<{_BAR}tool▁calls?▁end{_BAR}>|<\|tool_calls?(?:_section)?_end\|>|<\|call\|>|<\|/?tool_call\|>"
    r"|<\|eo[mt]_id\|>|<\|END_ACTION\|>|<\|action_end\|>|</s>|<\|im_end\|>)*"
)


def find_candidates(text: str, known: KnownTools) -> Iterator[Candidate]:
    """Yield candidates of every notation with special tokens."""
    for pattern in _HEADS:
        for match in pattern.finditer(text):
            tool = known.resolve_name(match[1]) or strip_decoration(match[1])
            if made := _parse_object(text, match.end()):
                value, end = made
                yield _build_candidate(text, match.start(), end, (Call(tool, value),))
    for match in _LISTS.finditer(text):
        if match[1]:
            recipient = known.resolve_name(match[1])
            if recipient and (made := _parse_object(text, match.end())):
                yield _build_candidate(text, match.start(), made[1], (Call(recipient, made[0]),))
            continue
        calls, end = _parse_calls(text, match.end(), known)
        if calls:
            yield _build_candidate(text, match.start(), end, calls)


def _build_candidate(text: str, start: int, end: int, calls: tuple[Call, ...]) -> Candidate:
    tail = _TAIL.match(text, end)
    return Candidate(start=start, end=tail.end() if tail else end, calls=calls, explicit=True)


def _parse_object(text: str, at: int) -> tuple[dict[str, object], int] | None:
    try:
        value, end = parse_json_at(text, at)
    except NotReadable:
        return None
    return (value, end) if isinstance(value, dict) else None


def _parse_calls(text: str, at: int, known: KnownTools) -> tuple[tuple[Call, ...], int]:
    if text[at : at + 1] in ("{", "["):
        calls = list[Call]()
        end = at
        while text[at : at + 1] in ("{", "["):
            try:
                value, after = parse_json_at(text, at)
            except NotReadable:
                break
            found = extract_calls(value, known, explicit=True)
            if not found:
                break
            calls += found
            end = after
            rest = re.compile(r"[\s;,]*").match(text, after)
            at = rest.end() if rest else after
        if calls:
            return tuple(calls), end
    from agent.model.text_calls.python_calls import parse_python_calls

    line_end = re.compile(r"<\||\Z").search(text, at)
    end = line_end.start() if line_end else len(text)
    return parse_python_calls(text[at:end].strip(), known), end
