"""Calls between the special tokens of models' own templates, which leak into the text where a server misses them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.model.lenient import NotReadable, read_at
from agent.model.text_calls.jsonish import calls_of
from agent.model.text_calls.known import Call, Candidate, Known, bare

_BAR = r"[|｜]"

_HEADS = (
    # DeepSeek V3 and R1: a kind, a separator, the name, the arguments in a fence; V3.1: the name, the arguments.
    re.compile(
        rf"<{_BAR}tool▁call▁begin{_BAR}>(?:function<{_BAR}tool▁sep{_BAR}>)?([\w.:-]+)"
        rf"(?:<{_BAR}tool▁sep{_BAR}>|\s*```json\s*|\s+)\s*(?:```json\s*)?"
    ),
    # Kimi K2: functions.read:0
    re.compile(r"<\|tool_call_begin\|>\s*([\w.:-]+)\s*<\|tool_call_argument_begin\|>\s*"),
    # gpt-oss (harmony): the recipient in the header of a message
    re.compile(r"<\|channel\|>\s*(?:commentary|analysis)\s+to=([\w.:-]+)[^{]*?<\|message\|>\s*"),
    # Mistral from v11 on
    re.compile(r"\[TOOL_CALLS\]\s*([\w.:-]+)(?:\[CALL_ID\][^\[]*)?\[ARGS\]\s*"),
    re.compile(r"\[TOOL_CALLS\]\s*([\w.:-]+)\s*(?=\{)"),
)
"""What stands before the arguments; the group is the tool's name."""

_LISTS = re.compile(
    r"\[TOOL_CALLS\]\s*(?=[\[{])|<\|python_tag\|>\s*|<\|tool_call\|>\s*(?=[\[{])|functools\s*(?=\[)"
    r"|<\|tool_calls?_start\|>\s*|<\|START_ACTION\|>\s*|<\|action_start\|>\s*(?:<\|plugin\|>)?\s*"
    r"|(?:^|\n)to=([\w.:-]+)\s*(?:json)?\s*(?=\{)"
)
"""What stands before whole calls: Mistral, Llama 3, Granite, Phi, LFM, Cohere, InternLM."""

_TAIL = re.compile(
    rf"\s*(?:```)?\s*(?:<{_BAR}tool▁calls?▁end{_BAR}>|<\|tool_calls?(?:_section)?_end\|>|<\|call\|>|<\|/?tool_call\|>"
    r"|<\|eo[mt]_id\|>|<\|END_ACTION\|>|<\|action_end\|>|</s>|<\|im_end\|>)*"
)


def find(text: str, known: Known) -> Iterator[Candidate]:
    """Every notation with tokens."""
    for pattern in _HEADS:
        for match in pattern.finditer(text):
            tool = known.name(match[1]) or bare(match[1])
            if made := _object(text, match.end()):
                value, end = made
                yield _candidate(text, match.start(), end, (Call(tool, value),))
    for match in _LISTS.finditer(text):
        if match[1]:
            recipient = known.name(match[1])
            if recipient and (made := _object(text, match.end())):
                yield _candidate(text, match.start(), made[1], (Call(recipient, made[0]),))
            continue
        calls, end = _values(text, match.end(), known)
        if calls:
            yield _candidate(text, match.start(), end, calls)


def _candidate(text: str, start: int, end: int, calls: tuple[Call, ...]) -> Candidate:
    tail = _TAIL.match(text, end)
    return Candidate(start=start, end=tail.end() if tail else end, calls=calls, explicit=True)


def _object(text: str, at: int) -> tuple[dict[str, object], int] | None:
    try:
        value, end = read_at(text, at)
    except NotReadable:
        return None
    return (value, end) if isinstance(value, dict) else None


def _values(text: str, at: int, known: Known) -> tuple[tuple[Call, ...], int]:
    if text[at : at + 1] in ("{", "["):
        calls = list[Call]()
        end = at
        while text[at : at + 1] in ("{", "["):
            try:
                value, after = read_at(text, at)
            except NotReadable:
                break
            found = calls_of(value, known, explicit=True)
            if not found:
                break
            calls += found
            end = after
            rest = re.compile(r"[\s;,]*").match(text, after)
            at = rest.end() if rest else after
        if calls:
            return tuple(calls), end
    from agent.model.text_calls.pythonic import calls_in

    line_end = re.compile(r"<\||\Z").search(text, at)
    end = line_end.start() if line_end else len(text)
    return calls_in(text[at:end].strip(), known), end
